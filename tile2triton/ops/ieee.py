"""T.ieee_add and its kind: arithmetic that rounds once, in the direction that is named."""

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value, cast, strong
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written
from tile2triton.reference.values import Value as Number
from tile2triton.reference.values import common

MODES = ("rn", "rz", "ru", "rd")


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x + y, rounded to nearest ("rn"), to zero ("rz"), up ("ru") or down ("rd").

    Of float32 and float64. It is never fused with another operation on NVIDIA; other directions
    than "rn" are NVIDIA's only.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_add(x, y, "rz")` | x + y towards zero | `libdevice.add_rz(x, y)` |
    """


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x - y. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_sub(x, y, "ru")` | x - y upwards | `libdevice.sub_ru(x, y)` |
    """


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x * y. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_mul(x, y, "rd")` | x * y downwards | `libdevice.mul_rd(x, y)` |
    """


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x / y. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_fdiv(x, y)` | x / y to nearest | `libdevice.div_rn(x, y)` |
    """


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Any:
    """x * y + z, rounded once. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_fmaf(x, y, z)` | x * y + z to nearest | `libdevice.fma_rn(x, y, z)` |
    """


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Any:
    """1 / x. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_frcp(x)` | 1 / x to nearest | `libdevice.rcp_rn(x)` |
    """


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Any:
    """The square root. Directions as `ieee_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_fsqrt(x)` | the root to nearest | `libdevice.sqrt_rn(x)` |
    """


def ieee_frsqrt(x: Any) -> Any:
    """1 over the square root, to nearest; of float32.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ieee_frsqrt(x)` | 1 / root of x | `libdevice.rsqrt_rn(x)` |
    """


@dataclass(frozen=True)
class Exact:
    """An operation: Triton's names of it, and how a result compares with the exact value."""

    name: str
    nearest: str  # for targets without libdevice's roundings
    plain: Callable[..., Any]
    excess: Callable[..., Fraction]  # a number of the sign of `result - exact`
    nearest_of_64_bits: str = ""  # where the form for 32 bits takes no others


def _quotient_excess(result: Fraction, x: Fraction, y: Fraction) -> Fraction:
    return result - x / y


def _root_excess(result: Fraction, x: Fraction) -> Fraction:
    return result * result - x if result >= 0 else result


ADD = Exact("add", "x + y", np.add, lambda r, x, y: r - (x + y))
SUB = Exact("sub", "x - y", np.subtract, lambda r, x, y: r - (x - y))
MUL = Exact("mul", "x * y", np.multiply, lambda r, x, y: r - x * y)
DIV = Exact("div", "tl.div_rn(x, y)", np.divide, _quotient_excess, "x / y")
RCP = Exact("rcp", "tl.div_rn(1.0, x)", np.reciprocal, lambda r, x: r - 1 / x, "1.0 / x")
SQRT = Exact("sqrt", "tl.sqrt_rn(x)", np.sqrt, _root_excess, "tl.sqrt(x)")
FMA = Exact("fma", "tl.fma(x, y, z)", lambda x, y, z: x * y + z, lambda r, x, y, z: r - (x * y + z))


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The direction is one of four, and the target has it."""
    name = ast.unparse(call.func).rpartition(".")[2]
    mode = facts.operators[name].arguments(call).get("rounding_mode", ast.Constant("rn"))
    value = mode.value if isinstance(mode, ast.Constant) else None
    if value not in MODES:
        yield Problem(
            mode,
            "T2T617",
            f"`rounding_mode={as_written(mode)}` is no direction of rounding",
            (),
            f"write one of {', '.join(map(repr, MODES))}",
        )
    elif facts.target.startswith("hip") and value != "rn":
        yield Problem(
            mode,
            "T2T617",
            f"AMD's GPUs round T.{name} to nearest only",
            (f"target {facts.target}",),
            'leave `rounding_mode` out, or write "rn"',
        )


def lower_exact(operation: Exact) -> Callable[..., Value]:
    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        mode = ast.literal_eval(arguments.pop("rounding_mode"))
        values = _operands(space, arguments, node, ("float32", "float64"))
        names = ", ".join(values)
        template = f"libdevice.{operation.name}_{mode}({names})"
        if space.facts.target.startswith("hip"):
            is_wide = next(iter(values.values())).dtype == "float64"
            template = (operation.nearest_of_64_bits if is_wide else "") or operation.nearest
        return _made(template, values)

    return lower


def lower_rsqrt(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    values = _operands(space, arguments, node, ("float32",))
    on_amd = space.facts.target.startswith("hip")
    return _made("tl.rsqrt(x)" if on_amd else "libdevice.rsqrt_rn(x)", values)


def _operands(
    space: Space, arguments: dict[str, ast.expr], node: ast.Call, dtypes: tuple[str, ...]
) -> dict[str, Value]:
    """The operands as typed values; literals take the type of the others."""
    values = {parameter: space.value(tree) for parameter, tree in arguments.items()}
    typed = [value.dtype for value in values.values() if not value.weak] or ["float32"]
    if typed[0] not in dtypes or len(set(typed)) > 1:
        raise refuse(
            node,
            "T2T618",
            f"`{ast.unparse(node)}` takes operands of one type, {' or '.join(dtypes)}",
            found=tuple(
                f"`{ast.unparse(tree)}`: {values[p].dtype}" for p, tree in arguments.items()
            ),
            hint="T.cast the operands first",
        )
    return {parameter: strong(cast(value, typed[0])) for parameter, value in values.items()}


def _made(template: str, values: dict[str, Value]) -> Value:
    axes = frozenset[int]().union(*(value.axes for value in values.values()))
    tree = expr(template, **{parameter: value.tree for parameter, value in values.items()})
    return Value(tree, next(iter(values.values())).dtype, axes)


def _reference(operation: Exact) -> Callable[..., Number]:
    """The exact result, next to which two floats of the type stand, rounded one way."""

    def rounded(mode: str, dtype: np.dtype[Any], *numbers: Any) -> Any:
        with np.errstate(all="ignore"):
            near = dtype.type(operation.plain(*numbers))
        divides_by_zero = operation in (DIV, RCP) and not numbers[-1]
        if not all(map(math.isfinite, numbers)) or math.isnan(near) or divides_by_zero:
            return near
        exact = [Fraction(float(number)) for number in numbers]

        def excess(result: Any) -> Fraction | float:
            if math.isinf(result):
                return float(result)
            return operation.excess(Fraction(float(result)), *exact)

        below = near
        while excess(below) > 0:
            below = np.nextafter(below, dtype.type(-np.inf))
        above = below
        while excess(above) < 0:
            above = np.nextafter(above, dtype.type(np.inf))
        if below == above or (mode == "rn" and operation is SQRT):
            # The sign of a zero is that of the ordinary result.
            return near
        if mode == "rn":
            return _nearer(below, above, excess)
        if mode == "rz":
            return above if below < 0 else below
        return above if mode == "ru" else below

    def reference(*operands: Number, rounding_mode: str = "rn") -> Number:
        typed = common(*operands)
        dtype = typed[0].dtype
        each = np.vectorize(lambda *n: rounded(rounding_mode, dtype, *n), otypes=[dtype])
        return each(*typed)[()]

    return reference


def _nearer(below: Any, above: Any, excess: Callable[[Any], Any]) -> Any:
    """The nearer of two neighbours of a value; of two as near the even one."""
    under, over = -excess(below), excess(above)
    if under == over:
        whole = below.view(f"u{below.dtype.itemsize}")
        return below if whole % 2 == 0 else above
    return below if under < over else above


def reference_of_rsqrt(x: Number) -> Number:
    (x,) = common(x)
    with np.errstate(all="ignore"):
        return (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype)


def _operator(surface: Callable[..., Any], operation: Exact) -> Operator:
    return Operator(
        surface=surface,
        lower=lower_exact(operation),
        kind="expression",
        check=check,
        reference=_reference(operation),
    )


OPERATORS = (
    _operator(ieee_add, ADD),
    _operator(ieee_sub, SUB),
    _operator(ieee_mul, MUL),
    _operator(ieee_fdiv, DIV),
    _operator(ieee_fmaf, FMA),
    _operator(ieee_frcp, RCP),
    _operator(ieee_fsqrt, SQRT),
    Operator(
        surface=ieee_frsqrt,
        lower=lower_rsqrt,
        kind="expression",
        reference=reference_of_rsqrt,
    ),
)
