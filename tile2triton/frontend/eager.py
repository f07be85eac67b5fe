"""Kernels of the eager style: the decorated function is the kernel and is called with tensors."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from tile2triton.diagnostics import ArgumentError, Diagnostic, TileError, at_node
from tile2triton.frontend.cache_keys import are_told_by_type, cache_key
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.eager_declarations import (
    Declarations,
    declared_parameters,
    find_declarations,
    mentioned_consts,
    refuse_no_tensors,
    values_of,
)
from tile2triton.frontend.eager_entries import entry_of, look_up_of_sizes
from tile2triton.frontend.entries import Launcher
from tile2triton.frontend.environment import Captured
from tile2triton.frontend.execution import prepare
from tile2triton.frontend.options import Options
from tile2triton.frontend.prim_func import TracedFunc
from tile2triton.frontend.trace import trace_eager
from tile2triton.schedule import Schedule, rescheduled
from tile2triton.schedule.tiles import with_tiles
from tile2triton.tilelang.factory import TileLangFactory


class EagerKernel(TileLangFactory):
    """A kernel under @tile2triton.kernel. Calling it with tensors compiles, once, and runs.

    A call after the first costs two look-ups, by the static arguments and by the T.const sizes.
    Static arguments are kept by type and value, tuples, lists, dicts and dataclasses by what they
    hold; any other object stands for itself, so changing one gives no new kernel.
    """

    __name__: str

    def __init__(self, captured: Captured, options: Options) -> None:
        function = captured.function
        functools.update_wrapper(self, function)
        self.captured = captured
        self.options = options
        self.signature = inspect.signature(function)
        if options.out_idx is not None:
            tree = prepare(function.__code__).source.tree
            raise TileError(
                at_node(
                    tree,
                    function.__code__.co_filename,
                    "T2T183",
                    "out_idx belongs to the lazy style, but this function is itself the kernel",
                    hint="make outputs with T.empty and return them",
                )
            )
        for name, parameter in self.signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise self._wrong_call(f"`*{name}` cannot be a parameter of a kernel")
        self.tensors = declared_parameters(captured)
        self.statics = tuple(name for name in self.signature.parameters if name not in self.tensors)
        self._kernels: dict[Hashable, CompiledKernel] = {}
        # By values and types, for arguments of which these say all; by `cache_key`, for any.
        self._plans: dict[Hashable, Launcher] = {}
        self._plans_by_key: dict[Hashable, Launcher] = {}
        self._lock = threading.RLock()
        # Python looks `__call__` up in the type, so the object gets a type of its own.
        entry = entry_of(
            function.__name__,
            self.signature,
            self.statics,
            self.tensors,
            self._plans.get,
            self._plan,
        )
        body = {"__call__": staticmethod(entry), "__doc__": function.__doc__}
        self.__class__ = type("EagerKernel", (EagerKernel,), body)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel on tensors and static arguments; returns its T.empty tensors."""
        raise AssertionError("every kernel has an entry of its own")

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        """The kernel for these static arguments and T.const sizes: `compile(M=128, block_M=64)`.

        Tensor parameters may be given as `T.Tensor` or as a tensor; their shapes say the sizes.
        """
        return self._compiled(*self._bound(self.signature.bind_partial, arguments, keywords))

    def scheduled(self, schedule: Schedule) -> EagerKernel:
        """The same kernel, run as another schedule says where it says something."""
        said = rescheduled(self.options.schedule, schedule)
        captured = dataclasses.replace(
            self.captured, function=with_tiles(self.captured.function, said)
        )
        return EagerKernel(captured, dataclasses.replace(self.options, schedule=said))

    def get_tir(self, *arguments: Any, **keywords: Any) -> TracedFunc:
        """The tile program for these arguments, which `tile2triton.compile` takes."""
        return TracedFunc(self.compile(*arguments, **keywords).program)

    def get_kernel_source(self, *arguments: Any, **keywords: Any) -> str:
        """The Triton source of the kernel for these arguments."""
        return self.compile(*arguments, **keywords).triton_source

    @property
    def triton_source(self) -> str:
        """The Triton source, where no argument is needed to know it."""
        return self._compiled_alone("triton_source").triton_source

    def save(self, path: str | Path) -> Path:
        """Write the stand-alone module to a file, where no argument is needed to know it."""
        return self._compiled_alone("save(path)").save(path)

    def after(self, name: str) -> str:
        """The program after a pass, where no argument is needed to know it."""
        return self._compiled_alone(f'after("{name}")').after(name)

    def reference(self, *arguments: Any, **keywords: Any) -> Any:
        """What a call means, on NumPy arrays or CPU tensors: its output, a tuple of several, None.

        The sizes are those of the arrays, as they are those of the tensors in a call.
        """
        bound, consts = self._bound(self.signature.bind, arguments, keywords)
        kernel = self._compiled(bound, consts)
        return kernel.reference(*(bound.arguments[name] for name in self.tensors))

    def _bound(
        self,
        bind: Callable[..., inspect.BoundArguments],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> tuple[inspect.BoundArguments, dict[str, int]]:
        """The arguments by parameter, with all static ones, and the sizes given by name."""
        own = {key: v for key, v in keywords.items() if key in self.signature.parameters}
        try:
            bound = bind(*arguments, **own)
        except TypeError as error:
            raise self._wrong_call(str(error)) from None
        bound.apply_defaults()
        missing = [name for name in self.statics if name not in bound.arguments]
        if missing:
            raise self._wrong_call(f"missing the argument `{missing[0]}`")
        return bound, {key: v for key, v in keywords.items() if key not in own}

    def _compiled(self, bound: inspect.BoundArguments, consts: dict[str, int]) -> CompiledKernel:
        statics = {name: bound.arguments[name] for name in self.statics}
        declarations = find_declarations(self.captured, statics)
        given = {name: bound.arguments[name] for name in self.tensors if name in bound.arguments}
        refuse_no_tensors(given, declarations)
        known = {
            name: source
            for name, source in declarations.consts.items()
            if source.parameter in given
        }
        sizes = {**values_of(known, given), **consts}
        mentioned = {*declarations.consts, *mentioned_consts(self.captured)}
        for name in sizes:
            if name not in mentioned:
                raise self._wrong_call(f"unexpected argument `{name}`")
        return self._kernel(statics, sizes)

    def _compiled_alone(self, use: str) -> CompiledKernel:
        """The kernel for the defaults; it has no T.const sizes. `use` is what it is needed for."""
        parameters = self.signature.parameters
        missing = [
            name for name in self.statics if parameters[name].default is inspect.Parameter.empty
        ]
        if not missing:
            statics = {name: parameters[name].default for name in self.statics}
            consts = find_declarations(self.captured, statics).consts
            if not consts:
                return self._kernel(statics, {})
            missing = list(consts)
        names = dict.fromkeys([*missing, *mentioned_consts(self.captured)])
        name = self.captured.function.__name__
        values = ", ".join(f"{one}=..." for one in names)
        raise self._wrong_call(
            f"{', '.join(f'`{one}`' for one in names)} must be known for `{use}`",
            hint=f"write `{name}.compile({values}).{use}`",
        )

    def _kernel(self, statics: dict[str, Any], consts: dict[str, int]) -> CompiledKernel:
        key = (cache_key(list(statics.values())), cache_key(sorted(consts.items())))
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                program = trace_eager(self.captured, statics, consts)
                kernel = self._kernels[key] = CompiledKernel(program, self.options)
        return kernel

    def _plan(self, values: tuple[Any, ...]) -> Launcher:
        """What to run for these static arguments: a launcher, or a look-up of one by sizes."""
        key = cache_key(values)
        known = self._plans_by_key.get(key)
        if known is not None:
            return known
        statics = dict(zip(self.statics, values, strict=True))
        with self._lock:
            declarations = find_declarations(self.captured, statics)
            if declarations.consts:
                plan = self._by_sizes(statics, declarations)
            else:
                plan = self._kernel(statics, {}).launcher()
            self._plans_by_key[key] = plan
            if are_told_by_type(values):
                self._plans[(*values, *map(type, values))] = plan
        return plan

    def _by_sizes(self, statics: dict[str, Any], declarations: Declarations) -> Launcher:
        """A look-up by the T.const sizes alone, so that run-time sizes never compile anew."""
        launchers: dict[tuple[Any, ...], Launcher] = {}

        def made(key: tuple[Any, ...] | None, *tensors: Any) -> Any:
            given = dict(zip(self.tensors, tensors, strict=True))
            refuse_no_tensors(given, declarations)
            launcher = self._kernel(statics, values_of(declarations.consts, given)).launcher()
            result = launcher(*tensors)
            # Only what the launcher takes is kept, so that wrong shapes do not add up.
            if key is not None:
                launchers[key] = launcher
            return result

        return look_up_of_sizes(self.tensors, declarations, launchers.get, made)

    def _wrong_call(self, message: str, hint: str = "") -> ArgumentError:
        name = self.captured.function.__name__
        return ArgumentError(Diagnostic("T2T411", f"{name}: {message}", hint=hint))
