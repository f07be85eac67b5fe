"""A kernel of an emitted module, launched on CPU tensors program by program."""

import dataclasses
import functools
import inspect
import linecache
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.backends.amd.compiler import HIPOptions
from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .language import DeviceFunction
from .memory import Memory, Region, region_of
from .numbers import triton_dtype
from .semantic import KERNELS, Descriptor, Tensor, builder, semantic
from .values import DescriptorValue, Value


class InterpreterError(RuntimeError):
    """A kernel failed on the CPU; says in which program and line, and why."""


def interpret(module: ModuleType) -> None:
    """Make each `@triton.jit` function of `module` run on CPU tensors when it is launched."""
    for name, value in list(vars(module).items()):
        if isinstance(value, KERNELS):
            # Where TRITON_INTERPRET is set, Triton makes no parameters.
            parameters = value.params if isinstance(value, JITFunction) else ()
            kept = {p.name for p in parameters if p.do_not_specialize}
            setattr(module, name, Kernel(value.fn, kept))


class Kernel(DeviceFunction):
    """Launched as Triton's kernels are: `kernel[grid](*arguments, num_warps=4)`."""

    def __init__(self, fn: FunctionType, not_specialized: Collection[str] = ()) -> None:
        super().__init__(fn)
        self.not_specialized = not_specialized
        self.__name__ = fn.__name__
        self.signature = inspect.signature(fn)
        self.static = {
            name
            for name, parameter in self.signature.parameters.items()
            if _is_constexpr(parameter.annotation)
        }

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self.run, grid=grid)

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:
        """Run every program of the grid, in order."""
        given = self._arguments(args, kwargs)
        extents = tuple(grid(given)) if callable(grid) else tuple(grid)
        extents = (*extents, *(1,) * (3 - len(extents)))
        regions: list[Region] = []
        converted = {
            name: value if name in self.static else self._converted(name, value, regions)
            for name, value in given.items()
        }
        body = self.body
        launch = builder.launch
        outer = dict(vars(launch))
        launch.memory, launch.grid = Memory(regions), extents
        try:
            with np.errstate(all="ignore"):
                for program in np.ndindex(*extents):
                    launch.program = program
                    body(**converted)
        except Exception as error:
            raise self._failure(error, launch.program) from error
        finally:
            vars(launch).clear()
            vars(launch).update(outer)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in kwargs.items() if name in self.signature.parameters}
        unknown = kwargs.keys() - own.keys() - LAUNCH_OPTIONS
        if unknown:
            raise TypeError(f"{self.__name__}: unknown launch option `{min(unknown)}`")
        bound = self.signature.bind(*args, **own)
        bound.apply_defaults()
        return bound.arguments

    def _converted(self, name: str, value: Any, regions: list[Region]) -> Any:
        declared = self.signature.parameters[name].annotation
        if isinstance(declared, tl.dtype) and isinstance(value, (int, float)):
            return semantic.scalar_constant(value, declared)
        if type(value) is int and name in self.not_specialized:
            return semantic.to_tensor(value)
        return _converted(name, value, regions)

    def _failure(self, error: Exception, program: tuple[int, ...]) -> InterpreterError:
        file = inspect.getsourcefile(self.fn)
        line = None
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        where = f"{file}:{line}" if line else self.__name__
        reason = str(error) or type(error).__name__
        if file and line and not str(error):
            # An assertion is its own message.
            reason += f": {linecache.getline(file, line).strip()}"
        return InterpreterError(f"{where}: {reason} (kernel {self.__name__}, program {program})")


LAUNCH_OPTIONS = {"warmup"} | {
    option.name for cls in (CUDAOptions, HIPOptions) for option in dataclasses.fields(cls)
}


def _is_constexpr(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.rpartition(".")[2] == "constexpr"


def _converted(name: str, value: Any, regions: list[Region]) -> Any:
    """An argument as the kernel sees it: pointers, descriptors and run-time scalars."""
    if isinstance(value, TensorDescriptor):
        return _descriptor(name, value, regions)
    if isinstance(value, torch.Tensor):
        pointer = tl.pointer_type(triton_dtype(value.dtype))
        return Tensor(
            Value(np.asarray(_address(name, value, regions), np.uint64), pointer), pointer
        )
    if isinstance(value, tuple):
        return tuple(_converted(name, item, regions) for item in value)
    if isinstance(value, float):
        return semantic.scalar_constant(value, tl.float32)
    if isinstance(value, (bool, int)):
        # Triton compiles a kernel of its own for an integer that is 1, which is a number there.
        return value if type(value) is int and value == 1 else semantic.to_tensor(value)
    if value is None:
        return None
    raise TypeError(f"argument `{name}` of type {type(value).__name__} cannot enter a kernel")


def _address(name: str, tensor: torch.Tensor, regions: list[Region]) -> int:
    if tensor.device.type != "cpu":
        raise TypeError(f"`{name}` is on {tensor.device}, other arguments are on the CPU")
    region = region_of(name, tensor)
    if region is not None:
        regions.append(region)
    return int(tensor.data_ptr())


def _descriptor(name: str, given: TensorDescriptor, regions: list[Region]) -> Descriptor:
    element = triton_dtype(given.base.dtype)
    value = DescriptorValue(
        _address(name, given.base, regions),
        element,
        tuple(int(extent) for extent in given.shape),
        tuple(int(stride) for stride in given.strides),
        tuple(int(extent) for extent in given.block_shape),
        given.padding == "nan",
        # Triton 3.6 has no such option.
        getattr(given, "round_f32_to_tf32", False),
    )
    shape = [semantic.scalar_constant(extent, tl.int32) for extent in value.shape]
    strides = [semantic.scalar_constant(stride, tl.int64) for stride in value.strides]
    return Descriptor(value, shape, strides, tl.block_type(element, list(value.block)))
