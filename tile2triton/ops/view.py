"""T.reshape, T.view: the memory of a tile or tensor, seen with another shape or element type."""

import ast
import math
from collections.abc import Iterator
from typing import Any

from rewrites.dtypes import bits
from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, is_region, known_dtype, read_region, static_value
from tile2triton.ops.whole import shapes


def reshape(src: Any, shape: Any) -> Any:
    """The elements of `src` in row-major order, under another shape: an alias, not a copy.

    What is written to it is written to `src`, and the other way round.

    | form | meaning | Triton |
    |---|---|---|
    | `v = T.reshape(t, (64, 4, 8))` | the tile as a box | `v = tl.reshape(t, [64, 4, 8])` |
    | `v = T.reshape(A, (M * N,))` | the tensor as a row | the same pointer |
    """


def view(src: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The bits of `src` under another shape, another element type, or both: an alias, not a copy.

    Both have the same number of bits. Of a wider type each element is several neighbours of the
    narrower one, the first in its lowest bits. `T.Tensor(shape, dtype, t.data)` is the same.

    | form | meaning | Triton |
    |---|---|---|
    | `v = T.view(t, dtype="int32")` | the bits of floats | `t.to(tl.int32, bitcast=True)` |
    | `v = T.view(t, (64, 16), "float32")` | two halves each | `tl.split`, shifts, a bitcast |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The view has as many bits as the whole tile that it is a view of."""
    operator = FORMS[ast.unparse(call.func).rpartition(".")[2]]
    arguments = operator.arguments(call)
    source = arguments["src"]
    region = read_region(source, facts) if is_region(source, facts) else None
    if region is None or not region.whole or region.is_tensor:
        yield Problem(
            source,
            "T2T340",
            f"T.{operator.name} takes a whole tile or tensor, but `{as_written(source)}` is none",
            (),
            "name the tile, and index the view",
        )
        return
    dtype = arguments.get("dtype", ast.Constant(None))
    wanted = region.dtype
    if not (isinstance(dtype, ast.Constant) and dtype.value is None):
        problems = list(known_dtype(dtype, facts))
        yield from problems
        if problems:
            return
        wanted = ast.literal_eval(dtype)
    shape = arguments["shape"]
    trees = region.shape
    if not (isinstance(shape, ast.Constant) and shape.value is None):
        trees = tuple(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else (shape,)
    yield from size_problems(call, region.buffer, wanted, trees, facts)


def size_problems(
    node: ast.AST, base: str, dtype: str, trees: tuple[ast.expr, ...], facts: Facts
) -> Iterator[Problem]:
    """What keeps a type and a shape from being a view of a tile."""
    tile = facts.tiles[base]
    sizes = [static_value(tree, facts) for tree in trees]
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    if len(known) != len(sizes) or math.prod(known) * bits(dtype) != math.prod(tile.shape) * bits(
        tile.dtype
    ):
        shown = ", ".join(as_written(tree) for tree in trees)
        yield Problem(
            node,
            "T2T341",
            f"a view has as many bits as what it is a view of, but this one of `{base}` has not",
            (
                f"{base}: {tile.shape} {tile.dtype}",
                f"view: ({shown}) {dtype}",
            ),
            "give the view a shape with the same number of elements, scaled by the types' widths",
        )
    elif "bool" in {dtype, tile.dtype} and dtype != tile.dtype:
        yield Problem(
            node,
            "T2T342",
            f"the bits of {tile.dtype} cannot be seen as {dtype}",
            (f"{base}: {tile.dtype}",),
            "T.cast the elements, or T.copy into a tile of the other type",
        )


RESHAPE = Operator(surface=reshape, kind="allocation", check=check, whole=shapes.RESHAPE)
VIEW = Operator(surface=view, kind="allocation", check=check)
FORMS = {"reshape": RESHAPE, "view": VIEW}

OPERATORS = (RESHAPE, VIEW)
