"""One operand: a tensor, a tile, or a part of one, read from its tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites import dtypes
from rewrites.errors import Problem
from rewrites.facts import Facts, Tensor, Tile
from rewrites.quote import literal
from tile2triton.ops.static import difference, static_value


@dataclass(frozen=True)
class Region:
    """A part of a tensor or tile: a start and an extent in each dimension of the buffer.

    `extents` is None for `A[i, k]`, which says only where the part starts. `shape` is that of the
    buffer. `sizes` are the extents that are known; of a start they are 1.
    """

    node: ast.expr
    buffer: str
    dtype: str
    scope: str  # "global", "shared" or "fragment"
    shape: tuple[ast.expr, ...]
    starts: tuple[ast.expr, ...]
    extents: tuple[ast.expr, ...] | None
    sizes: tuple[int | None, ...]
    whole: bool  # a bare name

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_tensor(self) -> bool:
        return self.scope == "global"

    @property
    def shape_text(self) -> str:
        """The extents as a person writes them."""
        trees = self.extents or (literal(1),) * self.rank
        texts = [
            ast.unparse(tree) if size is None else str(size)
            for tree, size in zip(trees, self.sizes, strict=True)
        ]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def as_written(tree: ast.AST) -> str:
    """The source text of an operand, for a message."""
    return ast.unparse(tree)


def is_region(tree: ast.expr, facts: Facts) -> bool:
    """Whether the tree names a tensor or a tile, or a part of one."""
    base = tree.value if isinstance(tree, ast.Subscript) else tree
    return isinstance(base, ast.Name) and _buffer(base.id, facts) is not None


def is_element(tree: ast.expr) -> bool:
    """Whether the tree is `A[i, j]`: one element, or the start of a region."""
    return isinstance(tree, ast.Subscript) and not any(
        isinstance(index, ast.Slice) for index in _indices(tree)
    )


def is_element_form(dst: ast.expr, value: ast.expr, facts: Facts) -> bool:
    """Whether an operator that takes a region or an element has an element here."""
    return is_element(dst) and not (is_region(value, facts) and not is_element(value))


def read_region(tree: ast.expr, facts: Facts) -> Region | None:
    """The region that an operand is, or None where it is none or its indices do not fit."""
    base = tree.value if isinstance(tree, ast.Subscript) else tree
    buffer = _buffer(base.id, facts) if isinstance(base, ast.Name) else None
    if buffer is None:
        return None
    if isinstance(buffer, Tile):
        shape, scope, sizes = buffer.trees, buffer.scope, tuple[int | None, ...](buffer.shape)
    else:
        shape, scope, sizes = buffer.shape, "global", known_sizes(buffer.shape, facts)
    zeros = (literal(0),) * len(shape)
    if not isinstance(tree, ast.Subscript):
        return Region(tree, buffer.name, buffer.dtype, scope, shape, zeros, shape, sizes, True)
    indices = _indices(tree)
    if len(indices) != len(shape):
        return None
    if is_element(tree):
        starts, ones = tuple(indices), (1,) * len(shape)
        return Region(tree, buffer.name, buffer.dtype, scope, shape, starts, None, ones, False)
    parts = [_part(index, extent, facts) for index, extent in zip(indices, shape, strict=True)]
    starts, extents, sizes = (tuple(column) for column in zip(*parts, strict=True))
    return Region(tree, buffer.name, buffer.dtype, scope, shape, starts, extents, sizes, False)


def region_problems(tree: ast.expr, facts: Facts) -> Iterator[Problem]:
    """What is wrong with an operand: no buffer, a slice with a step, a part outside."""
    if not is_region(tree, facts):
        yield Problem(
            tree,
            "T2T201",
            f"`{as_written(tree)}` is neither a tensor nor a tile",
            (),
            "name a tensor parameter or a tile from T.alloc_shared or T.alloc_fragment",
        )
        return
    region = read_region(tree, facts)
    if region is None:
        # The number of indices is checked for every element and region of the program.
        return
    for index in _indices(tree) if isinstance(tree, ast.Subscript) else []:
        if isinstance(index, ast.Slice) and static_value(index.step, facts) not in (None, 1):
            yield Problem(
                index,
                "T2T205",
                f"slices have no step, but `{as_written(tree)}` has one",
                (),
                "index the elements in a T.Parallel loop",
            )
    yield from reaches_outside(region, region.sizes, facts)


def known_dtype(tree: ast.expr, facts: Facts) -> Iterator[Problem]:
    """A dtype argument is the name of a type that there is."""
    name = tree.value if isinstance(tree, ast.Constant) else None
    if name not in dtypes.BY_NAME:
        yield Problem(
            tree,
            "T2T202",
            f"`{as_written(tree)}` is no element type",
            (),
            f"write one of {', '.join(dtypes.BY_NAME)}",
        )


def reaches_outside(
    region: Region, sizes: tuple[int | None, ...], facts: Facts
) -> Iterator[Problem]:
    """A start that is known to be negative or past the end; a part of a tile past its end."""
    bounds = known_sizes(region.shape, facts)
    for axis, (start, size, bound) in enumerate(zip(region.starts, sizes, bounds, strict=True)):
        first = static_value(start, facts)
        if not isinstance(first, int) or bound is None:
            continue
        length = 1 if region.is_tensor or size is None else size
        if first < 0 or first + length > bound:
            last = f" to {first + length - 1}" if length > 1 else ""
            yield Problem(
                region.node,
                "T2T206",
                f"`{as_written(region.node)}` reaches outside of `{region.buffer}`: index "
                f"{first}{last} of dimension {axis}, which has extent {bound}",
                (),
                f"stay from 0 to {bound - 1}",
            )


def _buffer(name: str, facts: Facts) -> Tensor | Tile | None:
    return facts.tiles.get(name) or facts.tensors.get(name)


def _indices(tree: ast.Subscript) -> list[ast.expr]:
    return list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def known_sizes(trees: tuple[ast.expr, ...], facts: Facts) -> tuple[int | None, ...]:
    values = [static_value(tree, facts) for tree in trees]
    return tuple(value if isinstance(value, int) else None for value in values)


def _part(index: ast.expr, extent: ast.expr, facts: Facts) -> tuple[ast.expr, ast.expr, int | None]:
    """Start, extent and known extent of one index or slice of a dimension."""
    if not isinstance(index, ast.Slice):
        return index, literal(1), 1
    lower = _from_end(index.lower or literal(0), extent, facts)
    upper = _from_end(index.upper or extent, extent, facts)
    size = difference(upper, lower, facts)
    if static_value(lower, facts) == 0:
        return lower, upper, size
    length = ast.BinOp(upper, ast.Sub(), lower) if size is None else literal(size)
    return lower, length, size


def _from_end(bound: ast.expr, extent: ast.expr, facts: Facts) -> ast.expr:
    """A bound of a slice; a negative number counts from the end."""
    value = static_value(bound, facts)
    if isinstance(value, int) and value < 0:
        return ast.BinOp(extent, ast.Sub(), literal(-value))
    return bound
