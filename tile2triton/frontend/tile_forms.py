"""What operators on whole operands are of tiles: T.zeros, T.arange, T.where, T.sum and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.dtypes import dtype_name
from tile2triton.frontend.failures import failure
from tile2triton.frontend.made_tiles import MadeTile
from tile2triton.frontend.statics import plain
from tile2triton.frontend.tile_values import TileValue, as_value, is_tile
from tile2triton.frontend.values import Buffer
from tile2triton.ops.base import Made


def of_tiles(name: str, given: dict[str, Any]) -> Any:
    """The call in a kernel with T.Kernel."""
    form = _FORMS.get(name)
    if form is None:
        raise failure(
            "T2T804",
            f"T.{name} takes whole operands",
            hint=f"in a kernel with T.Kernel there are {', '.join(f'T.{one}' for one in _FORMS)}, "
            "and arithmetic of tiles",
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


def _reduced(kind: str) -> Callable[..., Any]:
    def form(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        from tile2triton.frontend.operators import call

        rank = as_value(x).ndim if is_tile(x) else 1
        axis = 0 if axis is None and rank == 1 else axis
        if not isinstance(axis, int):
            raise failure(
                "T2T231",
                f"T.{kind} of a tile is along one of its {rank} dimensions",
                hint="write axis=0, or one after the other",
            )
        made = call(f"reduce_{kind.removeprefix('a')}", (x,), {"dim": axis})
        if not keepdims or rank == 1:
            return made
        index = [slice(None)] * (rank - 1)
        index.insert(plain(axis) % rank, None)  # type: ignore[arg-type]
        return made[tuple(index)]

    return form


_FORMS: dict[str, Callable[..., Any]] = {
    "zeros": _zeros,
    "full": _full,
    "arange": _arange,
    "where": _where,
    **{kind: _reduced(kind) for kind in ("sum", "amax", "amin")},
}
