"""Which padded tiles hold zeros in their padding, so that sums and GEMMs need no mask."""

import ast

from rewrites.environment import lengths
from rewrites.facts import Facts
from rewrites.tree import base_name, operator_call


def zero_padded_tiles(function: ast.FunctionDef, facts: Facts) -> frozenset[str]:
    """The tiles with padding that is written with nothing but zeros.

    Loads fill what they mask with 0, and so do T.clear and T.fill(tile, 0); a tile with any other
    writer may hold anything.
    """
    candidates = {name for name, tile in facts.tiles.items() if lengths(tile) != tile.shape}
    safe = {name for name in candidates if name in facts.hints.get("safe_values", {})}
    candidates -= safe
    changed = True
    while changed:
        changed = False
        for node in ast.walk(function):
            if not isinstance(node, ast.stmt):
                continue
            for name in _dirty(node, facts, candidates):
                if name in candidates:
                    candidates.discard(name)
                    changed = True
    return frozenset(candidates)


def _dirty(statement: ast.stmt, facts: Facts, zero_padded: set[str]) -> list[str]:
    """The tiles whose padding the statement may leave with something other than 0."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return [name]
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
            return [name]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
            operator = facts.operators.get(function)
            if operator is None or operator.kind != "statement":
                return []
            arguments = operator.arguments(call)
    call = operator_call(statement, "clear", "fill", "copy")
    if call is None:
        if not isinstance(statement, ast.Expr):
            return []
        return [name for tree in call_operands(statement) if (name := base_name(tree))]
    if operator.name == "copy":
        target = base_name(arguments["dst"])
        source = base_name(arguments["src"])
        annotated = facts.hints.get("annotate_safe_value", {})
        from_tensor = source in facts.tensors and source not in annotated
        clean = from_tensor or source in zero_padded
        if isinstance(arguments["dst"], ast.Subscript):
            clean = False
        return [] if clean or target is None else [target]
    target = base_name(next(iter(arguments.values())))
    value = arguments.get("value", ast.Constant(0))
    clean = isinstance(value, ast.Constant) and value.value == 0
    return [] if clean or target is None else [target]


def call_operands(statement: ast.Expr) -> list[ast.expr]:
    """The arguments of an operator's call, positional and by keyword."""
    call = statement.value
    if not isinstance(call, ast.Call):
        return []
    return [*call.args, *(keyword.value for keyword in call.keywords)]
