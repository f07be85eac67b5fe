"""What operators on whole operands are of tiles: T.zeros, T.full, T.arange and T.where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.dtypes import dtype_name
from tile2triton.frontend.failures import failure
from tile2triton.frontend.made_tiles import MadeTile
from tile2triton.frontend.statics import plain
from tile2triton.frontend.tile_values import TileValue
from tile2triton.frontend.values import Buffer
from tile2triton.ops.base import Made


def of_tiles(name: str, given: dict[str, Any]) -> Any:
    """The call in a kernel with T.Kernel."""
    form = _FORMS.get(name)
    if form is None:
        raise failure(
            "T2T804",
            f"T.{name} takes whole operands",
            hint="in a kernel with T.Kernel, write the loop over the elements of a tile",
        )
    return form(**given)


def _zeros(shape: Any, dtype: Any = "float32") -> Any:
    return _filled(shape, dtype, "clear")


def _full(shape: Any, value: Any, dtype: Any = "float32") -> Any:
    return _filled(shape, dtype, "fill", value)


def _filled(shape: Any, dtype: Any, operator: str, *values: Any) -> MadeTile:
    from tile2triton.frontend.operators import call

    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    made = Made(extents, dtype_name(dtype), "tile")

    def fill(tile: Buffer) -> None:
        call(operator, (tile, *values), {})

    what = "zeros" if operator == "clear" else "full"
    return MadeTile(made, values, fill, f"T.{what}({extents})")


def _arange(n: Any) -> Any:
    require("T.arange")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise failure(
            "T2T280",
            f"`{plain(n)}` is no extent of a tile",
            hint="write how many positions there are: T.arange(block_N)",
        )
    return TileValue((n,), "int32", lambda at: at[0])


def _where(condition: Any, a: Any, b: Any) -> Any:
    from tile2triton.frontend.operators import call

    return call("if_then_else", (condition, a, b), {})


_FORMS: dict[str, Callable[..., Any]] = {
    "zeros": _zeros,
    "full": _full,
    "arange": _arange,
    "where": _where,
}
