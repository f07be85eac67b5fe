"""Elements of global tensors: addresses, bounds per dimension, loads, stores and atomics."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewrites.dtypes import bits, is_float, is_integer
from rewrites.environment import Environment
from rewrites.errors import refuse
from rewrites.facts import Facts, Tensor
from rewrites.quote import copy_tree, expr, literal, name
from rewrites.scalars import logical
from rewrites.shapes import plain_extent
from rewrites.tree import names_in, walk
from rewrites.values import Value, cast, stored, strong, triton_dtype

if TYPE_CHECKING:
    from rewrites.space import Space

INT32_LIMIT = 2**31


@dataclass(frozen=True)
class Address:
    """Pointers to elements, where they may be touched (None: everywhere), and their axes."""

    pointer: ast.expr
    mask: Value | None
    axes: frozenset[int]


def read(space: "Space", buffer: str, indices: list[ast.expr], node: ast.expr) -> Value:
    """Load elements; where an index is out of bounds the value is 0, or the safe value."""
    tensor = space.facts.tensors[buffer]
    where = address(space, buffer, indices, node, loads=True)
    loaded = space.lowering.assign(_value_name(buffer), load(space, tensor, where))
    return Value(loaded, tensor.dtype, where.axes)


def load(space: "Space", tensor: Tensor, where: Address) -> ast.expr:
    """The `tl.load` for an address."""
    hints = space.lowering.access
    pointer = hints.narrowed(where.pointer, space.rank if where.axes else 0)
    if where.mask is None:
        return hints.applied(expr("tl.load(pointer)", pointer=pointer))
    other: ast.expr = literal(0.0 if is_float(tensor.dtype) else 0)
    safe = space.lowering.safe_values.get(tensor.name)
    # Triton 3.6.0 fills vectors of narrow integers wrong (`known_miscompiles.py`).
    is_filled_after = is_integer(tensor.dtype) and bits(tensor.dtype) < 32
    if safe is not None and not is_filled_after:
        other = safe
    mask = where.mask.tree
    loaded = hints.applied(
        expr("tl.load(pointer, mask=mask, other=other)", pointer=pointer, mask=mask, other=other)
    )
    if safe is None or not is_filled_after:
        return loaded
    return expr("tl.where(mask, loaded, safe)", mask=copy_tree(mask), loaded=loaded, safe=safe)


def write(
    space: "Space", buffer: str, indices: list[ast.expr], value: Value, node: ast.AST
) -> None:
    """Store elements; what is out of bounds is dropped."""
    tensor = space.facts.tensors[buffer]
    where = address(space, buffer, indices, node)
    refuse_races(space, where.axes, node, buffer, value)
    new = stored(value, tensor.dtype)
    hints = space.lowering.access
    pointer = hints.narrowed(where.pointer, space.rank if where.axes else 0)
    made = expr("tl.store(pointer, value)", pointer=pointer, value=new.tree)
    if where.mask is not None:
        assert isinstance(made, ast.Call)
        made.keywords.append(ast.keyword("mask", where.mask.tree))
    space.lowering.out.append(ast.Expr(hints.applied(made)))


def refuse_races(
    space: "Space", axes: frozenset[int], node: ast.AST, buffer: str, value: Value
) -> None:
    """A plain store from many lanes to one element would keep any of their values.

    Where they all store one value that does not depend on the element, under conditions that they
    share, it is that value.
    """
    condition = space.condition()
    differing = value.axes | (condition.axes if condition is not None else frozenset())
    for position in space.missing(axes):
        if position not in differing and not _may_read(space, node, buffer):
            continue
        axis = space.axes[position]
        raise refuse(
            node,
            "T2T305",
            f"every `{axis.variable}` stores to the same element of `{buffer}`",
            found=(f"`{axis.variable}` runs over {axis.extent} values",),
            hint=f"index `{buffer}` with `{axis.variable}`, or accumulate with `+=`",
        )


def _may_read(space: "Space", node: ast.AST, buffer: str) -> bool:
    """Whether what a statement stores may be made of what it overwrites."""
    if not isinstance(node, ast.Assign):
        return True
    names = names_in(node.value)
    if names & space.lets.keys():
        return True
    tiles = space.facts.tiles
    memory = {tiles[name].base or name if name in tiles else name for name in (*names, buffer)}
    return buffer in names or len(memory) <= len(names)


def address(
    space: "Space",
    buffer: str,
    indices: list[ast.expr],
    node: ast.AST,
    loads: bool = False,
) -> Address:
    """Pointers for `buffer[indices]`, masked in each dimension that is not proved in bounds.

    A load is safe wherever it is in bounds, so that conditions over further axes leave it alone; a
    store happens only where all conditions hold.
    """
    tensor = space.facts.tensors[buffer]
    scalars: list[ast.expr] = []
    vectors: list[ast.expr] = []
    masks: list[Value] = []
    axes: frozenset[int] = frozenset()
    for dimension, index in enumerate(indices):
        value = space.value(index)
        axes |= value.axes
        masks += bounds(space, tensor, dimension, index, value)
        term = _offset(space, tensor, dimension, value)
        if term is not None:
            (vectors if value.axes else scalars).append(term)
    for position in sorted(axes):
        if not any(_covers(space, tensor, d, i, position) for d, i in enumerate(indices)):
            inside = space.in_extent(position)
            masks += [] if inside is None else [inside]
    masks += [c for c in space.conditions if not loads or c.axes <= axes]
    mask = logical(ast.And(), masks) if masks else None
    if mask is not None and mask.axes - axes:
        # One element for several lanes, of which the mask picks: they all get its pointer.
        lanes = ast.Tuple(space.shape(mask.axes - axes), ast.Load())
        vectors.append(expr("tl.zeros(lanes, tl.int32)", lanes=lanes))
        axes |= mask.axes
    pointer = _first_element(space, tensor)
    for term in scalars + vectors:
        pointer = ast.BinOp(pointer, ast.Add(), term)
    return Address(pointer, mask, axes)


def _first_element(space: "Space", tensor: Tensor) -> ast.expr:
    """The pointer that the kernel is given; a view of another type points to that type."""
    pointer = name(tensor.storage)
    if not tensor.base or space.facts.tensors[tensor.base].dtype == tensor.dtype:
        return pointer
    dtype = triton_dtype(tensor.dtype)
    return expr("pointer.to(tl.pointer_type(dtype))", pointer=pointer, dtype=dtype)


def bounds(
    space: "Space", tensor: Tensor, dimension: int, index: ast.expr, value: Value
) -> list[Value]:
    """The conditions under which `index` is inside `dimension`; none where that is proved."""
    environment = space.environment
    extent = tensor.shape[dimension]
    interval = environment.range(index)
    limit = environment.range(extent)
    if interval.low == interval.high == 0 and limit.high is None:
        # A size that is known at run time only is 1 at least.
        return []
    masks = []
    if not interval.is_natural:
        masks.append(Value(expr("i >= 0", i=value.tree), "bool", value.axes))
    known = limit.low if limit.low == limit.high else None
    proved = known is not None and interval.high is not None and interval.high < known
    if not proved and isinstance(index, ast.Name):
        bound = environment.bounds.get(index.id)
        proved = bound is not None and _is_same(bound, extent)
    if proved and known is not None:
        proved = _holds_when_retuned(space, index, extent, known)
    if not proved:
        below = Value(expr("i < n", i=value.tree, n=extent), "bool", value.axes)
        masks.append(below)
    return masks


def strides(tensor: Tensor) -> list[ast.expr | None]:
    """The distance between neighbours in each dimension, in elements; None for 1."""
    if tensor.strides:
        return [None if _is_one(stride) else stride for stride in tensor.strides]
    result: list[ast.expr | None] = []
    for dimension in range(tensor.rank):
        product: ast.expr | None = None
        for extent in tensor.shape[dimension + 1 :]:
            if _is_one(extent):
                continue
            product = extent if product is None else ast.BinOp(product, ast.Mult(), extent)
        result.append(product)
    return result


def elements(tensor: Tensor, environment: Environment) -> int | None:
    """How far the memory of a tensor reaches, where it is known before the launch."""
    if tensor.strides:
        last = 0
        for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
            length, step = environment.range(extent).high, environment.range(stride).high
            if length is None or step is None:
                return None
            last += max(length - 1, 0) * step
        return last + 1
    count = 1
    for extent in tensor.shape:
        limit = environment.range(extent).high
        if limit is None:
            return None
        count *= limit
    return count


def _offset(space: "Space", tensor: Tensor, dimension: int, value: Value) -> ast.expr | None:
    """One dimension's part of the offset, in int64 where 32 bits might not hold it."""
    if value.number == 0 and value.weak and not isinstance(value.tree, ast.Name):
        return None
    stride = strides(tensor)[dimension]
    if stride is None:
        return value.tree
    count = elements(tensor, space.environment)
    if count is not None and count < INT32_LIMIT:
        return ast.BinOp(value.tree, ast.Mult(), stride)
    is_known = names_in(stride) <= space.facts.constants.keys()
    if value.weak and is_known:
        return ast.BinOp(value.tree, ast.Mult(), stride)
    # Multiplied from the left, so that no product of two sizes is made in 32 bits.
    product = cast(strong(value), "int64").tree
    for factor in _factors(stride):
        product = ast.BinOp(product, ast.Mult(), factor)
    return product


def _factors(product: ast.expr) -> list[ast.expr]:
    match product:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_factors(left), *_factors(right)]
    return [product]


def _covers(space: "Space", tensor: Tensor, dimension: int, index: ast.expr, position: int) -> bool:
    """Whether the bounds of `dimension` already keep the axis' surplus lanes out.

    That is so where the index is the bare loop variable, the extents agree, and a mask is made.
    """
    axis = space.axes[position]
    if axis.length == axis.extent or not isinstance(index, ast.Name):
        return axis.length == axis.extent
    known = space.environment.range(tensor.shape[dimension])
    same = index.id == axis.variable and known.low == known.high == axis.extent
    return same and not _proved_by_range(space, index, known.high)


def _proved_by_range(space: "Space", index: ast.expr, limit: int | None) -> bool:
    high = space.environment.range(index).high
    return high is not None and limit is not None and high < limit


def _holds_when_retuned(space: "Space", index: ast.expr, extent: ast.expr, known: int) -> bool:
    """Whether leaving a mask out stays right, or fails loudly, when sizes are edited.

    Where a tile's or the tensor's extent has a name, the kernel asserts that one divides the other;
    where they do not divide, the mask stays. An index without a tile asserts the largest value that
    it was proved to have.
    """
    facts = space.facts
    positions = sorted(space.axes_of(index))
    for position in positions:
        axis = space.axes[position]
        named = _has_name(axis.tree, facts) or _has_name(extent, facts)
        if not named or ast.dump(axis.tree) == ast.dump(extent):
            continue
        if known % axis.extent:
            return False
        space.lowering.emit("tl.static_assert(extent % tile == 0)", extent=extent, tile=axis.tree)
    if positions or not _has_name(extent, facts):
        return True
    bound = space.environment.bounds.get(index.id) if isinstance(index, ast.Name) else None
    if bound is not None and _is_same(bound, extent):
        return True
    if _has_name(index, facts):
        return False
    high = ast.Constant(space.environment.range(index).high)
    space.lowering.emit("tl.static_assert(high < extent)", high=high, extent=extent)
    return True


def _is_same(bound: ast.expr, extent: ast.expr) -> bool:
    """Whether a bound, which may have calls of `T` where extents have none, is an extent."""
    return ast.dump(plain_extent(bound)) == ast.dump(extent)


def _has_name(tree: ast.expr, facts: Facts) -> bool:
    return any(isinstance(n, ast.Name) and n.id in facts.constants for n in walk(tree))


def _is_one(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == 1


def _value_name(buffer: str) -> str:
    lowered = buffer.lower()
    return lowered if lowered != buffer else f"{buffer}_value"
