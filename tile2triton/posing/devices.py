"""On which device a tensor counts as being, where all of them live on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
# What the attribute of a tensor is called that counts as being on the GPU.
MARK = "_tile2triton_on_gpu"


class Devices(TorchFunctionMode):  # type: ignore[misc]
    """Makes on the CPU what a program asks for on a GPU, and remembers where it would be.

    Results are where what they are made of is, so that a program sees the copies and the devices
    that it would see with a GPU.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        answer = ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **kwargs)
        given = list(_tensors((*args, *kwargs.values())))
        place = kwargs.get("device")
        if place is None and func in _device_constructors() and not given:
            # What is made from nothing goes where `set_default_device` says.
            place = torch.utils._device.CURRENT_DEVICE or CPU
        if place is None:
            is_there = any(map(is_on_gpu, given))
        else:
            place = device_of(place)
            is_there = place == GPU
            kwargs = {**kwargs, "device": CPU if is_there else place}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        result = func(*args, **kwargs)
        known = set(map(id, given))
        for one in _tensors((result,)):
            if id(one) not in known:
                mark(one, is_there)
        return result


def is_on_gpu(tensor: torch.Tensor) -> bool:
    return MARK in tensor.__dict__


def mark(tensor: torch.Tensor, is_there: bool = True) -> torch.Tensor:
    """Let a tensor count as being on the GPU, or on the CPU."""
    if is_there:
        tensor.__dict__[MARK] = True
    else:
        tensor.__dict__.pop(MARK, None)
    return tensor


def device_of(place: Any) -> torch.device:
    """A device as torch names it; there is one GPU."""
    device = torch.device("cuda", place) if type(place) is int else torch.device(place)
    return GPU if device.type == "cuda" else device


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor that is moved is another one; one that is there already is itself."""
    if is_on_gpu(tensor) == (device == GPU):
        return tensor
    return mark(tensor.clone(), device == GPU)


def _to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """`Tensor.to`, whose first argument may be a device, a type or another tensor."""
    other = kwargs.pop("other", None)
    if args and isinstance(args[0], torch.Tensor):
        other, args = args[0], args[1:]
    place = kwargs.pop("device", None)
    if other is not None:
        place = _device_of(other)
        args = (other.dtype, *args)
    elif args and (args[0] is None or isinstance(args[0], (str, torch.device, int))):
        place, args = args[0], args[1:]
    device = _device_of(tensor) if place is None else device_of(place)
    if device.type not in ("cpu", "cuda"):
        return tensor.to(device, *args, **kwargs)
    if args or kwargs:
        if "dtype" not in kwargs and not (args and isinstance(args[0], torch.dtype)):
            args = (tensor.dtype, *args)
        changed = tensor.to(*args, **kwargs)
        if changed is not tensor:
            return mark(changed, device == GPU)
    return _moved(tensor, device)


def _array(read: Callable[..., Any]) -> Callable[..., Any]:
    def array(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if is_on_gpu(tensor):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        return read(tensor, *args, **kwargs)

    return array


def _set_data(tensor: torch.Tensor, new: torch.Tensor) -> None:
    torch.Tensor.data.__set__(tensor, new)
    mark(tensor, is_on_gpu(new))


def _device_of(tensor: torch.Tensor) -> torch.device:
    own: torch.device = torch.Tensor.device.__get__(tensor)
    return GPU if is_on_gpu(tensor) else own


ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.device.__get__: _device_of,
    torch.Tensor.is_cuda.__get__: is_on_gpu,
    torch.Tensor.is_cpu.__get__: lambda tensor: _device_of(tensor) == CPU,
    torch.Tensor.get_device: lambda tensor: 0 if is_on_gpu(tensor) else -1,
    torch.Tensor.to: _to,
    torch.Tensor.cuda: lambda tensor, *_, **__: _moved(tensor, GPU),
    torch.Tensor.cpu: lambda tensor, *_, **__: _moved(tensor, CPU),
    torch.Tensor.numpy: _array(torch.Tensor.numpy),
    torch.Tensor.__array__: _array(torch.Tensor.__array__),
    torch.Tensor.data.__set__: _set_data,
    torch.Tensor.pin_memory: lambda tensor, *_, **__: tensor,
    torch.Tensor.is_pinned: lambda tensor, *_, **__: False,
    torch.Tensor.record_stream: lambda tensor, *_: None,
}
