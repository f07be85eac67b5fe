"""T.tile above a function with T.Kernel: other defaults for the parameters that are tile sizes."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from tile2triton.frontend.failures import failure
from tile2triton.schedule.schedule import Schedule


def with_tiles(function: Any, schedule: Schedule) -> Any:
    """The function with the tile sizes that are its parameters as their defaults.

    A function without such parameters stays as it is: its sizes are those of extents.
    """
    tiles = {}
    parameters = inspect.signature(function).parameters
    for name, size in schedule.tiles.items():
        if name in parameters:
            tiles[name] = size
    if not tiles or not isinstance(function, FunctionType):
        return function
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        _defaults(function, tiles),
        function.__closure__,
    )
    lost = [name for name in tiles if name not in _with_defaults(made)]
    if lost:
        raise failure(
            "T2T876",
            f"T.tile gives `{lost[0]}`, which stands before a parameter without a default",
            hint=f"give it where the kernel is made: {function.__name__}(..., "
            f"{lost[0]}={tiles[lost[0]]})",
        )
    made.__kwdefaults__ = {
        name: tiles.get(name, value) for name, value in (function.__kwdefaults__ or {}).items()
    }
    made.__dict__.update(function.__dict__)
    made.__annotations__ = function.__annotations__
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    made.__qualname__ = function.__qualname__
    return made


def _with_defaults(made: FunctionType) -> set[str]:
    """The parameters that have a default."""
    code = made.__code__
    names = code.co_varnames[: code.co_argcount]
    count = len(made.__defaults__ or ())
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return {*names[len(names) - count :], *only}


def _defaults(function: FunctionType, tiles: dict[str, int]) -> tuple[Any, ...]:
    """The defaults of positional parameters, which stand behind those that have none."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = dict(zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False))
    given.update({name: size for name, size in tiles.items() if name in names})
    made = []
    for name in reversed(names):
        if name not in given:
            break
        made.append(given[name])
    return tuple(reversed(made))
