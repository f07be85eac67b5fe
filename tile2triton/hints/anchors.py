"""Variables of an emitted kernel that patches can name: those that hold a load or a product."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.tree import names_in, walk

# What may stand around a load or a product that is assigned to a variable.
_WRAPPERS = ("to", "reshape", "trans", "where")


@dataclass(frozen=True)
class Anchor:
    """One assignment of a load or product.

    `kind` is "load" by pointers, "descriptor" or "dot"; `loop` is the innermost one around it.
    """

    kind: str
    statement: ast.Assign
    loop: ast.stmt | None

    @property
    def runs_ahead(self) -> bool:
        """Whether its loop has stages."""
        match self.loop:
            case ast.For(iter=ast.Call(keywords=keywords)):
                return any(keyword.arg == "num_stages" for keyword in keywords)
        return False

    @property
    def is_turned(self) -> bool:
        """Whether it computes the transpose of what the variable holds."""
        turns = 0
        value: ast.AST = self.statement.value
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            is_function = isinstance(value.func.value, ast.Name) and value.func.value.id == "tl"
            if value.func.attr in ("load", "dot"):
                break
            turns += value.func.attr == "trans"
            value = value.args[0] if is_function else value.func.value
        return turns % 2 == 1


def anchors_of(kernel: ast.FunctionDef) -> dict[str, list[Anchor]]:
    """The variables that loads and products are assigned to."""
    found: dict[str, list[Anchor]] = defaultdict(list)
    for assignment, target, loop in _assignments(kernel.body, None):
        call = _inner(assignment.value)
        if call is not None:
            found[target].append(Anchor(_kind(call), assignment, loop))
    return dict(found)


def chained_with(kernel: ast.FunctionDef, anchor: str) -> set[str]:
    """The products that multiply a product right away, or that it multiplies, as in attention."""
    pairs = [pair for body in _bodies(kernel.body) for pair in _chains(body) if anchor in pair]
    return {name for pair in pairs for name in pair} - {anchor}


def is_multiplied(kernel: ast.FunctionDef, anchor: str) -> bool:
    """Whether a product is multiplied again right away, as the scores of attention are."""
    return any(anchor == first for body in _bodies(kernel.body) for first, _ in _chains(body))


def products_in(kernel: ast.FunctionDef) -> int:
    """How many matrix products a kernel has."""
    return sum(1 for _ in product_calls(kernel))


def product_calls(kernel: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of matrix products in a kernel."""
    for node in walk(kernel):
        if isinstance(node, ast.Call) and _is_product(node):
            yield node


def _chains(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Products of one body whose results become operands of others: both variables."""
    # What each variable is made of, as far as products of this body go.
    made_of: dict[str, set[str]] = defaultdict(set)
    for statement in body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        target, call = statement.targets[0].id, _inner(statement.value)
        if call is not None and _is_product(call):
            operands = set().union(*map(names_in, call.args[:2]))
            for source in set().union(*(made_of[name] for name in operands)):
                yield source, target
            made_of[target] = {target}
        else:
            made_of[target] = set().union(*(made_of[one] for one in names_in(statement.value)))


def _bodies(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for statement in body:
        for field in ("body", "orelse"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                yield from _bodies(inner)


def _assignments(
    body: list[ast.stmt], loop: ast.stmt | None
) -> Iterator[tuple[ast.Assign, str, ast.stmt | None]]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)]):
                yield statement, target, loop
        inside = statement if isinstance(statement, (ast.For, ast.While)) else loop
        for field in ("body", "orelse"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                yield from _assignments(inner, inside)


def _inner(value: ast.expr) -> ast.Call | None:
    """The load or product in what is assigned."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return None
    if value.func.attr in ("load", "dot"):
        return value
    if value.func.attr not in _WRAPPERS:
        return None
    is_function = isinstance(value.func.value, ast.Name) and value.func.value.id == "tl"
    parts = value.args if is_function else [value.func.value]
    found = [inner for part in parts if (inner := _inner(part)) is not None]
    return found[0] if len(found) == 1 else None


def _kind(call: ast.Call) -> str:
    if _is_product(call):
        return "dot"
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    return "load" if isinstance(owner, ast.Name) and owner.id == "tl" else "descriptor"


def _is_product(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "dot"
