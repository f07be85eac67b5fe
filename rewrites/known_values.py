"""What is known of numbers: what tiles are filled with before a loop, how large factors are."""

import ast
import math

from rewrites.carried_terms import Coefficient
from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.tree import names_in, operator_call


def size_of(factor: Coefficient, facts: Facts) -> float | None:
    """How large a factor is, where its names are constants."""
    total = 0.0
    for names, number in factor:
        values = [facts.constants.get(one) for one in names]
        if None in values:
            return None
        total += abs(
            float(number) * math.prod(float(value) for value in values if value is not None)
        )
    return total


def filled_with(one: str, before: list[ast.stmt], facts: Facts) -> float | None:
    """The number that a tile or variable has at the end of statements, where they say one."""
    tile = facts.tiles.get(one)
    aliases = {one}
    if tile is not None:
        aliases |= {name for name, other in facts.tiles.items() if other.storage == tile.storage}
    for statement in reversed(before):
        if not aliases & names_in(statement):
            continue
        call = operator_call(statement, "clear", "fill")
        if call is not None and isinstance(call.args[0], ast.Name) and call.args[0].id == one:
            called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            return 0.0 if called == "clear" else _number(call.args[1], facts)
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == one:
                match value:
                    case ast.Call(func=ast.Attribute(attr="alloc_var"), args=[_, init, *_]):
                        return _number(init, facts)
                return _number(value, facts)
        if aliases & changed_names(statement, facts):
            return None
    return None


def _number(tree: ast.expr, facts: Facts) -> float | None:
    match tree:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=one) if one in facts.constants:
            return float(facts.constants[one])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand, facts)
            return None if inner is None else -inner
        case ast.Call(func=ast.Attribute(attr="infinity")):
            return math.inf
    return None
