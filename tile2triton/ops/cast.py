"""T.cast, T.Cast, T.reinterpret: a value in another type."""

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from rewrites import dtypes
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value as Typed
from rewrites.values import cast as typed_cast
from rewrites.values import strong, triton_dtype
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, known_dtype
from tile2triton.ops.whole import choices
from tile2triton.reference import values
from tile2triton.reference.values import Value, dtype_of, numpy_dtype, typed


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None) -> Any:
    """The value as another type.

    A float becomes an integer by dropping its fraction; a float that float8 cannot hold becomes the
    largest that it can. `x.astype(d)` and `T.float16(x)` are the same.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cast(x, "float16")` | x rounded to a half | `x.to(tl.float16)` |
    """


def Cast(dtype: Any, value: Any) -> Any:
    """`T.cast` with its arguments the other way round.

    | form | meaning | Triton |
    |---|---|---|
    | `T.Cast("float16", x)` | `T.cast(x, "float16")` | `x.to(tl.float16)` |
    """


def reinterpret(value: Any, dtype: Any) -> Any:
    """The same bits read as another type of the same width.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reinterpret(x, "int32")` | the bits of a float32 | `x.to(tl.int32, bitcast=True)` |
    """


# The directions that the language names.
ROUNDINGS = ("", "rn", "rz", "rp", "rm", "rs")


def mistake(given: dict[str, Any]) -> tuple[str, str, str] | None:
    """Options that no cast has, wherever it stands."""
    rounding, saturates = given.get("round", ""), given.get("sat", True)
    if rounding not in ROUNDINGS:
        named = ", ".join(f'"{one}"' for one in ROUNDINGS if one)
        return "T2T624", f"Invalid round: T.cast knows no {rounding!r}", f"use one of {named}"
    if not isinstance(saturates, (bool, int)) or saturates not in (False, True):
        return "T2T624", f"Invalid sat: {saturates!r} is no bool", "write sat=True, or leave it out"
    if (rounding == "rs") != (given.get("rbits") is not None):
        if rounding == "rs":
            return "T2T624", 'rbits is required with round="rs"', "give the random bits as rbits"
        return "T2T624", 'rbits is only valid with round="rs"', "leave rbits out"
    return None


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The type is known; rounding and overflow are the ordinary ones."""
    arguments = FORMS[ast.unparse(call.func).rpartition(".")[2]].arguments(call)
    yield from known_dtype(arguments["dtype"], facts)
    rounding = arguments.get("round")
    if rounding is not None and not (
        isinstance(rounding, ast.Constant) and rounding.value in ("", "rn")
    ):
        yield Problem(
            rounding,
            "T2T290",
            f"a cast rounds to nearest; `round={as_written(rounding)}` is not supported",
            (),
            'leave `round` out, or write round="rn"',
        )
    saturates = arguments.get("sat")
    is_narrow = ast.unparse(arguments["dtype"]).strip("'").startswith("float8")
    if isinstance(saturates, ast.Constant) and not saturates.value and is_narrow:
        yield Problem(
            saturates,
            "T2T625",
            "a cast to float8 gives the largest number where the value is too large; sat=False is "
            "not supported",
            (),
            "leave `sat` out",
        )


def reference(
    value: Value, dtype: str, round: str = "", sat: bool = True, rbits: Any = None
) -> Value:
    return values.cast(typed(value), dtype)


def reference_of_swapped(dtype: str, value: Value) -> Value:
    return values.cast(typed(value), dtype)


def reference_of_reinterpret(value: Value, dtype: str) -> Value:
    value = typed(value)
    if dtypes.bits(dtype_of(value)) != dtypes.bits(dtype):
        raise TypeError(
            f"T.reinterpret keeps the bits, and {dtype_of(value)} has "
            f"{dtypes.bits(dtype_of(value))} of them, {dtype} {dtypes.bits(dtype)}"
        )
    bits = np.ascontiguousarray(value).view(numpy_dtype(dtype))
    return bits.reshape(np.shape(value))[()]


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    return typed_cast(space.value(arguments["value"]), ast.literal_eval(arguments["dtype"]))


def lower_reinterpret(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    value = strong(space.value(arguments["value"]))
    dtype = ast.literal_eval(arguments["dtype"])
    tree = expr("x.to(dtype, bitcast=True)", x=value.tree, dtype=triton_dtype(dtype))
    return Typed(tree, dtype, value.axes)


CAST = Operator(
    surface=cast,
    lower=lower,
    kind="expression",
    check=check,
    reference=reference,
    mistake=mistake,
    whole=choices.CAST,
)
SWAPPED = Operator(
    surface=Cast, lower=lower, kind="expression", check=check, reference=reference_of_swapped
)
REINTERPRET = Operator(
    surface=reinterpret,
    lower=lower_reinterpret,
    kind="expression",
    check=check,
    reference=reference_of_reinterpret,
)
FORMS = {"cast": CAST, "Cast": SWAPPED, "reinterpret": REINTERPRET}

OPERATORS = (CAST, SWAPPED, REINTERPRET)
