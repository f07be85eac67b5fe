"""Expressions by TVM's names, for helper functions that kernels call: `tirx.const`, `tirx.Cast`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import tile2triton.language as T
from tile2triton.frontend.declarations import Dim
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.frontend.values import Buffer, Element

__all__ = [
    "Buffer",
    "BufferLoad",
    "Cast",
    "FloatImm",
    "IntImm",
    "Max",
    "Min",
    "PrimExpr",
    "PrimFunc",
    "Select",
    "Var",
    "all",
    "any",
    "const",
    "reinterpret",
]

PrimExpr = Dynamic
BufferLoad = Element
Var = Dim
Cast = T.Cast
Select = T.Select
Min, Max = T.min, T.max


def const(value: Any, dtype: Any = None) -> Any:
    """A number of an element type; without one, Python's own number."""
    return value if dtype is None else T.cast(value, dtype)


def reinterpret(dtype: Any, value: Any) -> Any:
    """The same bits as another element type."""
    return T.reinterpret(value, dtype)


class IntImm(int):
    """A whole number of an element type."""

    def __new__(cls, dtype: Any, value: int) -> IntImm:
        made = super().__new__(cls, value)
        made.dtype = T.dtype(dtype)
        return made

    dtype: Any

    @property
    def value(self) -> int:
        return int(self)


class FloatImm(float):
    """A number of an element type."""

    def __new__(cls, dtype: Any, value: float) -> FloatImm:
        made = super().__new__(cls, value)
        made.dtype = T.dtype(dtype)
        return made

    dtype: Any

    @property
    def value(self) -> float:
        return float(self)


def all(*conditions: Any) -> Any:
    """Whether every condition holds."""
    return functools.reduce(operator.and_, conditions)


def any(*conditions: Any) -> Any:
    """Whether some condition holds."""
    return functools.reduce(operator.or_, conditions)
