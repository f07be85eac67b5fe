"""`T.prim_func`: a function that is a kernel, traced when it is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NoReturn

from rewrites.facts import Program
from tile2triton.frontend.environment import capture
from tile2triton.frontend.failures import failure
from tile2triton.frontend.trace import trace_prim_func
from tile2triton.printer import to_source
from tile2triton.tilelang.parameters import output_indices

# What TileLang calls the hints that it keeps with a kernel.
_NOTED = {
    "annotate_pass_configs": "tilelang_pass_configs",
    "annotate_compile_flags": "tilelang_compile_flags",
}


class PrimFunc:
    """A kernel with typed parameters; `tile2triton.compile` makes it callable."""

    # pytest takes a function named test_…, also one that is a kernel, for a test.
    __test__ = False

    def __init__(self, function: FunctionType, frame: Any) -> None:
        self.captured = capture(function, frame)
        self.__name__ = self.captured.function.__name__
        self.__doc__ = self.captured.function.__doc__
        self._programs: dict[tuple[int, ...], Program] = {}

    def program(self, out_idx: Sequence[int] = ()) -> Program:
        """The tile program; the tensors with these numbers are its outputs."""
        key = tuple(out_idx)
        if key not in self._programs:
            self._programs[key] = trace_prim_func(self.captured, key)
        return self._programs[key]

    @property
    def attrs(self) -> dict[str, Any]:
        """What TileLang notes beside a kernel, by its names: only what the kernel has."""
        facts = self.program().facts
        found: dict[str, Any] = {"global_symbol": facts.name}
        if facts.outputs:
            found["tilelang_out_idx"] = self._out_idx(self.program())
        for hint, name in _NOTED.items():
            if hint in facts.hints:
                (found[name],) = facts.hints[hint].values()
        return found

    def _out_idx(self, program: Program) -> list[int]:
        # What T.empty makes stands behind the parameters.
        count = len(program.facts.outputs)
        return list(range(-count, 0))

    def script(self) -> str:
        """The tile program as text."""
        return to_source(self.program().tree)

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise failure(
            "T2T181",
            f"`{self.__name__}` is a T.prim_func, which is compiled before it is called",
            hint=f"write kernel = tile2triton.compile({self.__name__}, out_idx=...), "
            "then kernel(...)",
        )


class TracedFunc(PrimFunc):
    """A kernel whose tile program is known, with its outputs: what an eager kernel gives."""

    def __init__(self, program: Program) -> None:
        self.__name__ = program.facts.name
        self.traced = program

    def program(self, out_idx: Sequence[int] = ()) -> Program:
        """The tile program. Its outputs are those of T.empty, which `out_idx` cannot change."""
        if out_idx:
            raise failure(
                "T2T183",
                f"Out index conflict: `{self.__name__}` makes its outputs with T.empty",
                hint="leave out_idx out",
            )
        return self.traced

    def _out_idx(self, program: Program) -> list[int]:
        return output_indices(program)


def prim_func(
    function: FunctionType | None = None, *, eager_jit: bool = False
) -> PrimFunc | Callable[[FunctionType], PrimFunc]:
    """Make a function with typed parameters a kernel."""
    frame = sys._getframe(1)
    if function is None:
        return lambda function: PrimFunc(function, frame)
    return PrimFunc(function, frame)
