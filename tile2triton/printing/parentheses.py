"""The last expression of a statement: whether it gets parentheses where its line is too long."""

import ast
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TypeGuard

from tile2triton.layout import (
    SOFT,
    Doc,
    Group,
    IfBroken,
    Indent,
    Parentheses,
    ParenthesizeToFit,
    ValueFirst,
    flatten,
)
from tile2triton.printing.expressions import INSIDE, TOP, expression, operand, sequence
from tile2triton.printing.precedence import (
    ATOM,
    BINARY,
    COMPARE,
    CONDITION,
    LAMBDA,
    MEMBER,
    OR,
    UNARY,
    is_fluent,
    needs_brackets,
    precedence,
    unary_level,
)

OWN_BRACKETS = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp)


class Need(Enum):
    """What an expression that does not fit on its line needs."""

    NOTHING = "it has brackets of its own"
    PARENTHESES = "it has operators to break at"
    IF_THEY_HELP = "it cannot break"


def last_expression(node: ast.expr) -> Doc:
    """The value of an assignment or a return, the test of an `if`, the iterable of a `for`."""
    need = needed(node)
    if need is Need.NOTHING:
        return expression(node, TOP)
    if need is Need.IF_THEY_HELP:
        return ParenthesizeToFit(flat(expression(node, TOP)))
    if not breaks_well_alone(node):
        return parenthesized_if_broken(expression(node, INSIDE))
    outer = Parentheses()
    content = Indent((SOFT, expression(node, outer)), only_if=outer)
    return Group((IfBroken("("), content, SOFT, IfBroken(")")), identity=outer)


def assigned(targets: Sequence[ast.expr], equals: str, value: ast.expr) -> Doc:
    """An assignment; parentheses around its value are better than a broken target."""
    head = [(tuple_or_expression(target), equals) for target in targets]
    last = targets[-1]
    if isinstance(last, (ast.Subscript, ast.Tuple)):
        if needed(value) is Need.IF_THEY_HELP:
            return (*head[:-1], ValueFirst(head[-1], flat(expression(value, TOP))))
        if is_call_or_member(value) and needed(value) is Need.NOTHING:
            return (*head[:-1], ValueFirst(head[-1], expression(value, TOP)))
    if isinstance(last, ast.Tuple):
        return (*head, returned(value))
    return (*head, last_expression(value))


def returned(node: ast.expr) -> Doc:
    """What may be a tuple without parentheses: a value that is returned or unpacked."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return tuple_or_expression(node)
    return last_expression(node)


def tuple_or_expression(node: ast.expr) -> Doc:
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        items = sequence([operand(item, LAMBDA, INSIDE) for item in node.elts])
        return parenthesized_if_broken(items)
    return expression(node, TOP)


def imported(names: Sequence[ast.alias]) -> Doc:
    """The names of a `from` import."""
    items = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in names]
    return items[0] if items == ["*"] else parenthesized_if_broken(sequence(items, True))


def is_call_or_member(node: ast.expr) -> TypeGuard[ast.Call | ast.Subscript | ast.Attribute]:
    return isinstance(node, (ast.Call, ast.Subscript, ast.Attribute))


def flat(doc: Doc) -> str:
    pieces: list[str] = []
    flatten(doc, pieces)
    return "".join(pieces)


def parenthesized_if_broken(content: Doc) -> Doc:
    return Group((IfBroken("("), Indent((SOFT, content)), SOFT, IfBroken(")")))


def needed(node: ast.expr) -> Need:
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.Starred)):
        return Need.PARENTHESES
    if isinstance(node, ast.UnaryOp):
        wrapped = needs_brackets(node.operand, unary_level(node))
        return Need.NOTHING if wrapped else needed(node.operand)
    if is_call_or_member(node):
        if is_fluent(node):
            return Need.PARENTHESES
        value = node.func if isinstance(node, ast.Call) else node.value
        if needs_brackets(value, ATOM):
            return Need.NOTHING
        need = needed(value)
        unbreakable = need is Need.IF_THEY_HELP and not isinstance(node, ast.Attribute)
        return Need.NOTHING if unbreakable else need
    if isinstance(node, (ast.Name, ast.Constant, ast.JoinedStr)):
        return Need.IF_THEY_HELP
    return Need.NOTHING


def breaks_well_alone(node: ast.expr) -> bool:
    """Whether breaking brackets inside `node` reads better than parentheses around it.

    It does where no operator of the lowest precedence is repeated and the expression begins or
    ends with brackets that hold something.
    """
    shape = _Shape()
    shape.enter(node)
    if not shape.any_brackets or shape.repeats > 1:
        return False
    return shape.lowest >= MEMBER or shape.ends_in_brackets()


class _Shape:
    """What an expression consists of outside of its brackets."""

    def __init__(self) -> None:
        self.any_brackets = False
        self.lowest = ATOM
        self.repeats = 0
        # The leaf at either end and whether parentheses stand around it.
        self.first: tuple[ast.expr, bool] | None = None
        self.last: tuple[ast.expr, bool] | None = None
        self.begins_with_sign = False

    def count(self, level: int, times: int = 1) -> None:
        if level < self.lowest:
            self.lowest, self.repeats = level, times
        elif level == self.lowest:
            self.repeats += times

    def visit(self, node: ast.expr, least: int) -> None:
        wrapped = needs_brackets(node, least)
        self.last = (node, wrapped)
        if wrapped:
            self.any_brackets = True
        else:
            self.enter(node)
        if self.first is None and not self.begins_with_sign:
            self.first = (node, wrapped)

    def enter(self, node: ast.expr) -> None:
        if isinstance(node, (*OWN_BRACKETS, ast.GeneratorExp)):
            self.any_brackets = True
        elif isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            value = node.func if isinstance(node, ast.Call) else node.value
            self.visit(value, ATOM)
            if not isinstance(node, ast.Attribute):
                self.any_brackets = True
            elif has_brackets(value) or needs_brackets(value, ATOM):
                self.count(MEMBER)
            self.last = (node, False)
        else:
            if isinstance(node, ast.UnaryOp):
                if isinstance(node.op, ast.Invert):
                    self.count(UNARY)
                self.begins_with_sign = self.begins_with_sign or self.first is None
            for child, least in self.parts(node):
                self.visit(child, least)

    def parts(self, node: ast.expr) -> Iterator[tuple[ast.expr, int]]:
        """The operands of `node` in order, each with the least precedence it needs; counts it."""
        if isinstance(node, ast.BinOp):
            level = BINARY[type(node.op)][0]
            power = isinstance(node.op, ast.Pow)
            self.count(level)
            yield node.left, level + power
            yield node.right, level - 1 if power else level + 1
        elif isinstance(node, ast.BoolOp):
            self.count(OR, len(node.values) - 1)
            for value in node.values:
                yield value, precedence(node) + 1
        elif isinstance(node, ast.Compare):
            self.count(COMPARE, len(node.ops))
            for value in (node.left, *node.comparators):
                yield value, COMPARE + 1
        elif isinstance(node, ast.IfExp):
            self.count(CONDITION, 2)
            yield node.body, CONDITION + 1
            yield node.test, CONDITION + 1
            yield node.orelse, LAMBDA
        elif isinstance(node, ast.UnaryOp):
            yield node.operand, unary_level(node)

    def ends_in_brackets(self) -> bool:
        for end in (self.last, self.first):
            if end is None or isinstance(end[0], ast.Subscript):
                continue
            node, wrapped = end
            if wrapped or is_filled(node):
                return True
        return False


def has_brackets(node: ast.expr) -> bool:
    return isinstance(node, (*OWN_BRACKETS, ast.GeneratorExp, ast.Call, ast.Subscript))


def is_filled(node: ast.expr) -> bool:
    """Whether `node` ends in brackets that hold something."""
    if isinstance(node, ast.Call):
        return bool(node.args or node.keywords)
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        return bool(node.elts)
    return isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
