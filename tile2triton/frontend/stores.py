"""Stores to elements, plain and augmented, and what an operator sign means."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Container
from typing import Any

from tile2triton.frontend.builder import Builder
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.dynamic import is_scalar
from tile2triton.frontend.failures import failure
from tile2triton.frontend.trees import tree_of
from tile2triton.frontend.values import Element, Variable

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "MatMult": operator.imatmul,
}


def combined(left: Any, operation: str, right: Any) -> Any:
    """`left <operation>= right` as Python does it."""
    return _IN_PLACE[operation](left, right)


def store_element(builder: Builder, target: Element, value: Any) -> None:
    """`buf[i, j] = value`."""
    _refuse_region(target, value)
    tree = tree_of(value)
    combined_with = _operand_of_update(builder, target, tree)
    if combined_with is not None:
        update = ast.Attribute(ast.Name("T", ast.Load()), "reducer_update", ast.Load())
        builder.record(ast.Expr(ast.Call(update, [target.tree, combined_with], [])))
        return
    statement = ast.Assign([_stored(target)], tree)
    statement.type_comment = None
    builder.record(statement)


def _operand_of_update(builder: Builder, target: Element, tree: ast.expr) -> ast.expr | None:
    """The x of `r[i] = T.max(r[i], x)` on a reducer of maxima: the older way to update one."""
    tile = builder.facts.tiles.get(target.buffer.name)
    if tile is None or tile.op not in ("max", "min"):
        return None
    same = ast.dump(target.tree)
    match tree:
        case ast.Call(func=ast.Attribute(attr=operation), args=[left, right], keywords=[]):
            others = [one for one in (left, right) if ast.dump(one) != same]
            if operation == tile.op and len(others) == 1:
                return others[0]
    return None


def store_variable(builder: Builder, variable: Variable, value: Any) -> None:
    """`x = value` and `x[0] = value` of a variable."""
    if isinstance(value, Dead):
        value.refuse()
    if not is_scalar(value):
        raise failure(
            "T2T167",
            f"`{variable} = ...` stores a scalar, but the value is none",
            found=(f"value: {value!r}"[:80],),
        )
    statement = ast.Assign([ast.Name(variable.name, ast.Store())], tree_of(value))
    statement.type_comment = None
    builder.record(statement)


def augmented_store(builder: Builder, target: Element, operation: str, value: Any) -> None:
    """`buf[i, j] <operation>= value`."""
    _refuse_region(target, value)
    if operation in ("Pow", "MatMult"):
        raise failure("T2T132", "`**=` and `@=` are no operators of a kernel", hint="multiply")
    sign: ast.operator = getattr(ast, operation)()
    builder.record(ast.AugAssign(_stored(target), sign, tree_of(value)))


def is_changing(tree: ast.expr, variables: Container[str]) -> bool:
    """Whether what a tree means depends on stores: it reads memory or a variable."""
    return any(
        isinstance(node, ast.Subscript) or (isinstance(node, ast.Name) and node.id in variables)
        for node in ast.walk(tree)
    )


def _stored(target: Element) -> ast.Subscript:
    tree = target.tree
    assert isinstance(tree, ast.Subscript)
    tree.ctx = ast.Store()
    return tree


def _refuse_region(target: Element, value: Any) -> None:
    if not target.is_element:
        raise failure(
            "T2T138",
            f"`{target}` is a region, but an assignment stores one element",
            found=(f"{target.buffer.name}: shape {target.buffer.shape_text}",),
            hint=f"use T.copy(..., {target}) or T.fill({target}, ...)",
            at=target.position,
        )
    if isinstance(value, Dead):
        value.refuse()
    if not is_scalar(value):
        raise failure(
            "T2T167",
            f"`{target} = ...` stores one element, but the value is no scalar",
            found=(f"value: {value!r}"[:80],),
        )
