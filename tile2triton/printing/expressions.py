"""Expressions as documents: minimal parentheses, and where a long line may break."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from tile2triton.layout import SOFT, SPACE, Doc, Group, IfBroken, Indent, MayBreak, Parentheses
from tile2triton.printing.literals import constant, joined_string
from tile2triton.printing.precedence import (
    AND,
    ATOM,
    BINARY,
    BIT_OR,
    COMPARE,
    COMPARISONS,
    CONDITION,
    LAMBDA,
    OR,
    UNARY_OPERATORS,
    WALRUS,
    is_fluent,
    is_plain,
    is_simple_power_operand,
    needs_brackets,
    precedence,
    unary_level,
)

# Where an expression stands: at the top of its statement, inside brackets, or inside optional
# parentheses, which the layout writes only if it breaks them.
Place = Parentheses | None
TOP: Place = None
INSIDE = Parentheses()

# One operand of a chain of operators and the least precedence it may have without parentheses.
Operand = tuple[ast.expr, int]
Operator = tuple[str, int]


def expression(node: ast.expr, place: Place) -> Doc:
    """The document of an expression that needs no parentheses where it stands."""
    write = WRITERS.get(type(node))
    assert write is not None, f"the printer met {type(node).__name__}"
    return write(node, place)


def operand(node: ast.expr, least: int, place: Place) -> Doc:
    """An expression, in parentheses if it binds less than `least`."""
    if needs_brackets(node, least):
        return brackets("(", expression(node, INSIDE), ")", place)
    return expression(node, place)


def brackets(left: str, content: Doc, right: str, place: Place) -> Doc:
    """`content`, written inside brackets that may break."""
    if not content:
        return left + right
    group = Group((left, Indent((SOFT, content)), SOFT, right))
    return group if place is None or place is INSIDE else MayBreak(group, place)


def only_inside(content: Doc, place: Place) -> Doc:
    """A group, but only where there are brackets around it."""
    if place is TOP:
        return content
    return Group(content) if place is INSIDE else Group(content, only_if=place)


def break_inside(place: Place, text: str = " ") -> Doc:
    """A place to break, but only where there are brackets around it."""
    if place is TOP:
        return text
    line = SPACE if text else SOFT
    return line if place is INSIDE else IfBroken(line, text, place)


def only_if_broken(text: str, place: Place) -> Doc:
    """Text that stands only where the brackets around it break."""
    if place is TOP:
        return ""
    return IfBroken(text) if place is INSIDE else IfBroken(text, of=place)


def sequence(items: Sequence[Doc], always_comma: bool = False) -> Doc:
    """Items with commas; a last comma where they stand on lines of their own."""
    parts: list[Doc] = []
    for item in items:
        parts += (item, ",", SPACE)
    del parts[-2:]
    if len(items) > 1 or always_comma:
        parts.append(IfBroken(","))
    return tuple(parts)


# Operators


def write_operators(node: Any, place: Place) -> Doc:
    return only_inside(_chain(_flattened(node, []), place), place)


def _flattened(node: ast.expr, parts: list[Operand | Operator]) -> list[Operand | Operator]:
    """Operands and operators of every level that no parentheses separate, in order."""
    operands: list[Operand]
    operators: list[Operator]
    if isinstance(node, ast.BinOp):
        level, symbol = BINARY[type(node.op)]
        power = isinstance(node.op, ast.Pow)
        # `2**-x` needs no parentheses, `(-x) ** 2` does.
        operands = [(node.left, level + power), (node.right, level - 1 if power else level + 1)]
        operators = [(symbol, level)]
    elif isinstance(node, ast.BoolOp):
        is_and = isinstance(node.op, ast.And)
        operands = [(value, (AND if is_and else OR) + 1) for value in node.values]
        operators = [("and" if is_and else "or", OR)] * (len(node.values) - 1)
    else:
        assert isinstance(node, ast.Compare)
        operands = [(value, COMPARE + 1) for value in (node.left, *node.comparators)]
        operators = [(COMPARISONS[type(op)], COMPARE) for op in node.ops]
    for index, (value, least) in enumerate(operands):
        if isinstance(value, (ast.BinOp, ast.BoolOp, ast.Compare)) and precedence(value) >= least:
            _flattened(value, parts)
        else:
            parts.append((value, least))
        if index < len(operators):
            parts.append(operators[index])
    return parts


def _chain(parts: Sequence[Any], place: Place) -> Doc:
    """Breaks before every operator of the lowest precedence; the parts between are groups."""
    if len(parts) == 1:
        node, least = parts[0]
        return operand(node, least, place)
    lowest = min(level for _, level in parts[1::2])
    result: list[Doc] = []
    start = 0
    for index in range(1, len(parts), 2):
        symbol, level = parts[index]
        if level != lowest:
            continue
        result.append(_part(parts[start:index], place))
        sides = (parts[index - 1], parts[index + 1])
        tight = symbol == "**" and all(is_simple_power_operand(*side) for side in sides)
        space = only_if_broken(" ", place) if tight else " "
        result += (break_inside(place, "" if tight else " "), symbol, space)
        start = index + 1
    result.append(_part(parts[start:], place))
    return tuple(result)


def _part(parts: Sequence[Any], place: Place) -> Doc:
    doc = _chain(parts, place)
    return doc if len(parts) == 1 else only_inside(doc, place)


def write_unary(node: ast.UnaryOp, place: Place) -> Doc:
    symbol = UNARY_OPERATORS[type(node.op)][1]
    return (symbol, operand(node.operand, unary_level(node), place))


def write_condition(node: ast.IfExp, place: Place) -> Doc:
    return only_inside(_condition(node, place), place)


def _condition(node: ast.IfExp, place: Place) -> Doc:
    other = node.orelse
    return (
        operand(node.body, CONDITION + 1, place),
        break_inside(place),
        "if ",
        operand(node.test, CONDITION + 1, place),
        break_inside(place),
        "else ",
        _condition(other, place) if isinstance(other, ast.IfExp) else operand(other, LAMBDA, place),
    )


def write_walrus(node: ast.NamedExpr, place: Place) -> Doc:
    return (node.target.id, " := ", operand(node.value, LAMBDA, place))


# Names, members, calls


def write_name(node: ast.Name, place: Place) -> Doc:
    return node.id


def write_constant(node: ast.Constant, place: Place) -> Doc:
    return constant(node.value)


def write_joined_string(node: ast.JoinedStr, place: Place) -> Doc:
    return joined_string(node)


def write_member(node: ast.Attribute, place: Place, fluent: bool | None = None) -> Doc:
    root = fluent is None
    if fluent is None:
        fluent = place is not TOP and is_fluent(node)
    value = node.value
    before_dot: Doc = ""
    if fluent and (needs_brackets(value, ATOM) or isinstance(value, (ast.Call, ast.Subscript))):
        before_dot = break_inside(place, "")
    doc = (_head(value, place, fluent, is_member=True), before_dot, "." + node.attr)
    return Group(doc) if fluent and root else doc


def write_call(node: ast.Call, place: Place, fluent: bool | None = None) -> Doc:
    root = fluent is None
    if fluent is None:
        fluent = place is not TOP and is_fluent(node)
    doc = (_head(node.func, place, fluent), brackets("(", _arguments(node), ")", place))
    return Group(doc) if fluent and root else doc


def _arguments(node: ast.Call) -> Doc:
    arguments: list[Doc] = []
    if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
        return _comprehension(node.args[0], INSIDE)
    arguments += [operand(argument, WALRUS, INSIDE) for argument in node.args]
    for keyword in node.keywords:
        name = f"{keyword.arg}=" if keyword.arg else "**"
        arguments.append((name, operand(keyword.value, LAMBDA, INSIDE)))
    return Group(sequence(arguments)) if arguments else ""


def write_subscript(node: ast.Subscript, place: Place, fluent: bool | None = None) -> Doc:
    root = fluent is None
    if fluent is None:
        fluent = place is not TOP and is_fluent(node)
    index = node.slice
    if isinstance(index, ast.Tuple) and len(index.elts) > 1:
        content: Doc = Group(sequence([operand(item, LAMBDA, INSIDE) for item in index.elts]))
    else:
        content = operand(index, LAMBDA, INSIDE)
    doc = (_head(node.value, place, fluent), brackets("[", content, "]", place))
    return Group(doc) if fluent and root else doc


def _head(node: ast.expr, place: Place, fluent: bool, is_member: bool = False) -> Doc:
    """What stands before a dot, a call's or a subscript's brackets."""
    if is_member and isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return f"({constant(node.value)})"
    if isinstance(node, ast.Attribute):
        return write_member(node, place, fluent)
    if isinstance(node, ast.Call):
        return write_call(node, place, fluent)
    if isinstance(node, ast.Subscript):
        return write_subscript(node, place, fluent)
    return operand(node, ATOM, place)


def write_slice(node: ast.Slice, place: Place) -> Doc:
    """`a:b`; with spaces around the colons where a bound is more than a name or a number."""
    bounds = (node.lower, node.upper, node.step)
    space = "" if all(bound is None or is_plain(bound) for bound in bounds) else " "
    parts: list[Doc] = []
    if node.lower:
        parts += (operand(node.lower, LAMBDA, place), space)
    parts.append(":")
    if node.upper:
        parts += (space, operand(node.upper, LAMBDA, place))
    if node.step:
        parts += (space if node.upper else "", ":", space, operand(node.step, LAMBDA, place))
    return tuple(parts)


def write_starred(node: ast.Starred, place: Place) -> Doc:
    return ("*", operand(node.value, BIT_OR, place))


# Displays


def write_tuple(node: ast.Tuple, place: Place) -> Doc:
    items = [operand(item, LAMBDA, INSIDE) for item in node.elts]
    if len(items) == 1:
        return brackets("(", (items[0], ","), ")", place)
    return brackets("(", sequence(items) if items else "", ")", place)


def write_list(node: ast.List, place: Place) -> Doc:
    items = [operand(item, LAMBDA, INSIDE) for item in node.elts]
    return brackets("[", sequence(items) if items else "", "]", place)


def write_set(node: ast.Set, place: Place) -> Doc:
    items = [operand(item, LAMBDA, INSIDE) for item in node.elts]
    return brackets("{", sequence(items, always_comma=True), "}", place)


def write_dict(node: ast.Dict, place: Place) -> Doc:
    items: list[Doc] = []
    for key, value in zip(node.keys, node.values, strict=True):
        before: Doc = (operand(key, LAMBDA, INSIDE), ": ") if key else "**"
        items.append(Group((before, operand(value, LAMBDA if key else BIT_OR, INSIDE))))
    return brackets("{", sequence(items, always_comma=True) if items else "", "}", place)


def write_comprehension(node: Any, place: Place) -> Doc:
    pair = {ast.ListComp: "[]", ast.GeneratorExp: "()"}.get(type(node), "{}")
    return brackets(pair[0], _comprehension(node, INSIDE), pair[1], place)


def _comprehension(node: Any, place: Place) -> Doc:
    if isinstance(node, ast.DictComp):
        element: Doc = (operand(node.key, LAMBDA, place), ": ", operand(node.value, LAMBDA, place))
    else:
        element = operand(node.elt, LAMBDA, place)
    parts: list[Doc] = [Group(element)]
    for clause in node.generators:
        target = tuple_items(clause.target, place)
        source = operand(clause.iter, CONDITION + 1, place)
        word = "async for " if clause.is_async else "for "
        parts.append((SPACE, Group((word, target, " in ", source))))
        parts += [(SPACE, Group(("if ", operand(test, OR, place)))) for test in clause.ifs]
    return Group(tuple(parts))


def tuple_items(node: ast.expr, place: Place) -> Doc:
    """A target; a tuple without parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        items = [operand(item, LAMBDA, place) for item in node.elts]
        return tuple(part for item in items for part in (item, ", "))[:-1]
    return expression(node, place)


def write_lambda(node: ast.Lambda, place: Place) -> Doc:
    parameters = ast.unparse(node.args)
    head = f"lambda {parameters}: " if parameters else "lambda: "
    return (head, operand(node.body, LAMBDA, place))


WRITERS: dict[type[ast.expr], Callable[..., Doc]] = {
    ast.Attribute: write_member,
    ast.BinOp: write_operators,
    ast.BoolOp: write_operators,
    ast.Call: write_call,
    ast.Compare: write_operators,
    ast.Constant: write_constant,
    ast.Dict: write_dict,
    ast.DictComp: write_comprehension,
    ast.GeneratorExp: write_comprehension,
    ast.IfExp: write_condition,
    ast.JoinedStr: write_joined_string,
    ast.Lambda: write_lambda,
    ast.List: write_list,
    ast.ListComp: write_comprehension,
    ast.Name: write_name,
    ast.NamedExpr: write_walrus,
    ast.Set: write_set,
    ast.SetComp: write_comprehension,
    ast.Slice: write_slice,
    ast.Starred: write_starred,
    ast.Subscript: write_subscript,
    ast.Tuple: write_tuple,
    ast.UnaryOp: write_unary,
}
