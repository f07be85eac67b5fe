"""The operators of whole tiles: what Python calls them, and that all of them go one way."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


def computed_with(sign: ast.AST, *operands: Any) -> Any:
    """`a + b`, `a < b`, `-a` of whole tiles and scalars."""
    from tile2triton.frontend.tile_values import computed

    return computed(sign, *operands)


def _sign(kind: type[ast.operator | ast.cmpop | ast.unaryop]) -> Callable[..., Any]:
    return lambda *operands: computed_with(kind(), *operands)


def _turned(kind: type[ast.operator]) -> Callable[..., Any]:
    forward = _sign(kind)
    return lambda self, other: forward(other, self)


class TileArithmetic:
    """What computes element by element where a whole tile, or a part of one, is an operand."""

    __add__, __radd__ = _sign(ast.Add), _turned(ast.Add)
    __sub__, __rsub__ = _sign(ast.Sub), _turned(ast.Sub)
    __mul__, __rmul__ = _sign(ast.Mult), _turned(ast.Mult)
    __truediv__, __rtruediv__ = _sign(ast.Div), _turned(ast.Div)
    __floordiv__, __rfloordiv__ = _sign(ast.FloorDiv), _turned(ast.FloorDiv)
    __mod__, __rmod__ = _sign(ast.Mod), _turned(ast.Mod)
    __lshift__, __rlshift__ = _sign(ast.LShift), _turned(ast.LShift)
    __rshift__, __rrshift__ = _sign(ast.RShift), _turned(ast.RShift)
    __and__, __rand__ = _sign(ast.BitAnd), _turned(ast.BitAnd)
    __or__, __ror__ = _sign(ast.BitOr), _turned(ast.BitOr)
    __xor__, __rxor__ = _sign(ast.BitXor), _turned(ast.BitXor)
    __lt__, __le__ = _sign(ast.Lt), _sign(ast.LtE)
    __gt__, __ge__ = _sign(ast.Gt), _sign(ast.GtE)
    __neg__, __invert__ = _sign(ast.USub), _sign(ast.Invert)
    __pow__, __rpow__ = _sign(ast.Pow), _turned(ast.Pow)

    def __matmul__(self, other: Any) -> Any:
        from tile2triton.frontend.operators import call

        return call("gemm", (self, other), {})

    # NumPy's numbers leave it to the tile what they are together.
    __array_ufunc__ = None

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        from tile2triton.frontend.operators import call

        return call("abs", (self,), {})

    def astype(self, dtype: Any) -> Any:
        """The tile in another type."""
        from tile2triton.frontend.operators import call

        return call("cast", (self, dtype), {})


def _stored(operation: str) -> Callable[..., Any]:
    def store(self: Any, value: Any) -> Any:
        from tile2triton.frontend.tile_stores import update
        from tile2triton.frontend.tile_values import is_tile

        if not is_tile(self):
            return NotImplemented
        update(self, operation, value)
        return self

    return store


class TileStores:
    """`x += value` and its kind store to a tile, also in functions of Python that kernels call."""

    __iadd__, __isub__, __imul__ = _stored("Add"), _stored("Sub"), _stored("Mult")
    __itruediv__, __ifloordiv__, __imod__ = _stored("Div"), _stored("FloorDiv"), _stored("Mod")
    __ilshift__, __irshift__ = _stored("LShift"), _stored("RShift")
    __iand__, __ior__, __ixor__ = _stored("BitAnd"), _stored("BitOr"), _stored("BitXor")
