"""Tensors without memory on a GPU that poses as present; small ones keep their values.

A tensor is a fake tensor of torch's: it has a shape, a type and strides. Torch itself takes it for
one on the CPU, since it refuses to differentiate on a GPU whose driver is not there; the device
that the script sees is kept beside it. Beside it too are its values, where they are known at small
cost, so that lengths, offsets and masks can steer the script as they would.

What is not known counts as tensors of ones, see `guesses`; its order is that of random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

# Fake tensors import it, which must happen before anything of `torch.cuda` is replaced.
import torch._dynamo.config
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.utils._mode_utils import no_dispatch

from tile2triton.checking.guesses import UNKNOWN, Guess, guessed

CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)

# Larger tensors have shapes only. Integers are indices and lengths; of floating-point numbers, what
# is small and steers a script are scores.
MOST_ELEMENTS = 1 << 20
MOST_FLOATS = 1 << 16
# Products of matrices with more multiplications have shapes only.
MOST_MULTIPLICATIONS = 1 << 26


@dataclass
class Memory:
    """What views of one storage share: whether its values are known, and what stands for them."""

    known: bool = True
    guess: Guess = UNKNOWN


@dataclass
class Notes:
    """What is known of a fake tensor beside its shape."""

    device: torch.device = CPU
    values: torch.Tensor | None = None
    memory: Memory = field(default_factory=Memory)


def notes_of(tensor: torch.Tensor) -> Notes:
    """The notes on a tensor, which get lost where torch makes a new object for it."""
    found = tensor.__dict__.get("tile2triton_notes")
    if found is None:
        found = tensor.__dict__["tile2triton_notes"] = Notes()
    return found  # type: ignore[no-any-return]


def values_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The values, where they are known."""
    if not isinstance(tensor, FakeTensor):
        return tensor
    notes = notes_of(tensor)
    if notes.values is None or not notes.memory.known:
        return None
    return notes.values


def forget(tensor: torch.Tensor, guess: Guess = UNKNOWN) -> None:
    """From now on the values of the tensor, and of all views of it, are not known."""
    memory = notes_of(tensor).memory
    memory.known = False
    memory.guess = guess


class Tensors(FakeTensorMode):  # type: ignore[misc]
    """Runs torch's operators on shapes, and on values where these are known and few."""

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.nested = False
        # Where the tensors are that are being made from nothing.
        self.device = CPU

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.nested:
            return super().__torch_dispatch__(func, types, args, kwargs)
        self.nested = True
        try:
            with torch._C.DisableTorchFunction():
                return self._run(func, types, args, kwargs)
        finally:
            self.nested = False

    def _run(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        tensors = list(_tensors_in((args, tuple(kwargs.values()))))
        written = list(_written(func, args, kwargs))
        if func is torch.ops.aten._local_scalar_dense.default:
            return scalar_of(args[0])
        values, computed = self._computed(func, args, kwargs, tensors)
        if computed:
            return self._known(values, tensors)
        if func in ORDERING and args[0].numel() <= MOST_ELEMENTS:
            return self._ordered(func, args, kwargs, tensors)
        guess = guessed(func.name(), [_guess_of(x) for x in args])
        try:
            result = super().__torch_dispatch__(func, types, args, kwargs)
        except (
            DataDependentOutputException,
            DynamicOutputShapeException,
            UnsupportedOperatorException,
        ):
            result = self._stand_in(func, types, args, kwargs)
        for tensor in written:
            forget(tensor, guess)
        device = self._device_of(tensors)
        given = {id(x) for x in tensors}
        for tensor in _tensors_in((result,)):
            if isinstance(tensor, FakeTensor) and id(tensor) not in given:
                notes = notes_of(tensor)
                notes.device = device
                if func.is_view:
                    notes.memory = notes_of(args[0]).memory
                else:
                    notes.memory.guess = guess
        return result

    def _known(self, values: Any, tensors: list[torch.Tensor]) -> Any:
        """Fake tensors for values that were computed; an input stands for itself."""
        inputs = {id(values_of(x)): x for x in tensors if isinstance(x, FakeTensor)}
        device = self._device_of(tensors)

        def noted(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) in inputs:
                return inputs[id(value)]
            tensor = self._shape_of(value)
            notes = notes_of(tensor)
            notes.device, notes.values = device, value
            notes.memory = _memory_of(value, tensors)
            return tensor

        return _mapped(noted, values)

    def _ordered(self, func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> Any:
        """The result of sorting what is not known: its indices are those of random numbers."""
        with no_dispatch():
            drawn = torch.rand(tuple(args[0].shape), dtype=torch.float64)
            values = func(drawn, *args[1:], **kwargs)
        result = self._known(values, tensors)
        for tensor in _tensors_in((result,)):
            if tensor.dtype == torch.float64:
                return (self._alike(tensor, args[0].dtype, tensors), *result[1:])
        return result

    def _alike(
        self, tensor: torch.Tensor, dtype: torch.dtype, tensors: list[torch.Tensor]
    ) -> torch.Tensor:
        """A tensor of that shape whose values are not known."""
        made = self._made(tuple(tensor.shape), dtype)
        notes_of(made).device = self._device_of(tensors)
        return made

    def _device_of(self, tensors: list[torch.Tensor]) -> torch.device:
        return next((GPU for x in tensors if is_on_gpu(x)), self.device)

    def _computed(
        self, func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]
    ) -> tuple[Any, bool]:
        """The result of the operator on the values, and whether there is one."""
        if func is torch.ops.prim.device.default or _is_costly(func, args):
            return None, False
        if any(values_of(x) is None or _is_large(x) for x in tensors):
            return None, False
        if not tensors and _elements(args) > MOST_ELEMENTS:
            return None, False
        given, named = _mapped(_value, args), {k: _mapped(_value, x) for k, x in kwargs.items()}
        try:
            with no_dispatch():
                if func in _EMPTY:
                    # What memory held before must not steer a script.
                    result = func(*given, **named).zero_()
                else:
                    result = func(*given, **named)
        except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
            # What is wrong with the call, the shapes will tell; else it is not known.
            return None, False
        if any(_is_large(x) for x in _tensors_in((result,))):
            return None, False
        return result, True

    def _stand_in(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """The largest result of an operator whose shape hangs on values that are not known."""
        if func is ATEN.index.Tensor:
            # A mask is a tensor of indices for each of its dimensions.
            indices = [one for mask in args[1] for one in self._indices(mask)]
            return super().__torch_dispatch__(func, types, (args[0], indices), kwargs)
        if func is ATEN.nonzero.default:
            return self._made((args[0].numel(), args[0].dim()), torch.int64)
        if func is ATEN.masked_select.default:
            return self._made((args[0].numel(),), args[0].dtype)
        return _mapped(self._shape_of, self._of_ones(func, args, kwargs))

    def _indices(self, mask: Any) -> list[Any]:
        if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
            return [mask]
        return [self._made((mask.numel(),), torch.int64) for _ in range(mask.dim())]

    def _made(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return FakeTensor(self, torch.empty(shape, dtype=dtype, device="meta"), CPU)

    def _of_ones(self, func: Any, args: Any, kwargs: Any) -> Any:
        ones, named = _mapped(_ones, args), {k: _mapped(_ones, x) for k, x in kwargs.items()}
        with no_dispatch():
            return func(*ones, **named)

    def _shape_of(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with no_dispatch():
            shape = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta"
            )
        return FakeTensor(self, shape, CPU)


def _is_large(tensor: torch.Tensor) -> bool:
    most = MOST_FLOATS if tensor.dtype.is_floating_point else MOST_ELEMENTS
    return bool(tensor.numel() > most)


def is_on_gpu(tensor: torch.Tensor) -> bool:
    """Whether the script takes the tensor to be on the GPU."""
    return isinstance(tensor, FakeTensor) and notes_of(tensor).device.type == "cuda"


def scalar_of(tensor: torch.Tensor) -> Guess:
    """The one element of a tensor, or the guess for it."""
    values = values_of(tensor)
    if values is not None:
        with no_dispatch():
            return values.item()  # type: ignore[no-any-return]
    return _typed(notes_of(tensor).memory.guess, tensor.dtype)


def array_of(tensor: torch.Tensor) -> torch.Tensor:
    """The values of a tensor, or as many guesses, on the CPU."""
    values = values_of(tensor)
    with no_dispatch():
        if values is not None:
            return values
        return torch.full(tuple(tensor.shape), notes_of(tensor).memory.guess, dtype=tensor.dtype)


def _reduced(tensor: FakeTensor) -> tuple[Any, ...]:
    """What another process makes the tensor from, as `pickle` wants it."""
    values = values_of(tensor)
    with no_dispatch():
        known = None if values is None else values.flatten().tolist()
    # Both may write to it from now on.
    forget(tensor)
    return _received, (tuple(tensor.shape), tensor.dtype, notes_of(tensor).device.type, known)


def _received(
    shape: tuple[int, ...], dtype: torch.dtype, device: str, known: list[Any] | None
) -> torch.Tensor:
    if known is None:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.tensor(known, dtype=dtype, device=device).reshape(shape)


ForkingPickler.register(FakeTensor, _reduced)


def _typed(guess: Guess, dtype: torch.dtype) -> Guess:
    if dtype == torch.bool:
        return bool(guess)
    return float(guess) if dtype.is_floating_point else int(guess)


def _value(value: Any) -> Any:
    return values_of(value) if isinstance(value, torch.Tensor) else value


def _ones(value: Any) -> Any:
    """A tensor of ones: a mask that lets everything through."""
    if not isinstance(value, torch.Tensor):
        return value
    known = values_of(value)
    return torch.ones(tuple(value.shape), dtype=value.dtype) if known is None else known


def _tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _mapped(function: Any, value: Any) -> Any:
    """The function of each leaf of nested tuples and lists."""
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(function, one) for one in value)
    return function(value)


def _memory_of(value: torch.Tensor, tensors: list[torch.Tensor]) -> Memory:
    """The memory of the input that the value is a view of, or new memory."""
    storage = value.untyped_storage()._cdata
    for tensor in tensors:
        given = values_of(tensor)
        if isinstance(tensor, FakeTensor) and given is not None:
            if given.untyped_storage()._cdata == storage:
                return notes_of(tensor).memory
    return Memory()


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    """The arguments that the operator writes to."""
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, torch.Tensor):
                yield one


ATEN = torch.ops.aten
_EMPTY = (
    ATEN.empty.memory_format,
    ATEN.empty_like.default,
    ATEN.empty_strided.default,
    ATEN.new_empty.default,
    ATEN.new_empty_strided.default,
)
_PRODUCTS = (ATEN.mm.default, ATEN.bmm.default, ATEN.addmm.default, ATEN.baddbmm.default)


# What gives indices, and values before them.
ORDERING = (
    ATEN.topk.default,
    ATEN.sort.default,
    ATEN.sort.stable,
    ATEN.argsort.default,
    ATEN.argmax.default,
    ATEN.argmin.default,
)


def _is_costly(func: Any, args: Any) -> bool:
    if func in _PRODUCTS:
        left, right = [x for x in args if isinstance(x, torch.Tensor)][-2:]
        return bool(left.numel() * right.shape[-1] > MOST_MULTIPLICATIONS)
    return "conv" in func.name() or "attention" in func.name()


def _elements(args: Any) -> int:
    """How many elements an operator makes from nothing: its sizes are its first numbers."""
    largest = 1
    for value in args:
        if isinstance(value, (list, tuple)) and all(isinstance(x, int) for x in value):
            largest = max(largest, math.prod(value))
        elif isinstance(value, int):
            largest = max(largest, value)
    return largest


def _guess_of(value: Any) -> Any:
    """The guess for a tensor, a number as it is, and None for what is neither."""
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, FakeTensor):
        return None
    values = values_of(value)
    if values is not None and values.numel() == 1:
        with no_dispatch():
            return values.item()
    return notes_of(value).memory.guess
