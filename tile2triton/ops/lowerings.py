"""Lowerings that several operators share: element-wise functions, and regions as spaces."""

import ast
from collections.abc import Callable

from rewrites.dtypes import bits, is_float, promoted
from rewrites.errors import refuse
from rewrites.quote import expr, name
from rewrites.space import Axis, Space
from rewrites.values import Value, cast, operands, strong, triton_dtype
from tile2triton.ops.operand import known_sizes
from tile2triton.ops.regions import Region

Lower = Callable[[Space, dict[str, ast.expr], ast.Call], Value]


def float_lowering(template: str, on_amd: str = "") -> Lower:
    """A function of floats, computed in float32 or float64 and given back in the operand's type.

    `template` is Triton's expression over `x` (and `y`), `on_amd` another one for AMD's GPUs. An
    integer becomes float32 first.
    """

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        values = [space.value(tree) for tree in arguments.values()]
        dtype = values[0].dtype
        for value in values[1:]:
            dtype = promoted(dtype, value.dtype)
        if not is_float(dtype):
            dtype = "float32"
        computed = "float64" if dtype == "float64" else "float32"
        trees = {
            parameter: strong(cast(value, computed)).tree
            for parameter, value in zip(arguments, values, strict=True)
        }
        axes = frozenset[int]().union(*(value.axes for value in values))
        chosen = on_amd if on_amd and space.facts.target.startswith("hip") else template
        return cast(Value(expr(chosen, **trees), computed, axes), dtype)

    return lower


def whole_lowering(template: str) -> Lower:
    """Rounding to whole numbers: floats in float32 or float64, integers as they are."""
    of_float = float_lowering(template)

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        value = space.value(arguments["x"])
        if not is_float(value.dtype):
            return value
        return of_float(space, arguments, node)

    return lower


def test_lowering(template: str) -> Lower:
    """A question about a float; an integer is asked as float32."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        value = space.value(arguments["x"])
        computed = "float64" if value.dtype == "float64" else "float32"
        asked = strong(cast(value, computed))
        return Value(expr(template, x=asked.tree), "bool", asked.axes)

    return lower


def pair_lowering(template: str) -> Lower:
    """A function of two operands in their promoted type."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        left, right = (space.value(tree) for tree in arguments.values())
        return pair(template, left, right)

    return lower


def pair(template: str, left: Value, right: Value) -> Value:
    """`template` over `a` and `b`, in the promoted type of two values.

    bfloat16 is computed in float32, where the `tl.maximum` of Triton 3.6 leaves it. Of two
    truth values the result is one, too, computed in int32.
    """
    dtype = promoted(left.dtype, right.dtype)
    computed = "float32" if dtype.startswith(("float8", "bfloat16")) else dtype
    if left.dtype == right.dtype == "bool":
        dtype = "bool"
    if left.weak and right.weak:
        # Python would divide two literals its own way, and leave a number without a type.
        left = strong(cast(left, computed))
    if {left.dtype, right.dtype} == {"float16", "bfloat16"}:
        # They would leave both of them in float32.
        left, right = cast(left, computed), cast(right, computed)
    a, b = operands(left, right, computed)
    is_with_literal = a.weak or b.weak
    if is_with_literal and computed == "float64":
        # The functions of Triton 3.6 make float32 of a literal, whatever the other operand is.
        a, b = strong(cast(a, computed)), strong(cast(b, computed))
    tree = expr(template, a=a.tree, b=b.tree)
    if is_with_literal and bits(computed) < 32:
        # Next to a literal they compute in 32 bits, and leave the result there.
        tree = expr("tree.to(dtype)", tree=tree, dtype=triton_dtype(computed))
    return cast(Value(tree, computed, left.axes | right.axes), dtype)


def space_of_region(
    space: Space,
    region: Region,
    dimensions: tuple[int, ...],
    sizes: tuple[int | None, ...],
    extents: tuple[ast.expr, ...],
    node: ast.AST,
    longest: tuple[ast.expr, ...] = (),
) -> Space:
    """A space with one axis for each of `dimensions` of a region.

    Of a part of a tile whose length is known at run time only, the axis runs over all that the
    tile has there, and a condition says what counts. `longest` are these extents where they are
    not those of the region.
    """
    axes = []
    limits: list[tuple[int, ast.expr]] = []
    for position, (dimension, size, extent) in enumerate(
        zip(dimensions, sizes, extents, strict=True)
    ):
        if size is None:
            limits.append((position, extent))
            extent = longest[position] if longest else region.shape[dimension]
            size = known_sizes((extent,), space.facts)[0]
        if size is None:
            raise refuse(
                node,
                "T2T317",
                f"`{ast.unparse(extent)}`, the length of a region, is known only at run time",
                hint="copy through a tile of fixed size, in a loop",
            )
        axes.append(Axis.of(f"{_dimension_name(region, dimension)} axis", size, extent))
    unique = [
        axis if axis.variable not in [a.variable for a in axes[:n]] else _numbered(axis, n)
        for n, axis in enumerate(axes)
    ]
    inner = Space(space.lowering, tuple(unique))
    for position, extent in limits:
        lane = name(unique[position].variable)
        inner.conditions.append(inner.value(expr("lane < extent", lane=lane, extent=extent)))
    return inner


def indices_of(region: Region, space: Space, axes: tuple[int, ...]) -> list[ast.expr]:
    """The region's index in each dimension, for the space's axes along `axes`."""
    indices = list(region.starts)
    for axis, dimension in zip(space.axes, axes, strict=True):
        start = region.starts[dimension]
        if isinstance(start, ast.Constant) and start.value == 0:
            indices[dimension] = name(axis.variable)
        else:
            indices[dimension] = ast.BinOp(start, ast.Add(), name(axis.variable))
    return indices


def _dimension_name(region: Region, dimension: int) -> str:
    extent = region.shape[dimension]
    if isinstance(extent, ast.Name):
        return extent.id.lower()
    return f"{region.buffer.lower()}_{dimension}"


def _numbered(axis: Axis, number: int) -> Axis:
    variable = f"{axis.variable.removesuffix(' axis')}_{number} axis"
    return Axis(variable, axis.extent, axis.tree, axis.length, axis.length_tree)
