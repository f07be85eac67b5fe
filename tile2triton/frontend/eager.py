"""Kernels of the eager style: the decorated function is the kernel and is called with tensors."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Hashable
from typing import Any

from tile2triton.diagnostics import ArgumentError, Diagnostic, TileError, at_node
from tile2triton.frontend.compiled import CompiledKernel, Options
from tile2triton.frontend.declarations import Probe
from tile2triton.frontend.eager_declarations import (
    Declarations,
    declared_parameters,
    find_declarations,
    values_of,
)
from tile2triton.frontend.environment import Captured
from tile2triton.frontend.execution import prepare
from tile2triton.frontend.lazy import cache_key
from tile2triton.frontend.trace import trace_eager
from tile2triton.frontend.values import Dynamic

Launcher = Callable[..., Any]


class EagerKernel:
    """A kernel under @tile2triton.kernel. Calling it with tensors compiles, once, and runs.

    A call after the first costs two look-ups, by the static arguments and by the T.const sizes.
    """

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
        self.tensors = declared_parameters(captured)
        self.statics = tuple(name for name in self.signature.parameters if name not in self.tensors)
        self._kernels: dict[Hashable, CompiledKernel] = {}
        self._plans: dict[Hashable, Launcher] = {}
        self._lock = threading.RLock()
        # Python looks `__call__` up in the type, so the object gets a type of its own.
        body = {"__call__": staticmethod(self._entry()), "__doc__": function.__doc__}
        self.__class__ = type("EagerKernel", (EagerKernel,), body)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel on tensors and static arguments; returns its T.empty tensors."""
        raise AssertionError("every kernel has an entry of its own")

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        """The kernel for these static arguments and T.const sizes: `compile(M=128, block_M=64)`.

        Tensor parameters may be given as `T.Tensor` or as a tensor; their shapes say the sizes.
        """
        try:
            bound = self.signature.bind_partial(
                *arguments,
                **{key: v for key, v in keywords.items() if key in self.signature.parameters},
            )
        except TypeError as error:
            raise self._wrong_call(str(error)) from None
        consts = {k: v for k, v in keywords.items() if k not in self.signature.parameters}
        bound.apply_defaults()
        missing = [name for name in self.statics if name not in bound.arguments]
        if missing:
            raise self._wrong_call(f"missing the argument `{missing[0]}`")
        statics = {name: bound.arguments[name] for name in self.statics}
        declarations = find_declarations(self.captured, statics)
        given = {name: bound.arguments[name] for name in self.tensors if name in bound.arguments}
        known = {name: source for name, source in declarations.consts.items() if source[0] in given}
        sizes = {**values_of(known, given), **consts}
        for name in sizes:
            if name not in declarations.consts and not self._mentions(name):
                raise self._wrong_call(f"unexpected argument `{name}`")
        return self._kernel(statics, sizes)

    def get_kernel_source(self, *arguments: Any, **keywords: Any) -> str:
        """The Triton source of the kernel for these arguments."""
        return self.compile(*arguments, **keywords).triton_source

    def _kernel(self, statics: dict[str, Any], consts: dict[str, int]) -> CompiledKernel:
        key = (cache_key(list(statics.values())), tuple(sorted(consts.items())))
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                program = trace_eager(self.captured, statics, consts)
                kernel = self._kernels[key] = CompiledKernel(program, self.options)
        return kernel

    def _entry(self) -> Launcher:
        """What a call runs: the user's parameters, then a look-up by the static ones."""
        parameters = []
        scope: dict[str, Any] = {"_find": self._plans.get, "_plan": self._plan}
        for name, parameter in self.signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise self._wrong_call(f"`*{name}` cannot be a parameter of a kernel")
            if parameter.default is parameter.empty:
                parameters.append(name)
            else:
                scope[f"_default_{name}"] = parameter.default
                parameters.append(f"{name}=_default_{name}")
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
                parameters.insert(-1, "*")
        statics = "".join(f"{name}, " for name in self.statics)
        tensors = ", ".join(self.tensors)
        name = self.captured.function.__name__
        text = (
            f"def {name}({', '.join(parameters)}):\n"
            f"    try:\n"
            f"        run = _find(({statics}))\n"
            f"    except TypeError:\n"
            f"        run = None\n"
            f"    if run is None:\n"
            f"        run = _plan(({statics}))\n"
            f"    return run({tensors})\n"
        )
        exec(compile(text, f"<entry of {name}>", "exec"), scope)
        return scope[name]  # type: ignore[no-any-return]

    def _plan(self, values: tuple[Any, ...]) -> Launcher:
        """What to run for these static arguments: a launcher, or a look-up of one by sizes."""
        statics = dict(zip(self.statics, values, strict=True))
        with self._lock:
            declarations = find_declarations(self.captured, statics)
            if declarations.consts:
                plan = self._by_sizes(statics, declarations)
            else:
                plan = self._kernel(statics, {}).launcher()
            # With a list among the arguments the kernel itself is cached all the same.
            with contextlib.suppress(TypeError):
                self._plans[values] = plan
        return plan

    def _by_sizes(self, statics: dict[str, Any], declarations: Declarations) -> Launcher:
        """A look-up by the T.const sizes alone, so that run-time sizes never compile anew."""
        launchers: dict[tuple[Any, ...], Launcher] = {}

        def made(key: tuple[Any, ...] | None, *tensors: Any) -> Any:
            given = dict(zip(self.tensors, tensors, strict=True))
            self._refuse_no_tensors(given, declarations)
            launcher = self._kernel(statics, values_of(declarations.consts, given)).launcher()
            result = launcher(*tensors)
            # Only what the launcher takes is kept, so that wrong shapes do not add up.
            if key is not None:
                launchers[key] = launcher
            return result

        tensors = ", ".join(self.tensors)
        text = (
            f"def plan({tensors}):\n"
            f"    try:\n"
            f"        key = ({_key_of_sizes(declarations)})\n"
            f"    except (AttributeError, IndexError, TypeError):\n"
            f"        return _made(None, {tensors})\n"
            f"    run = _find(key)\n"
            f"    if run is None:\n"
            f"        return _made(key, {tensors})\n"
            f"    return run({tensors})\n"
        )
        scope: dict[str, Any] = {"_find": launchers.get, "_made": made}
        exec(compile(text, "<plan>", "exec"), scope)
        return scope["plan"]  # type: ignore[no-any-return]

    def _refuse_no_tensors(self, given: dict[str, Any], declarations: Declarations) -> None:
        """What is no tensor, or has the wrong rank, cannot tell its sizes."""
        for name, _ in declarations.consts.values():
            value = given[name]
            shape = getattr(value, "shape", None)
            if shape is None:
                raise ArgumentError(
                    Diagnostic("T2T410", f"`{name}` must be a tensor, but is {type_name(value)}")
                )
            rank = len(declarations.tensors[name].shape)
            if len(shape) != rank:
                raise ArgumentError(
                    Diagnostic(
                        "T2T410",
                        f"`{name}` must have {rank} dimensions, but has {len(shape)}",
                    )
                )

    def _mentions(self, name: str) -> bool:
        """Whether the kernel has a T.const of this name that no tensor's shape shows."""
        source = prepare(self.captured.function.__code__).source
        return any(
            name in str(getattr(node, "value", "")).replace(",", " ").split()
            for node in _constants(source.tree)
        )

    def _wrong_call(self, message: str) -> ArgumentError:
        return ArgumentError(Diagnostic("T2T411", f"{self.captured.function.__name__}: {message}"))


def _key_of_sizes(declarations: Declarations) -> str:
    """The key of the look-up as code: whole shapes, the cheapest, where nothing is dynamic."""
    parts = []
    for name in dict.fromkeys(name for name, _ in declarations.consts.values()):
        shape = declarations.tensors[name].shape
        if any(isinstance(x, Dynamic) and not isinstance(x, Probe) for x in shape):
            axes = [axis for source, axis in declarations.consts.values() if source == name]
            parts += [f"{name}.shape[{axis}]" for axis in axes]
        else:
            parts.append(f"{name}.shape")
    return "".join(f"{part}, " for part in parts)


def type_name(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _constants(tree: ast.AST) -> list[ast.expr]:
    return [
        node
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".const")
        for node in call.args
    ]
