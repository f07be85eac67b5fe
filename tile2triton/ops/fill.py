"""T.fill, T.clear: set a tile or a part of it to one value."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites.environment import padded
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.stores import store
from rewrites.values import full, stored, strong, triton_dtype
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import as_written, is_region, read_region, region_problems
from tile2triton.reference.named import value_of

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def fill(buffer: Any, value: Any, annotations: Any = None) -> Any:
    """Set every element of a tile, or of a region of it, to `value`, cast to the tile's type.

    | form | meaning | Triton |
    |---|---|---|
    | `T.fill(t, value)` | every element | `t = tl.full([64, 32], value, tl.float32)` |
    | `T.fill(t[0:8, :], value)` | a part | `t = tl.where(inside, value, t)` |
    """


def clear(buffer: Any) -> Any:
    """Set every element of a tile, or of a region of it, to 0.

    | form | meaning | Triton |
    |---|---|---|
    | `T.clear(t)` | every element | `t = tl.zeros([64, 32], tl.float32)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """What is set is a tile, a tensor's region, or a variable."""
    operator = FORMS[ast.unparse(call.func).rpartition(".")[2]]
    buffer = operator.arguments(call)["buffer"]
    if isinstance(buffer, ast.Name) and buffer.id in facts.variables:
        return
    if not is_region(buffer, facts):
        yield Problem(
            buffer,
            "T2T270",
            f"T.{operator.name} sets a tile, but `{as_written(buffer)}` is none",
            (),
            "name a tile that T.alloc_shared or T.alloc_fragment made",
        )
        return
    yield from region_problems(buffer, facts)


def reference(buffer: "Operand", value: Any, annotations: Any = None) -> None:
    buffer.write(value_of(value))


def reference_of_clear(buffer: "Operand") -> None:
    buffer.write(0)


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    value = space.value(arguments.get("value", ast.Constant(0)))
    buffer = arguments["buffer"]
    if isinstance(buffer, ast.Name) and buffer.id in space.facts.variables:
        new = strong(stored(value, space.facts.variables[buffer.id]))
        space.lowering.emit("target = new", target=buffer.id, new=new.tree)
        return
    region = read_region(buffer, space.facts)
    assert region is not None
    tile = space.facts.tiles.get(region.buffer)
    if tile is not None and region.whole and not tile.is_scalar:
        new = stored(value, tile.dtype)
        shape = [padded(e, t) for e, t in zip(tile.shape, tile.trees, strict=True)]
        is_zero = new.number == 0 and new.weak
        lengths = ast.Tuple(shape, ast.Load())
        filled = full(lengths, new.tree, tile.dtype)
        if is_zero:
            filled = expr("tl.zeros(n, dtype)", n=lengths, dtype=triton_dtype(tile.dtype))
        space.lowering.emit("target = filled", target=tile.name, filled=filled)
        return
    if region.extents is None or (tile is not None and tile.is_scalar):
        store(space, region.buffer, list(region.starts), value, node)
        return
    axes = tuple(d for d, size in enumerate(region.sizes) if size != 1)
    sizes = tuple(region.sizes[d] for d in axes)
    extents = tuple(region.extents[d] for d in axes)
    inner = space_of_region(space, region, axes, sizes, extents, node)
    store(inner, region.buffer, indices_of(region, inner, axes), value, node)


FILL = Operator(
    surface=fill, lower=lower, writes="buffer", kind="statement", check=check, reference=reference
)
CLEAR = Operator(
    surface=clear,
    lower=lower,
    writes="buffer",
    kind="statement",
    check=check,
    reference=reference_of_clear,
)
FORMS = {"fill": FILL, "clear": CLEAR}

OPERATORS = (FILL, CLEAR)
