"""`buffer[i] += e` in T.Parallel: by element, or summed over variables that are no index."""

import ast
from dataclasses import replace

from rewrites.combinations import SUM, Combination, neutral, reduced
from rewrites.errors import refuse
from rewrites.quote import expr
from rewrites.scalars import logical
from rewrites.space import Space
from rewrites.stores import filled, store
from rewrites.tree import index_list
from rewrites.values import Value, arithmetic, cast, summable, summed


def update(
    space: Space, buffer: str, target: ast.Subscript, op: ast.operator, node: ast.AugAssign
) -> None:
    """`buffer[i] op= e`; where a loop variable is not among the indices, `+=` sums over it."""
    indices = index_list(target)
    missing = missing_axes(space, indices)
    if missing and not isinstance(op, ast.Add):
        variable = space.axes[missing[0]].variable
        raise refuse(
            node,
            "T2T305",
            f"every `{variable}` updates the same element of `{buffer}`",
            found=(f"`{variable}` runs over {space.axes[missing[0]].extent} values",),
            hint="only `+=` may gather many values in one element; or use a T.reduce operator",
        )
    _refuse_collisions(space, buffer, indices, node)
    if not missing:
        combined = ast.copy_location(ast.BinOp(target, op, node.value), node)
        store(space, buffer, indices, space.value(combined), node)
        return
    declared = space.facts.tiles.get(buffer) or space.facts.tensors[buffer]
    rest, total = gathered_over(space, space.value(node.value), missing, declared.dtype, SUM)
    old = rest.read(target, buffer, indices)
    store(rest, buffer, indices, arithmetic(op, old, total), node)


def missing_axes(space: Space, indices: list[ast.expr]) -> list[int]:
    """The axes of more than one element that none of the indices varies over."""
    return space.missing(frozenset[int]().union(*(space.axes_of(index) for index in indices)))


def gathered_over(
    space: Space, value: Value, missing: list[int], dtype: str, combination: Combination
) -> tuple[Space, Value]:
    """The value combined over `missing` axes, and the space of the axes that are left.

    Each value has the type of the destination before it is combined. In the space that is left, a
    condition says where there was any value at all.
    """
    left = [p for p in range(space.rank) if p not in missing]
    rest = Space(space.lowering, tuple(space.axes[p] for p in left))
    for identifier, let in space.lets.items():
        if not let.axes & frozenset(missing):
            rest.lets[identifier] = _without(space, let, left)
    masks = [m for p in range(space.rank) if (m := space.in_extent(p)) is not None]
    masks += space.conditions
    tree = filled(space, value, dtype)
    if combination is SUM:
        tree = summable(tree, dtype)
    if masks:
        mask = logical(ast.And(), masks)
        nothing = ast.Constant(0) if combination is SUM else neutral(combination, dtype)
        tree = expr("tl.where(mask, x, nothing)", mask=mask.tree, x=tree, nothing=nothing)
    axes = frozenset(range(len(left)))
    if combination is SUM:
        for position in sorted(missing, reverse=True):
            tree = expr("tl.sum(total, axis)", total=tree, axis=ast.Constant(position))
        result = summed(tree, dtype, axes)
    else:
        for position in sorted(missing, reverse=True):
            tree = reduced(combination, tree, dtype, position).tree
        result = Value(tree, dtype, axes)
    condition = space.condition()
    if condition is not None:
        reached = filled(space, cast(condition, "int32"), "int32")
        for position in sorted(missing, reverse=True):
            reached = expr("tl.max(reached, axis)", reached=reached, axis=ast.Constant(position))
        named = space.lowering.assign("reached", expr("reached != 0", reached=reached))
        rest.conditions.append(Value(named, "bool", axes))
    return rest, result


def _without(space: Space, value: Value, left: list[int]) -> Value:
    """A value in the rank of the axes that are `left`; it varies over no other."""
    axes = frozenset(left.index(axis) for axis in value.axes)
    if not value.axes or len(left) == space.rank:
        return replace(value, axes=axes)
    shape: list[ast.expr] = [
        space.axes[p].length_tree if p in value.axes else ast.Constant(1) for p in left
    ]
    tree = expr("tl.reshape(x, shape)", x=value.tree, shape=ast.Tuple(shape, ast.Load()))
    return replace(value, tree=tree, axes=axes)


def _refuse_collisions(space: Space, buffer: str, indices: list[ast.expr], node: ast.AST) -> None:
    """Two lanes of one update must not meet in an element: one of the additions would be lost."""
    if buffer not in space.facts.tensors:
        return
    for position in colliding_axes(space, indices):
        variable = space.axes[position].variable
        raise refuse(
            node,
            "T2T321",
            f"several `{variable}` may update the same element of `{buffer}`",
            found=(f"`{ast.unparse(node).splitlines()[0]}`",),
            hint=f"use T.atomic_add, or index a dimension of `{buffer}` with `{variable}` alone",
        )


def colliding_axes(space: Space, indices: list[ast.expr]) -> list[int]:
    """The axes among the indices of which two values may give one element."""
    varying = frozenset[int]().union(*(space.axes_of(index) for index in indices))
    return [p for p in sorted(varying) if not any(_moves_apart(space, i, p) for i in indices)]


def _moves_apart(space: Space, index: ast.expr, position: int) -> bool:
    """Whether different values of one axis, and of no other, always give different indices."""
    if space.axes_of(index) != {position}:
        return False
    match index:
        case ast.Name():
            return space.position.get(index.id) == position
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            sides = [side for side in (left, right) if space.axes_of(side)]
            return len(sides) == 1 and _moves_apart(space, sides[0], position)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            varying, factor = (left, right) if space.axes_of(left) else (right, left)
            interval = space.environment.range(factor)
            return interval.within(1, None) and _moves_apart(space, varying, position)
    return False
