"""T.copy: move a region between tensors and tiles."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites import tensors, tiles
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import name
from rewrites.space import Space
from rewrites.stores import store
from rewrites.values import Value, cast
from tile2triton.hints.copies import CopyHints
from tile2triton.ops.base import Made, Operator, Source
from tile2triton.ops.descriptor_copies import load_by_descriptor, store_by_descriptor
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import CopyMatch, Region, copy_problems, match_copy, read_region
from tile2triton.ops.whole.stores import COPY as WHOLE_COPY

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: Any = None,
    disable_tma: bool = False,
    eviction_policy: Any = None,
    prefer_instruction: Any = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> Any:
    """Copy a region, element by element, with a cast to the type of `dst`.

    How much is copied is said by the side that is on the chip (a fragment before a shared tile
    before a tensor, `src` between equals); the other side says where it starts. Dimensions of
    extent 1 are dropped on both sides, and the rest match in order. Elements outside of a tensor
    are read as 0 and not written. All keywords are hints
    (docs/hints.md).

    | form | meaning | Triton |
    |---|---|---|
    | `T.copy(A[i, k], s)` | the tile of A from i, k on | `s = tl.load(…, mask=…, other=0.0)` |
    | `T.copy(A[b, i : i + 64, h, :], s)` | dimensions picked by an index are dropped | the same |
    | `T.copy(s, f)` | tile to tile, with a cast | `f = s.to(tl.float32)` |
    | `T.copy(f, C[i, j])` | write the tile at i, j | `tl.store(…, f, mask=…)` |
    | `x = T.copy(A[i : i + 64, :])` | a new tile of these elements | `x = tl.load(…)` |
    """


def made(sources: dict[str, Source], options: dict[str, Any]) -> Made:
    """A tile of the source's elements; what comes from a tensor may be loaded ahead of its use."""
    source = sources["src"]
    scope = "shared" if source.scope == "global" else "fragment"
    return Made(source.shape, source.dtype, "tile", scope=scope)


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Both sides are regions whose shapes match."""
    arguments = COPY.arguments(call)
    yield from copy_problems(call, arguments["src"], arguments["dst"], facts, "T.copy")


def reference(src: "Operand", dst: "Operand", **hints: Any) -> None:
    src.copy_to(dst)


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """A load, a store, or both; between whole tiles a new name for the value."""
    facts = space.facts
    source = read_region(arguments["src"], facts)
    destination = read_region(arguments["dst"], facts)
    assert source is not None and destination is not None
    match = match_copy(source, destination, facts)
    assert match is not None
    hints = CopyHints(space.lowering, node, match)
    if space.axes or not match.extents:
        value = space.value(_element(source))
        store(space, destination.buffer, list(destination.starts), value, node)
        hints.idle("one element is moved")
        return
    if _is_rename(source, destination):
        moved = cast(Value(name(source.buffer), source.dtype), destination.dtype)
        space.lowering.emit("target = value", target=destination.buffer, value=moved.tree)
        hints.idle("both tiles are one value, so that nothing is moved")
        return
    if not hints.avoid_tma and (
        load_by_descriptor(space, match, hints.prefer_tma)
        or store_by_descriptor(space, match, hints.prefer_tma)
    ):
        hints.by_tma()
        return
    with space.lowering.accessing(hints.by_pointers()):
        _move(space, match, node)


def _move(space: Space, match: CopyMatch, node: ast.Call) -> None:
    """Load and store by pointers, or as parts of tiles."""
    facts, source, destination = space.facts, match.source, match.destination
    inner = space_of_region(
        space,
        source if source.is_tensor else destination,
        match.source_axes if source.is_tensor else match.destination_axes,
        match.sizes,
        match.extents,
        node,
        _longest(match),
    )
    indices = indices_of(source, inner, match.source_axes)
    if source.is_tensor:
        where = tensors.address(inner, source.buffer, indices, node)
        loaded = tensors.load(inner, facts.tensors[source.buffer], where)
        value = Value(loaded, source.dtype, where.axes)
    else:
        value = tiles.read(inner, source.buffer, indices, node)
    targets = indices_of(destination, inner, match.destination_axes)
    store(inner, destination.buffer, targets, value, node)


def _longest(match: CopyMatch) -> tuple[ast.expr, ...]:
    """The extents of the tile that says how much is copied, along the dimensions that move."""
    for side, axes in (
        (match.source, match.source_axes),
        (match.destination, match.destination_axes),
    ):
        extents = side.extents or ()
        if not side.is_tensor and all(
            extents and extents[axis] is extent
            for axis, extent in zip(axes, match.extents, strict=True)
        ):
            return tuple(side.shape[axis] for axis in axes)
    return match.extents


def _element(region: Region) -> ast.expr:
    indices = ast.Tuple(list(region.starts), ast.Load())
    return ast.copy_location(ast.Subscript(name(region.buffer), indices, ast.Load()), region.node)


def _is_rename(source: Region, destination: Region) -> bool:
    """Two whole tiles of one shape share the value, since Triton's tensors do not change."""
    on_chip = not source.is_tensor and not destination.is_tensor
    return on_chip and source.whole and destination.whole and source.sizes == destination.sizes


COPY = Operator(
    surface=copy,
    lower=lower,
    writes="dst",
    makes=made,
    kind="statement",
    check=check,
    reference=reference,
    whole=WHOLE_COPY,
)

OPERATORS = (COPY,)
