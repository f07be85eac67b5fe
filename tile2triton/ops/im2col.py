"""T.im2col: the patches of an image that a convolution multiplies, as a matrix."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.access_hints import AccessHints
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr, name
from rewrites.space import Space
from rewrites.stores import store
from tile2triton.hints.caching import caching
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import (
    as_written,
    read_region,
    region_problems,
    static_value,
)
from tile2triton.reference.named import value_of

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: Any,
    stride: Any,
    dilation: Any,
    pad: Any,
    eviction_policy: Any = None,
    annotations: Any = None,
) -> Any:
    """Set the tile `col` to a block of the matrix of patches of `img`, which is (N, H, W, C).

    A row of the matrix is a pixel of the result, the number `(n * OH + oh) * OW + ow`; a column is
    an element of the patch, the number `(kh * kernel + kw) * C + c`. The block has the size of
    `col` and the numbers `nhw_step` and `c_step`. Pixels in the padding, and those past the last
    image, are 0. `c2d_im2col` is the same. `eviction_policy` and `annotations` are hints.

    | form | meaning | Triton |
    |---|---|---|
    | `T.im2col(A, t, by, k, 3, 1, 1, 1)` | a block of 3 by 3 patches | `t = tl.load(…, mask=…)` |
    """


SIZES = ("kernel", "stride", "dilation", "pad")


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """An image of four dimensions, a matrix of its type, and static sizes."""
    arguments = IM2COL.arguments(call)
    problems = [p for side in ("img", "col") for p in region_problems(arguments[side], facts)]
    yield from problems
    image, matrix = (read_region(arguments[side], facts) for side in ("img", "col"))
    if not problems and image is not None and matrix is not None:
        rows_first = matrix.rank - 2
        fits = rows_first >= 0 and all(size == 1 for size in matrix.sizes[:rows_first])
        is_image = image.whole and image.is_tensor and image.rank == 4
        if not (is_image and fits and not matrix.is_tensor and image.dtype == matrix.dtype):
            yield Problem(
                call,
                "T2T344",
                "T.im2col takes a global tensor of four dimensions (N, H, W, C) and a tile of two "
                "dimensions of its type",
                tuple(
                    f"{as_written(side.node)}: {side.shape_text} {side.dtype}"
                    for side in (image, matrix)
                ),
                "name the whole tensor and the whole tile, and cast with T.copy",
            )
    for parameter in SIZES:
        value = static_value(arguments[parameter], facts)
        least = 0 if parameter == "pad" else 1
        if not isinstance(value, int) or value < least:
            yield Problem(
                arguments[parameter],
                "T2T345",
                f"`{parameter}` of T.im2col is a whole number from {least} on that is known when "
                f"the kernel is compiled, but `{as_written(arguments[parameter])}` is not",
                (),
                "make it a parameter of the factory",
            )


def reference(
    img: "Operand",
    col: "Operand",
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    **hints: Any,
) -> None:
    image = img.read()
    count, height, width, channels = image.shape
    shape = col.read().shape
    rows = int(value_of(nhw_step)) * shape[-2] + np.arange(shape[-2])[:, None]
    columns = int(value_of(c_step)) * shape[-1] + np.arange(shape[-1])
    reach = (kernel - 1) * dilation + 1
    out_height, out_width = ((n + 2 * pad - reach) // stride + 1 for n in (height, width))
    number = rows // (out_height * out_width)
    y = rows // out_width % out_height * stride + columns // channels // kernel * dilation - pad
    x = rows % out_width * stride + columns // channels % kernel * dilation - pad
    inside = (number < count) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    picked = (np.where(inside, index, 0) for index in (number, y, x))
    values = image[(*picked, np.where(inside, columns % channels, 0))]
    col.write(np.where(inside, values, np.zeros((), image.dtype)).reshape(shape))


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """One masked load; the masks are the bounds of the image's dimensions."""
    image = read_region(arguments["img"], space.facts)
    matrix = read_region(arguments["col"], space.facts)
    assert image is not None and matrix is not None and matrix.extents is not None
    axes = (matrix.rank - 2, matrix.rank - 1)
    sizes = tuple(matrix.sizes[axis] for axis in axes)
    extents = tuple(matrix.extents[axis] for axis in axes)
    inner = space_of_region(space, matrix, axes, sizes, extents, node)
    row, column = (name(axis.variable) for axis in inner.axes)
    steps = {key: arguments[key] for key in (*SIZES, "nhw_step", "c_step")}
    _, height, width, channels = image.shape
    m = expr("step * extent + row", step=steps["nhw_step"], extent=extents[0], row=row)
    k = expr("step * extent + column", step=steps["c_step"], extent=extents[1], column=column)
    out_height, out_width = (_pixels(extent, steps) for extent in (height, width))
    pixels = expr("h * w", h=out_height, w=out_width)
    of_pixel = {"m": m, "k": k, "c": channels, "w": out_width, "hw": pixels, **steps}
    indices = [
        expr("m // hw", **of_pixel),
        expr("m % hw // w * stride + k // (kernel * c) * dilation - pad", **of_pixel),
        expr("m % w * stride + k // c % kernel * dilation - pad", **of_pixel),
        expr("k % c", **of_pixel),
    ]
    # A safe value of the tensor is for other reads: the padding of a convolution is 0.
    outer = space.lowering.safe_values
    space.lowering.safe_values = {}
    policy, words = arguments["eviction_policy"], AccessHints()
    if isinstance(policy, ast.Constant) and policy.value is not None:
        words = AccessHints(*caching(space.facts, node, policy.value, is_load=True))
    with space.lowering.accessing(words):
        value = inner.read(arguments["img"], image.buffer, indices)
    space.lowering.safe_values = outer
    store(inner, matrix.buffer, indices_of(matrix, inner, axes), value, node)


def _pixels(extent: ast.expr, steps: dict[str, ast.expr]) -> ast.expr:
    """How many pixels of the result there are along an edge of the image."""
    tree = "(extent + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1"
    return expr(tree, extent=extent, **steps)


IM2COL = Operator(
    surface=im2col,
    kind="statement",
    writes="col",
    check=check,
    lower=lower,
    reference=reference,
    aliases=("c2d_im2col",),
)

OPERATORS = (IM2COL,)
