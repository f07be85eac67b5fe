"""How the reductions become Triton's: padding takes part with the identity of the operation."""

import ast
from collections.abc import Callable

from rewrites import tiles
from rewrites.combinations import COMBINATIONS, Combination, combined, identity, reduced
from rewrites.dtypes import bits, is_float
from rewrites.environment import next_power_of_two
from rewrites.quote import expr, literal, name
from rewrites.space import Space
from rewrites.stores import store
from rewrites.values import Value as Typed
from rewrites.values import cast as typed_cast
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import Region, read_region, static_value
from tile2triton.ops.whole_tiles import region_value


def lower_kind(kind: str | None) -> Callable[..., None]:
    """A reduction along one axis; padding takes part with the identity of the operation."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
        named = kind or ast.literal_eval(arguments["reduce_type"])
        _lower(space, named, arguments, node)

    return lower


def _lower(space: Space, kind: str, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    facts = space.facts
    source = read_region(arguments["buffer"], facts)
    target = read_region(arguments["out"], facts)
    dim = static_value(arguments["dim"], facts)
    assert source is not None and target is not None and isinstance(dim, int)
    axis = dim % source.rank
    old_matters = not _flag(arguments, "clear", True)
    propagates = _flag(arguments, "nan_propagate", False)
    dtype = target.dtype
    value = region_value(space, source)
    value = typed_cast(value, dtype)
    tree = value.tree
    if kind.startswith("abs"):
        tree = expr("tl.abs(x)", x=tree)
    if source.whole and facts.tiles[source.buffer].is_scalar:
        _store(space, kind, Typed(tree, dtype), source, target, axis, old_matters, propagates, node)
        return
    size = source.sizes[axis]
    assert size is not None
    if next_power_of_two(size) != size and not _padding_is_harmless(space, source, kind):
        assert source.extents is not None
        lanes = space.lowering.lanes(size, source.extents[axis], axis, source.rank)
        tree = expr(
            "tl.where(lanes < n, x, identity)",
            lanes=lanes,
            n=source.extents[axis],
            x=tree,
            identity=literal(_identity(kind, dtype)),
        )
    # A tile of one element is a scalar: the other axes, of extent 1, go with the reduced one.
    along = None if facts.tiles[target.buffer].is_scalar else axis
    result = _along(kind, tree, dtype, along, propagates)
    _store(space, kind, result, source, target, axis, old_matters, propagates, node)


def combination_of(kind: str) -> Combination:
    """What a kind of reduction combines with, once magnitudes are taken."""
    return COMBINATIONS[kind.removeprefix("abs")]


def _along(kind: str, tree: ast.expr, dtype: str, axis: int | None, propagates: bool) -> Typed:
    """The tile reduced along an axis (None: all of it), in its type."""
    if kind.startswith("bit"):
        return reduced(combination_of(kind), tree, dtype, axis)
    if propagates and not kind.endswith("sum") and is_float(dtype):
        combine = name("_smaller_or_nan" if kind == "min" else "_larger_or_nan")
        x = typed_cast(Typed(tree, dtype), "float32") if bits(dtype) < 32 else Typed(tree, dtype)
        result = expr("tl.reduce(x, axis, combine)", x=x.tree, axis=literal(axis), combine=combine)
        return typed_cast(Typed(result, x.dtype), dtype)
    at = "" if axis is None else f", axis={axis}"
    result = expr(combination_of(kind).along.format(at=at), x=tree)
    if bits(dtype) < 32:
        # Triton reduces narrow types in 32 bits and leaves the result there.
        return typed_cast(Typed(result, "float32" if is_float(dtype) else "int32"), dtype)
    return Typed(result, dtype)


def _store(
    space: Space,
    kind: str,
    result: Typed,
    source: Region,
    target: Region,
    axis: int,
    old_matters: bool,
    propagates: bool,
    node: ast.Call,
) -> None:
    """Combine with the old output where it matters, and give the result the output's shape."""
    tile = space.facts.tiles[target.buffer]
    kept = target.rank == source.rank and source.rank > 1
    if not (target.whole or tile.is_scalar):
        dimensions = tuple(d for d, size in enumerate(target.sizes) if size != 1)
        sizes = tuple(target.sizes[d] for d in dimensions)
        assert target.extents is not None
        extents = tuple(target.extents[d] for d in dimensions)
        inner = space_of_region(space, target, dimensions, sizes, extents, node)
        indices = indices_of(target, inner, dimensions)
        value = Typed(result.tree, result.dtype, frozenset(range(inner.rank)))
        if old_matters:
            old = tiles.read(inner, target.buffer, indices, target.node)
            tree = _combined(kind, old.tree, value.tree, propagates, value.dtype)
            value = Typed(tree, value.dtype, value.axes)
        store(inner, target.buffer, indices, value, node)
        return
    tree = result.tree
    if kept:
        parts: list[ast.expr] = [
            ast.Constant(None) if d == axis else ast.Slice() for d in range(source.rank)
        ]
        tree = ast.Subscript(tree, ast.Tuple(parts, ast.Load()), ast.Load())
    if old_matters:
        tree = _combined(kind, name(target.buffer), tree, propagates, target.dtype)
    space.lowering.emit("target = value", target=target.buffer, value=tree)


def _combined(kind: str, old: ast.expr, new: ast.expr, propagates: bool, dtype: str) -> ast.expr:
    if kind in ("sum", "abssum"):
        return expr("old + new", old=old, new=new)
    if kind.startswith("bit"):
        return combined(combination_of(kind), Typed(old, dtype), Typed(new, dtype), dtype).tree
    function = "tl.minimum" if kind == "min" else "tl.maximum"
    nan = ", propagate_nan=tl.PropagateNan.ALL" if propagates else ""
    # Of two bfloat16 Triton 3.6 gives a float32, which a loop could not carry.
    narrow = ".to(tl.bfloat16)" if dtype == "bfloat16" else ""
    return expr(f"{function}(old, new{nan}){narrow}", old=old, new=new)


def _padding_is_harmless(space: Space, source: Region, kind: str) -> bool:
    """Zeros take no part in sums and in maxima of absolute values."""
    is_zero = source.whole and source.buffer in space.lowering.zero_padded
    if kind == "absmax":
        return is_zero and is_float(source.dtype)
    return is_zero and kind in ("sum", "abssum", "bitor", "bitxor")


def _identity(kind: str, dtype: str) -> int | float:
    if kind == "absmax" and is_float(dtype):
        return 0.0
    # The lowest integer has no magnitude in its type, and stays what it is.
    return identity(combination_of(kind), dtype)


def _flag(arguments: dict[str, ast.expr], parameter: str, default: bool) -> bool:
    tree = arguments.get(parameter, ast.Constant(default))
    return bool(tree.value) if isinstance(tree, ast.Constant) else default


def keeps(arguments: dict[str, ast.expr]) -> bool:
    """Whether the old output takes part."""
    return not _flag(arguments, "clear", True)
