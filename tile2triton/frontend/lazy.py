"""Kernels of the lazy style: a factory with Python parameters that returns a T.prim_func."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Hashable
from typing import Any

from tile2triton.diagnostics import ArgumentError, Diagnostic, TileError
from tile2triton.frontend.cache_keys import cache_key
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.decisions import noting
from tile2triton.frontend.factories import makes_kernels
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.frontend.options import Options
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.frontend.statics import named
from tile2triton.schedule import Schedule, rescheduled
from tile2triton.schedule.tiles import with_tiles
from tile2triton.tilelang.factory import TileLangFactory


class LazyKernel(TileLangFactory):
    """A factory under @tile2triton.kernel. Calling it with its parameters gives the kernel.

    Parameters are kept by type and value, tuples, lists, dicts and dataclasses by what they hold;
    any other object stands for itself, so changing one gives no new kernel.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options,
        program: OperandKernel | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        # What it is if it turns out to make no kernels, but to compute with tensors.
        self.undecided = program
        self.function = function
        self.options = options
        self.signature = inspect.signature(function)
        self._kernels: dict[Hashable, CompiledKernel] = {}
        self._lock = threading.RLock()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The kernel for these parameters, made once. Raises `TileError` for a wrong kernel."""
        program = self.computing(arguments, keywords)
        if program is not None:
            return program(*arguments, **keywords)
        return self.compile(*arguments, **keywords)

    def reference(self, *arguments: Any, **keywords: Any) -> Any:
        """What a call means, of a function that turns out to compute with tensors."""
        program = self.computing(arguments, keywords)
        if program is None:
            raise AttributeError("a factory's kernels have reference meanings, but it has none")
        return program.reference(*arguments, **keywords)

    def computing(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> OperandKernel | None:
        """The program on whole operands that this is, where it makes no kernels.

        It must not run on tensors: it would change them.
        """
        values = (*arguments, *keywords.values())
        if self.undecided is None or not any(
            hasattr(value, "shape") and hasattr(value, "dtype") for value in values
        ):
            return None
        captured = self.undecided.captured
        is_factory = makes_kernels(captured.function, captured.values)
        return None if is_factory else self.undecided

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        """The kernel for these parameters. Raises `TileError` for a wrong kernel."""
        computing = self.computing(arguments, keywords)
        if computing is not None:
            return computing.compile(*arguments, **keywords)
        bound = self._bound(arguments, keywords)
        key = tuple((name, cache_key(value)) for name, value in bound.arguments.items())
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                program = self._made(bound).program(self.options.out_idx or ())
                kernel = self._kernels[key] = CompiledKernel(program, self.options)
        return kernel

    def scheduled(self, schedule: Schedule) -> LazyKernel:
        """The same factory, whose kernels run as another schedule says where it says something."""
        said = rescheduled(self.options.schedule, schedule)
        function = with_tiles(self.function, said)
        program = None if self.undecided is None else self.undecided.scheduled(schedule)
        return LazyKernel(function, dataclasses.replace(self.options, schedule=said), program)

    def get_tir(self, *arguments: Any, **keywords: Any) -> PrimFunc:
        """The T.prim_func for these parameters, which `tile2triton.compile` takes."""
        return self._made(self._bound(arguments, keywords))

    def get_kernel_source(self, *arguments: Any, **keywords: Any) -> str:
        """The Triton source of the kernel for these parameters."""
        return self.compile(*arguments, **keywords).triton_source

    def _bound(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> inspect.BoundArguments:
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentError(
                Diagnostic("T2T411", f"{self.function.__name__}: {error}")
            ) from None
        bound.apply_defaults()
        return bound

    def _made(self, bound: inspect.BoundArguments) -> PrimFunc:
        for name, value in bound.arguments.items():
            bound.arguments[name] = named(name, value)
        # What the factory decides from them holds for every kernel that it makes.
        with noting([]):
            made = self.function(*bound.args, **bound.kwargs)
        if not isinstance(made, PrimFunc):
            raise TileError(
                Diagnostic(
                    "T2T182",
                    f"`{self.function.__name__}` returned no kernel",
                    self.function.__code__.co_filename,
                    self.function.__code__.co_firstlineno,
                    found=(f"returned: {type(made).__name__}",),
                    hint="return the function under @T.prim_func",
                )
            )
        return made
