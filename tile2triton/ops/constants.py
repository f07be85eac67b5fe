"""T.infinity, T.max_value, T.min_value: the ends of a type's range."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from rewrites import dtypes
from rewrites.dtypes import is_float
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import literal
from rewrites.space import Space
from rewrites.values import Value as Typed
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.ops.regions import known_dtype
from tile2triton.reference.values import Value, numpy_dtype


def infinity(dtype: Any) -> Any:
    """Infinity of a float type, or the largest number of a type that has none.

    | form | meaning | Triton |
    |---|---|---|
    | `-T.infinity("float32")` | below every number | `float("-inf")` |
    """


def max_value(dtype: Any) -> Any:
    """The largest finite number of a type.

    | form | meaning | Triton |
    |---|---|---|
    | `T.max_value("int8")` | 127 | `127` |
    """


def min_value(dtype: Any) -> Any:
    """The lowest finite number of a type.

    | form | meaning | Triton |
    |---|---|---|
    | `T.min_value("int8")` | -128 | `-128` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    dtype = INFINITY.arguments(call)["dtype"]
    yield from known_dtype(dtype, facts)


def value_of_infinity(dtype: str) -> int | float:
    """Infinity as a Python number."""
    if dtypes.is_float(dtype) and np.isinf(numpy_dtype(dtype).type(np.inf)):
        return float("inf")
    return value_of_largest(dtype)


def value_of_largest(dtype: str) -> int | float:
    """The largest finite number as a Python number."""
    if dtype == "bool":
        return 1
    if dtypes.is_float(dtype):
        return float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
    return int(np.iinfo(numpy_dtype(dtype)).max)


def value_of_lowest(dtype: str) -> int | float:
    """The lowest finite number as a Python number."""
    if dtype == "bool":
        return 0
    if dtypes.is_float(dtype):
        return float(ml_dtypes.finfo(numpy_dtype(dtype)).min)
    return int(np.iinfo(numpy_dtype(dtype)).min)


def reference_of_infinity(dtype: str) -> Value:
    return numpy_dtype(dtype).type(value_of_infinity(dtype))


def reference_of_max_value(dtype: str) -> Value:
    return numpy_dtype(dtype).type(value_of_largest(dtype))


def reference_of_min_value(dtype: str) -> Value:
    return numpy_dtype(dtype).type(value_of_lowest(dtype))


def lower_constant(value_of: Callable[[str], int | float]) -> Callable[..., Typed]:
    """A number of the dtype that the argument names."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
        dtype = ast.literal_eval(arguments["dtype"])
        value = value_of(dtype)
        value = float(value) if is_float(dtype) else value
        return Typed(literal(value), dtype, weak=True, number=value)

    return lower


def whole_form(surface: Callable[..., Any], value_of: Callable[[str], int | float]) -> WholeForm:
    """In programs on whole operands it is a number."""

    def make(making: Any, dtype: str) -> int | float:
        return value_of(dtype)

    return WholeForm(surface, make, lambda dtype: value_of(dtype))


INFINITY = Operator(
    surface=infinity,
    lower=lower_constant(value_of_infinity),
    kind="expression",
    check=check,
    reference=reference_of_infinity,
    whole=whole_form(infinity, value_of_infinity),
)
MAX_VALUE = Operator(
    surface=max_value,
    lower=lower_constant(value_of_largest),
    kind="expression",
    check=check,
    reference=reference_of_max_value,
    whole=whole_form(max_value, value_of_largest),
)
MIN_VALUE = Operator(
    surface=min_value,
    lower=lower_constant(value_of_lowest),
    kind="expression",
    check=check,
    reference=reference_of_min_value,
    whole=whole_form(min_value, value_of_lowest),
)

OPERATORS = (INFINITY, MAX_VALUE, MIN_VALUE)
