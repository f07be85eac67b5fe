"""What a script says to torch, answered for a GPU that is not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_flatten

from tile2triton.checking.events import Tell
from tile2triton.checking.guesses import UNKNOWN
from tile2triton.checking.tensors import (
    CPU,
    GPU,
    Tensors,
    array_of,
    is_on_gpu,
    notes_of,
    scalar_of,
    values_of,
)

Handler = Callable[..., Any]


class Counts:
    """Tells of what was not done as on a GPU."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def comparison(self) -> None:
        """Two tensors were not compared."""
        self.tell({"event": "compared"})

    def guess(self, place: str) -> None:
        """A value that steered the script was guessed."""
        self.tell({"event": "guessed", "at": place})


class Calls(TorchFunctionMode):  # type: ignore[misc]
    """Answers calls of torch; devices are kept beside the tensors, see `tensors`."""

    def __init__(self, tensors: Tensors, counts: Counts) -> None:
        super().__init__()
        self.tensors = tensors
        self.counts = counts
        self.default = CPU
        # Whether a call is being answered, in which torch would not ask again.
        self.answering = False
        self.handlers: dict[Any, Handler] = {
            torch.Tensor.device.__get__: lambda x: _device_of(x),
            torch.Tensor.is_cuda.__get__: lambda x: _device_of(x).type == "cuda",
            torch.Tensor.is_cpu.__get__: lambda x: _device_of(x).type == "cpu",
            torch.Tensor.get_device: lambda x: 0 if is_on_gpu(x) else -1,
            torch.Tensor.cuda: lambda x, *_, **__: self._moved(x, GPU),
            torch.Tensor.cpu: lambda x, *_, **__: self._moved(x, CPU),
            torch.Tensor.to: self._to,
            torch.Tensor.item: self._item,
            torch.Tensor.__bool__: lambda x: bool(self._item(x)),
            torch.Tensor.__int__: lambda x: int(self._item(x)),
            torch.Tensor.__float__: lambda x: float(self._item(x)),
            torch.Tensor.__index__: lambda x: int(self._item(x)),
            torch.Tensor.tolist: self.tolist,
            torch.Tensor.numpy: self._array,
            torch.Tensor.__array__: self._array,
            torch.Tensor.grad.__get__: _gradient,
            torch.Tensor.data_ptr: _address,
            torch.Tensor.pin_memory: lambda x, *_, **__: x,
            torch.Tensor.is_pinned: lambda x, *_, **__: False,
            torch.Tensor.record_stream: lambda x, *_: None,
            torch.Tensor.__repr__: _described,
            torch.Tensor.__format__: lambda x, form: self._formatted(x, form),
            torch.tensor: lambda data, **options: self._from(torch.tensor, data, options),
            torch.as_tensor: lambda data, **options: self._from(torch.as_tensor, data, options),
            torch.Tensor.new_tensor: self._new_tensor,
            torch.Tensor.data.__set__: _set_data,
            torch.allclose: lambda a, b, *_, **__: self._compared(a, b),
            torch.Tensor.allclose: lambda a, b, *_, **__: self._compared(a, b),
            torch.equal: lambda a, b: a.shape == b.shape and self._compared(a, b),
            torch.Tensor.equal: lambda a, b: a.shape == b.shape and self._compared(a, b),
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before, self.answering = self.answering, True
        try:
            return self._answer(func, args, kwargs or {})
        finally:
            self.answering = before

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        """The backward pass, with the script's own functions in it answered as elsewhere."""
        if not self.answering:
            return _as_ones(_run_backward(*args, **kwargs))
        self.answering = False
        try:
            with self:
                return _as_ones(_run_backward(*args, **kwargs))
        finally:
            self.answering = True

    def _answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        handler = self.handlers.get(func)
        if handler is not None:
            return handler(*args, **kwargs)
        _refuse_two_devices(func, args, kwargs)
        device = kwargs.get("device")
        if device is None and self.default != CPU and func in _device_constructors():
            device = self.default
        if device is None:
            return func(*args, **kwargs)
        return self._made_on(torch.device(device), func, args, {**kwargs, "device": CPU})

    def set_default_device(self, device: Any) -> None:
        self.default = CPU if device is None else _numbered(torch.device(device))

    def _made_on(self, device: torch.device, func: Any, args: Any, kwargs: Any) -> Any:
        before, self.tensors.device = self.tensors.device, _numbered(device)
        try:
            result = func(*args, **kwargs)
        finally:
            self.tensors.device = before
        given = {id(x) for x in tree_flatten((args, kwargs))[0]}
        for one in tree_flatten(result)[0]:
            if isinstance(one, FakeTensor) and id(one) not in given:
                notes_of(one).device = _numbered(device)
        return result

    def _from(self, func: Any, data: Any, options: dict[str, Any]) -> Any:
        """A tensor of numbers, among which may be tensors of one element."""
        if not isinstance(data, torch.Tensor):
            data = self._numbers(data)
        device = options.pop("device", None) or (
            _device_of(data) if isinstance(data, torch.Tensor) else self.default
        )
        return self._made_on(torch.device(device), func, (data,), options)

    def _new_tensor(self, tensor: torch.Tensor, data: Any, **options: Any) -> Any:
        given = {"device": _device_of(tensor), "dtype": tensor.dtype, **options}
        return self._from(torch.tensor, data, given)

    def _numbers(self, data: Any) -> Any:
        if isinstance(data, (list, tuple)):
            return [self._numbers(one) for one in data]
        return self._item(data) if isinstance(data, FakeTensor) and data.dim() == 0 else data

    def _moved(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        device = _numbered(device)
        if _device_of(tensor) == device:
            return tensor
        return self._made_on(device, torch.Tensor.clone, (tensor,), {})

    def _to(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        places = [*args[:1], kwargs.get("device"), kwargs.get("other")]
        device: torch.device | None = None
        for place in places:
            if isinstance(place, torch.Tensor):
                device = _device_of(place)
            elif isinstance(place, (torch.device, str, int)) and not isinstance(place, bool):
                device = torch.device("cuda", place) if type(place) is int else torch.device(place)
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0].dtype, *args[1:])
        elif args and device is not None and kwargs.get("device") is None:
            args = args[1:]
        named = {key: value for key, value in kwargs.items() if key not in ("device", "other")}
        if isinstance(kwargs.get("other"), torch.Tensor):
            named["dtype"] = kwargs["other"].dtype
        result = torch.Tensor.to(tensor, *args, **named) if args or named else tensor
        return result if device is None else self._moved(result, device)

    def _item(self, tensor: torch.Tensor) -> Any:
        if tensor.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar"
            )
        self._guessed(tensor)
        return scalar_of(tensor)

    def tolist(self, tensor: torch.Tensor) -> Any:
        self._guessed(tensor)
        values = array_of(tensor)
        with no_dispatch():
            return values.tolist()

    def _array(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if is_on_gpu(tensor):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        self._guessed(tensor)
        values = array_of(tensor)
        with torch._C.DisableTorchFunction(), no_dispatch():
            array = values.numpy()
        return array.astype(args[0]) if args and args[0] is not None else array

    def _guessed(self, tensor: torch.Tensor) -> None:
        if values_of(tensor) is None:
            self.counts.guess(_place())

    def _compared(self, left: Any, right: Any) -> bool:
        if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
            return True
        self.counts.comparison()
        # Raises where the shapes cannot go together, as the comparison would.
        torch.broadcast_shapes(tuple(left.shape), tuple(right.shape))
        return True

    def _formatted(self, tensor: torch.Tensor, form: str) -> str:
        if tensor.dim() == 0:
            return format(scalar_of(tensor), form)
        return _described(tensor)


def assert_close(counts: Counts) -> Callable[..., None]:
    """`torch.testing.assert_close` of shapes and types; values are counted and not compared."""

    def compare(actual: Any, expected: Any, *_: Any, **options: Any) -> None:
        if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
            assert len(actual) == len(expected), "The length of the sequences mismatch"
            for one, other in zip(actual, expected, strict=True):
                compare(one, other, **options)
            return
        if not isinstance(actual, torch.Tensor) or not isinstance(expected, torch.Tensor):
            return
        counts.comparison()
        for name in ("shape", "dtype", "device"):
            if name != "shape" and options.get(f"check_{name}") is False:
                continue
            one, other = getattr(actual, name), getattr(expected, name)
            if one != other:
                raise AssertionError(
                    f"The values for attribute '{name}' do not match: {one} != {other}."
                )

    return compare


@contextmanager
def answering(counts: Counts) -> Iterator[None]:
    """Let torch's calls be answered on this thread, and `assert_close` everywhere."""
    tensors = Tensors()

    def device(tensor: FakeTensor) -> torch.device:
        return own_device(tensor) if tensors.nested else notes_of(tensor).device

    calls = Calls(tensors, counts)
    own_device = FakeTensor.device.fget
    replaced = (
        (FakeTensor, "device", property(device)),
        (FakeTensor, "tolist", lambda tensor: calls.tolist(tensor)),
        (torch.testing, "assert_close", assert_close(counts)),
        (torch, "inference_mode", _inference_mode),
        (torch, "set_default_device", calls.set_default_device),
        (torch, "get_default_device", lambda: calls.default),
        (torch.autograd, "_engine_run_backward", calls.run_backward),
        (torch.utils, "swap_tensors", _set_data),
    )
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in replaced]
    for owner, name, value in replaced:
        setattr(owner, name, value)
    try:
        with tensors, calls:
            yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _gradient(tensor: torch.Tensor) -> torch.Tensor | None:
    return _as_ones((torch.Tensor.grad.__get__(tensor),))[0]


def _as_ones(gradients: Any) -> Any:
    """Gradients that are not known count as ones like other results, whatever they are sums of."""
    for one in gradients or ():
        if isinstance(one, FakeTensor) and values_of(one) is None:
            notes_of(one).memory.guess = UNKNOWN
    return gradients


def _inference_mode(mode: Any = True) -> Any:
    """No gradients: fake tensors take no part in the rest of what it means."""
    if callable(mode):
        return torch.no_grad()(mode)
    return torch.set_grad_enabled(torch.is_grad_enabled() and not mode)


def _set_data(tensor: torch.Tensor, new: torch.Tensor) -> None:
    torch.Tensor.data.__set__(tensor, new)
    if isinstance(new, FakeTensor) and isinstance(tensor, FakeTensor):
        tensor.__dict__["tile2triton_notes"] = notes_of(new)


def _device_of(tensor: Any) -> torch.device:
    return notes_of(tensor).device if isinstance(tensor, FakeTensor) else CPU


def _numbered(device: torch.device) -> torch.device:
    return GPU if device.type == "cuda" else device


def _address(tensor: torch.Tensor) -> int:
    """An address of its own for each storage, at a multiple of 256 bytes."""
    with torch._C.DisableTorchFunction():
        start = tensor.untyped_storage()._cdata * 256
        return int(start + tensor.storage_offset() * tensor.element_size())


def _described(tensor: torch.Tensor, **_: Any) -> str:
    values = values_of(tensor)
    if values is not None and isinstance(tensor, FakeTensor) and values.numel() <= 1000:
        with torch._C.DisableTorchFunction(), no_dispatch():
            return repr(values)
    place = f", device='{_device_of(tensor)}'"
    return f"tensor(..., size={tuple(tensor.shape)}, dtype={tensor.dtype}{place})"


def _refuse_two_devices(func: Any, args: Any, kwargs: Any) -> None:
    """As torch does, unless the tensor on the CPU is a scalar or an index."""
    if getattr(func, "__name__", "") not in _ARITHMETIC:
        return
    tensors = [x for x in args if isinstance(x, FakeTensor) and x.dim() > 0]
    places = {str(_device_of(x)) for x in tensors}
    if len(places) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(sorted(places))}!"
        )


_run_backward = torch.autograd._engine_run_backward
_ARITHMETIC = frozenset(
    "add sub mul div matmul mm bmm __add__ __sub__ __mul__ __truediv__ __matmul__ where maximum "
    "minimum cat stack eq ne lt le gt ge".split()
)


def _place() -> str:
    """The line of the script that asked."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and "/tile2triton/" not in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"
