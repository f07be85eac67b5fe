"""Triton's own typing and broadcasting rules, over NumPy values instead of IR."""

import functools
import inspect
from typing import Any

import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from .builder import Builder
from .numbers import numpy_dtype
from .values import Value

# What `@triton.jit` makes; the second where TRITON_INTERPRET is set.
KERNELS = (JITFunction, InterpretedFunction)


class Tensor(tl.tensor):  # type: ignore[misc]
    """A block or scalar in an interpreted kernel; its methods need no enclosing compilation."""

    def __init__(self, handle: Value | None, type: Any) -> None:
        super().__init__(_checked(handle, type), type)

    @property
    def T(self) -> Any:
        return tl.permute(self, (1, 0), _semantic=semantic)

    def __repr__(self) -> str:
        return f"{self.dtype}{self.handle.data!r}"


class Descriptor(tl.tensor_descriptor):  # type: ignore[misc]
    """A tensor descriptor in an interpreted kernel."""


class Semantic(TritonSemantic):  # type: ignore[misc]
    tensor = Tensor

    def make_tensor(self, handle: Any, type: Any) -> Tensor:
        return Tensor(handle, type)

    def to_tensor(self, x: Any, check_type: bool = True) -> Any:
        return super().to_tensor(_own(x), check_type)

    def make_tensor_descriptor(self, *args: Any, **kwargs: Any) -> Descriptor:
        made = super().make_tensor_descriptor(*args, **kwargs)
        block = tl.block_type(made.dtype, list(made.block_shape))
        return Descriptor(made.handle, list(made.shape), list(made.strides), block)

    def _has_native_tma(self) -> bool:
        return True


def bind(function: Any) -> Any:
    """A function of Triton's language that may be called without a compiler around it."""

    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("_semantic", semantic)
        return _own(function(*args, **kwargs))

    return bound


def _own(value: Any) -> Any:
    # `extern_elementwise` alone builds a plain tensor instead of asking the rules for one.
    return Tensor(value.handle, value.type) if type(value) is tl.tensor else value


def _checked(handle: Value | None, type: Any) -> Value | None:
    """`handle` with the sign that `type` has; a mismatch beyond that is a mistake of ours.

    Triton names integer types in IR without a sign, so an unsigned result arrives as signed.
    """
    if handle is None:
        return handle
    data = handle.data
    expected = numpy_dtype(type)
    if type.scalar.is_ptr() and not handle.dtype.is_ptr():
        # Triton 3.6's `atomic_min` of floats announces the old value as a pointer.
        return handle
    if data.dtype != expected:
        assert data.dtype.kind in "iu" and data.dtype.itemsize == expected.itemsize, (
            f"a {data.dtype} value where {type} was announced"
        )
        data = data.view(expected)
    shape = tuple(type.shape) if type.is_block() else ()
    assert data.shape == shape, f"a value of shape {data.shape} where {type} was announced"
    return Value(data, type.scalar)


def _bind_methods(cls: type) -> None:
    for name, member in inspect.getmembers(cls):
        if tl.core.is_builtin(member):
            setattr(cls, name, bind(member))
        elif isinstance(member, KERNELS):
            setattr(cls, name, _library_method(member))


def _library_method(function: Any) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        from .language import interpreted

        return interpreted(function)(self, *args, **kwargs)

    return method


builder = Builder()
semantic = Semantic(builder)
_bind_methods(Tensor)
_bind_methods(Descriptor)
