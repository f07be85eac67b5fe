"""What a loop is in TVM: programs ask of one whether it is TVM's own, or one with a step."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.loops import Loop


class _OfLoops(type):
    def __instancecheck__(cls, value: Any) -> bool:
        step = value.bounds[2:] if isinstance(value, Loop) else (0,)
        return not step or (isinstance(step[0], int) and step[0] == 1)


class IRBuilderFrame(metaclass=_OfLoops):
    """The class of loops that count by ones."""
