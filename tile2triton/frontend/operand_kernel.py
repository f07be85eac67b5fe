"""Kernels on whole operands: the function says what is computed, and is called with tensors."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from tile2triton.diagnostics import ArgumentError, at_span
from tile2triton.frontend.builder import Builder, active
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.declarations import Dimensions
from tile2triton.frontend.dtypes import kernel_dtype
from tile2triton.frontend.environment import Captured
from tile2triton.frontend.failures import failure
from tile2triton.frontend.macros import Macro
from tile2triton.frontend.operand_entries import entry_key, operand_entry
from tile2triton.frontend.options import Options
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import plain
from tile2triton.frontend.trace import trace_whole
from tile2triton.frontend.watched import Watched, is_looked_up_alone, value_key, watched
from tile2triton.frontend.whole_operands import WholeOperand
from tile2triton.frontend.whole_programs import Outline, least_alike
from tile2triton.schedule import Schedule, rescheduled
from tile2triton.tilelang.factory import TileLangFactory


class OperandKernel(TileLangFactory):
    """A kernel under @tile2triton.kernel whose function has no T.Kernel.

    Calling it with tensors compiles, once for each kind of shapes, and runs. Called in another such
    kernel, it becomes part of that one.
    """

    __name__: str

    def __init__(self, captured: Captured, options: Options) -> None:
        functools.update_wrapper(self, captured.function)
        self.captured = captured
        self.options = options
        self.signature = inspect.signature(captured.function)
        # The tensors of the first call, whose key is looked up at no cost; other calls take longer.
        self._tensors: tuple[str, ...] | None = None
        self._around: tuple[Watched, ...] = ()
        self._fast: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._known: dict[Hashable, Callable[..., Any]] = {}
        self._kernels: dict[Hashable, list[CompiledKernel]] = {}
        self._macro = Macro(captured)
        self._lock = threading.RLock()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel; returns its result, or a list of several."""
        return self._called(*arguments, **keywords)

    def _called(self, *arguments: Any, **keywords: Any) -> Any:
        """A call whose arguments are new, or that is part of another kernel."""
        builder = active()
        if builder is not None and _has_operands((*arguments, *keywords.values())):
            return self._inlined(builder, arguments, keywords)
        bound = self._bound(arguments, keywords)
        around = watched(self.captured.function)
        key = (
            *(
                (value.shape, value.dtype) if hasattr(value, "shape") else value_key(value)
                for value in bound.values()
            ),
            *(value_key(one.value) for one in around),
        )
        tensors = [value for value in bound.values() if hasattr(value, "shape")]
        known = self._known.get(key)
        if known is not None:
            return known(*tensors)
        kernel = self._kernel(bound)
        launcher = self._known[key] = kernel.launcher()
        result = launcher(*tensors)
        # What is looked up by shapes and types, and was taken once, is not asked for them again.
        self._remember(bound, kernel.launcher(shapes_are_known=True), around)
        return result

    def _inlined(
        self, builder: Builder, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """A call in another kernel, of which it becomes a part."""
        function = self.captured.function
        if function in builder.running:
            raise failure(
                "T2T881",
                f"`{function.__name__}` calls itself, so that it would be a part of itself",
                hint="write a loop: for _ in range(n)",
            )
        builder.running.append(function)
        try:
            return self._macro(*arguments, **keywords)
        finally:
            builder.running.pop()

    def _remember(
        self, bound: dict[str, Any], launcher: Callable[..., Any], around: tuple[Watched, ...]
    ) -> None:
        """Let later calls with such arguments go to the launcher at once."""
        tensors = tuple(name for name, value in bound.items() if hasattr(value, "shape"))
        with self._lock:
            if self._tensors is None:
                self._tensors, self._around = tensors, around
                name = self.captured.function.__name__
                entry = operand_entry(
                    name, self.signature, tensors, around, self._fast.get, self._called
                )
                # Python looks `__call__` up in the type, so the object gets a type of its own.
                body = {"__call__": staticmethod(entry), "__doc__": self.__doc__}
                self.__class__ = type("OperandKernel", (OperandKernel,), body)
            if tensors != self._tensors or around != self._around:
                return
            others = [value for name, value in bound.items() if name not in tensors]
            if all(map(is_looked_up_alone, (*others, *(one.value for one in around)))):
                self._fast[entry_key(bound, tensors, around)] = launcher

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        """The kernel for these arguments: tensors, or `T.Tensor(shape, dtype)` in their place."""
        return self._kernel(self._bound(arguments, keywords))

    def scheduled(self, schedule: Schedule) -> OperandKernel:
        """The same kernel, run as another schedule says where it says something."""
        said = rescheduled(self.options.schedule, schedule)
        return OperandKernel(self.captured, dataclasses.replace(self.options, schedule=said))

    def reference(self, *arguments: Any, **keywords: Any) -> Any:
        """What a call means, on NumPy arrays or CPU tensors: its result, or a tuple of several."""
        bound = self._bound(arguments, keywords)
        program = trace_whole(self.captured, self._outlined(bound))
        kernel = CompiledKernel(program, self.options)
        return kernel.reference(*(value for value in bound.values() if hasattr(value, "shape")))

    def _bound(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise self._wrong_call(str(error)) from None
        bound.apply_defaults()
        if not any(hasattr(value, "shape") for value in bound.arguments.values()):
            raise self._wrong_call(
                "none of the arguments is a tensor",
                "call it with tensors, or compile it with T.Tensor(shape, dtype); a factory of "
                "kernels returns a function under @T.prim_func",
            )
        return dict(bound.arguments)

    def _outlined(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments with an outline in place of each tensor."""
        outlines = {name: _outline(value) for name, value in bound.items()}
        for name, said in self._dimensions.items():
            if isinstance(outlines.get(name), Outline):
                outlines[name] = _checked(name, outlines[name], said)
        _refuse_different(outlines)
        return outlines

    @functools.cached_property
    def _dimensions(self) -> dict[str, Dimensions]:
        """What annotations say of the operands."""
        function = self.captured.function
        environment = {**function.__globals__, **self.captured.values}
        found = {}
        for name, annotation in function.__annotations__.items():
            if type(annotation) is str:
                try:
                    annotation = eval(annotation, environment)
                except Exception:  # an annotation for other tools, which need not have a value
                    continue
            if isinstance(annotation, Dimensions):
                found[name] = annotation
        return found

    def example_shapes(self) -> dict[str, str]:
        """For each parameter a tensor that it could be, as `float16[512,64]`."""
        sizes: dict[str, str] = {}
        made = {}
        for name in self.signature.parameters:
            said = self._dimensions.get(name)
            names = ("", "") if said is None else said.names
            usual = (*("2",) * len(names), "8", "512", "64")[-len(names) :] if names else ()
            extents = [
                one if one.isdigit() else sizes.setdefault(one, size) if one else size
                for one, size in zip(names, usual, strict=True)
            ]
            dtype = "float16" if said is None or said.dtype is None else str(said.dtype)
            made[name] = f"{dtype}[{','.join(extents)}]"
        return made

    def _kernel(self, bound: dict[str, Any]) -> CompiledKernel:
        """A kernel that was made for such shapes, or a new one."""
        outlines = self._outlined(bound)
        with self._lock:
            around = tuple(value_key(one.value) for one in watched(self.captured.function))
            kernels = self._kernels.setdefault((_pattern(outlines), around), [])
            for kernel in reversed(kernels):
                if not _differing(kernel, outlines):
                    return kernel
            # A second size of an extent makes a kernel for all sizes of it.
            free = frozenset().union(*(_differing(one, outlines) for one in kernels))
            program = trace_whole(self.captured, outlines, free)
            kernel = CompiledKernel(program, self.options)
            kernels.append(kernel)
        return kernel

    @property
    def triton_source(self) -> str:
        """The Triton source, where annotations say the shapes."""
        return self._alone("triton_source").triton_source

    def save(self, path: str | Path) -> Path:
        """Write the stand-alone module to a file, where annotations say the shapes."""
        return self._alone("save(path)").save(path)

    def after(self, name: str) -> str:
        """The program after a pass, where annotations say the shapes."""
        return self._alone(f'after("{name}")').after(name)

    def _alone(self, use: str) -> CompiledKernel:
        name = self.captured.function.__name__
        raise self._wrong_call(
            f"its operands must be known for `{use}`",
            f"write `{name}.compile(T.Tensor(shape, dtype), ...).{use}`",
        )

    def _wrong_call(self, message: str, hint: str = "") -> ArgumentError:
        name = self.captured.function.__name__
        return _at_the_call("T2T411", f"{name}: {message}", hint)


def _has_operands(values: tuple[Any, ...]) -> bool:
    return any(isinstance(value, WholeOperand) for value in values)


def _outline(value: Any) -> Any:
    """An outline of a tensor; any other argument is itself."""
    if not hasattr(value, "shape"):
        return value
    return Outline(tuple(int(plain(size)) for size in value.shape), str(kernel_dtype(value.dtype)))


def _checked(name: str, outline: Outline, said: Dimensions) -> Outline:
    """The outline with the names of its extents, if it is of the type that is said."""
    shape = outline.shape
    is_type = said.dtype is None or str(said.dtype) == outline.dtype
    is_shape = len(said.names) == len(shape) and all(
        not one.isdigit() or int(one) == size for one, size in zip(said.names, shape, strict=True)
    )
    if not is_type or not is_shape:
        raise _at_the_call(
            "T2T410",
            f"`{name}` must be {said}, but is {outline.dtype} of shape {shape}",
            "the annotation of the parameter says its dimensions",
        )
    return dataclasses.replace(outline, names=said.names)


def _refuse_different(outlines: dict[str, Any]) -> None:
    """Extents with one name are the same."""
    known: dict[str, tuple[int, str]] = {}
    for name, value in outlines.items():
        if isinstance(value, Outline):
            for one, size in zip(value.names, value.shape, strict=bool(value.names)):
                before, where = known.setdefault(one, (size, name))
                if before != size and not one.isdigit():
                    raise _at_the_call(
                        "T2T410",
                        f"`{one}` is {before} in `{where}`, but {size} in `{name}`",
                        "give extents that may differ names of their own",
                    )


def _at_the_call(code: str, message: str, hint: str) -> ArgumentError:
    """An error of what a kernel is called with, where the user calls it."""
    call = here()
    return ArgumentError(at_span(call.filename, call.span, code, message, hint=hint))


def _pattern(outlines: dict[str, Any]) -> Hashable:
    """What of the arguments a kernel is made for: types, ranks, and which extents are equal."""
    parts: list[Hashable] = []
    seen: dict[int, int] = {1: 0}
    for value in outlines.values():
        if isinstance(value, Outline):
            classes = tuple(seen.setdefault(size, len(seen)) for size in value.shape)
            parts.append((value.dtype, classes, tuple(map(least_alike, value.shape))))
        else:
            parts.append(value_key(value))
    return tuple(parts)


def _differing(kernel: CompiledKernel, outlines: dict[str, Any]) -> set[str]:
    """The constant extents of a kernel that are others in these tensors."""
    facts = kernel.lowered_facts
    tensors = [value for value in outlines.values() if isinstance(value, Outline)]
    return {
        extent.id
        for name, outline in zip(facts.parameters, tensors, strict=True)
        for extent, size in zip(facts.tensors[name].shape, outline.shape, strict=True)
        if isinstance(extent, ast.Name) and facts.constants.get(extent.id, size) != size
    }
