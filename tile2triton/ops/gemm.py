"""T.gemm: multiply two tiles and add to a third."""

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites import tiles
from rewrites.dtypes import bits, is_float
from rewrites.environment import next_power_of_two
from rewrites.errors import refuse
from rewrites.nodes import Comment
from rewrites.quote import expr, literal, name
from rewrites.scalars import as_condition
from rewrites.space import Space
from rewrites.stores import store
from rewrites.values import Value, triton_dtype
from rewrites.values import cast as typed_cast
from tile2triton.hints.products import note_hints
from tile2triton.ops.base import Made, Operator, Source
from tile2triton.ops.gemm_rules import check, matrix_axes
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import (
    Region,
    as_written,
    read_region,
    static_value,
)
from tile2triton.ops.whole import matmul
from tile2triton.reference.named import value_of
from tile2triton.reference.values import as_tf32, cast

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: Any = "Square",
    clear_accum: Any = False,
    k_pack: int = 1,
    mbar: Any = None,
    annotations: Any = None,
) -> Any:
    """C += A @ B on tiles of two dimensions; further leading dimensions have extent 1.

    A is (M, K), or (K, M) with `transpose_A`; B is (K, N), or (N, K) with `transpose_B`; C is
    (M, N). A and B have one type; float32 operands are rounded to TensorFloat-32. With
    `clear_accum` the old C is not read. `policy`, `k_pack`, `mbar` and `annotations` are hints
    (docs/hints.md); `annotations={"matrix_instruction": 16}` is of AMD's matrix instructions.

    | form | meaning | Triton |
    |---|---|---|
    | `T.gemm(a, b, c)` | c += a @ b | `c = tl.dot(a, b, c)` |
    | `T.gemm(a, b, c, transpose_B=True)` | c += a @ bᵀ | `c = tl.dot(a, tl.trans(b), c)` |
    | `T.gemm(a, b, c, clear_accum=True)` | c = a @ b | `c = tl.dot(a, b)` |
    | `c = T.gemm(a, b)` | a new tile of float32, of int32 for int8 | `c = tl.dot(a, b)` |
    """


def made(sources: dict[str, Source], options: dict[str, Any]) -> Made:
    """A product by itself, in the type that it is added up in."""
    a, b = (sources[side].shape[-2:] for side in "AB")
    rows = a[-1] if options.get("transpose_A") else a[0]
    columns = b[0] if options.get("transpose_B") else b[-1]
    return Made((rows, columns), accumulator(sources["A"].dtype), "product", {"clear_accum": True})


def accumulator(dtype: str) -> str:
    """The type that products of this type are added up in."""
    return {"int8": "int32", "float64": "float64"}.get(dtype, "float32")


def reference(
    A: "Operand",
    B: "Operand",
    C: "Operand",
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: Any = "Square",
    clear_accum: Any = False,
    **hints: Any,
) -> None:
    # Sums of int8 products are exact in float64, where NumPy multiplies matrices fast.
    kind = accumulator(A.dtype)
    a, b = _matrix(A), _matrix(B)
    product = (a.T if transpose_A else a) @ (b.T if transpose_B else b)
    if A.dtype == "int8":
        product = product.astype(np.int64)
    total = cast(product, kind)
    old = C.read()
    if not bool(value_of(clear_accum)):
        with np.errstate(all="ignore"):
            total = total + cast(old, kind).reshape(total.shape)
    C.write(cast(total, C.dtype).reshape(old.shape))


def _matrix(operand: "Operand") -> Any:
    """An operand as a matrix of a type that NumPy multiplies, rounded as tensor cores round it."""
    values = operand.read()
    values = values.reshape(values.shape[-2:])
    if operand.dtype == "float32":
        return as_tf32(values)
    return values.astype(np.float64 if operand.dtype in ("int8", "float64") else np.float32)


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """`acc = tl.dot(a, b, acc)`, in the accumulator's type."""
    facts = space.facts
    note_hints(space.lowering, node, arguments)
    flags = {side: bool(static_value(arguments[f"transpose_{side}"], facts)) for side in "AB"}
    a = _operand(space, arguments["A"], flags["A"], 0 if flags["A"] else 1, node)
    b = _operand(space, arguments["B"], flags["B"], 1 if flags["B"] else 0, node)
    region = read_region(arguments["C"], facts)
    assert region is not None
    target = facts.tiles[region.buffer]
    inner, value = _read(space, region, node)
    # Triton has no bfloat16 accumulator: the product is made in float32 and added there.
    computed = "float32" if target.dtype == "bfloat16" else target.dtype
    clear = as_condition(space.value(arguments["clear_accum"]))
    old = typed_cast(value, computed).tree
    zero = literal(0.0 if is_float(computed) else 0)
    factors = [a.tree, b.tree]
    if not isinstance(clear.tree, ast.Constant):
        factors.append(expr("tl.where(clear, zero, old)", clear=clear.tree, zero=zero, old=old))
    elif not clear.tree.value:
        factors.append(old)
    is_turned = id(node) in space.lowering.turned
    if is_turned:
        said = f"Turned round: ptxas 12.8 may lose where {as_written(arguments['B'])} lies."
        space.lowering.out.append(Comment(said))
        factors[:2] = factors[1::-1]
        factors = [_turned(factor) for factor in factors]
    dot = ast.Call(expr("tl.dot"), factors, [])
    if a.dtype == "float32":
        # Of the targets, only gfx950 has no units for TF32.
        precision = "ieee" if facts.target == "hip:gfx950" else "tf32"
        dot.keywords.append(ast.keyword("input_precision", literal(precision)))
    if computed != "float32":
        dot.keywords.append(ast.keyword("out_dtype", triton_dtype(computed)))
    made = _turned(dot) if is_turned else dot
    product = typed_cast(Value(made, computed, value.axes), target.dtype)
    if inner is None:
        space.lowering.emit("target = value", target=target.name, value=product.tree)
        return
    axes = matrix_axes(region)
    store(inner, target.name, indices_of(region, inner, axes), product, node)


def _turned(tree: ast.expr) -> ast.expr:
    match tree:
        case ast.Call(func=ast.Attribute(attr="trans"), args=[inner]):
            return inner
    return expr("tl.trans(x)", x=tree)


def _operand(space: Space, tree: ast.expr, transposed: bool, inner: int, node: ast.Call) -> Value:
    """A factor as Triton's dot wants it: padding along the inner size is zero."""
    region = read_region(tree, space.facts)
    assert region is not None
    axes = matrix_axes(region)
    size = region.sizes[axes[inner]]
    assert size is not None
    least = 32 if bits(region.dtype) == 8 else 16
    if next_power_of_two(size) < least:
        raise refuse(
            node,
            "T2T318",
            f"tensor cores multiply {region.dtype} with an inner size of {least} at least",
            found=(f"`{as_written(tree)}`: {region.shape_text}",),
            hint=f"make the tile {least} long in that dimension",
        )
    _, value = _read(space, region, node)
    operand = value.tree
    tile = space.facts.tiles[region.buffer]
    is_padded = next_power_of_two(size) != size
    if is_padded and not (region.whole and tile.name in space.lowering.zero_padded):
        lanes = space.lowering.lanes(size, _extent(region, axes[inner]), inner, 2)
        operand = expr(
            "tl.where(lanes < n, x, zero)",
            lanes=lanes,
            n=_extent(region, axes[inner]),
            x=operand,
            zero=literal(0.0 if is_float(region.dtype) else 0),
        )
    if transposed:
        operand = expr("tl.trans(x)", x=operand)
    return Value(operand, region.dtype)


def _extent(region: Region, axis: int) -> ast.expr:
    assert region.extents is not None
    return region.extents[axis]


def _read(space: Space, region: Region, node: ast.Call) -> tuple[Space | None, Value]:
    """A whole tile of two dimensions by its name; another region through a space of its own."""
    if region.whole and region.rank == 2:
        return None, Value(name(region.buffer), region.dtype)
    axes = matrix_axes(region)
    sizes = tuple(region.sizes[axis] for axis in axes)
    extents = tuple(_extent(region, axis) for axis in axes)
    inner = space_of_region(space, region, axes, sizes, extents, node)
    indices = indices_of(region, inner, axes)
    return inner, tiles.read(inner, region.buffer, indices, region.node)


def keeps(arguments: dict[str, ast.expr]) -> bool:
    """Whether the old C matters."""
    clear = arguments["clear_accum"]
    return not (isinstance(clear, ast.Constant) and clear.value)


GEMM = Operator(
    surface=gemm,
    lower=lower,
    writes="C",
    makes=made,
    keeps=keeps,
    kind="statement",
    check=check,
    reference=reference,
    whole=matmul.FORM,
)

OPERATORS = (GEMM,)
