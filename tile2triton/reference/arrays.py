"""Arguments of a call as NumPy arrays that share their memory, torch tensors included."""

import ctypes
import importlib
import math
from typing import Any

import numpy as np

from rewrites import dtypes
from tile2triton.reference.values import Value, cast, numpy_dtype


def scalar(name: str, value: Any, dtype: str) -> Value:
    """One number that the caller passed, once it is one of this type, as a launch asks too."""
    kind = dtypes.BY_NAME[dtype].kind
    if kind == "float":
        fits, words = isinstance(value, (int, float)), "a float"
    elif kind == "bool":
        fits, words = type(value) is bool, "a bool"
    else:
        fits, words = type(value) is int, "an int"
    if not fits:
        raise TypeError(f"{name} must be {words}, found {type(value).__name__}")
    if words == "an int":
        limits = np.iinfo(numpy_dtype(dtype))
        if not limits.min <= value <= limits.max:
            raise ValueError(f"{name} must fit {dtype}, found {value}")
    return cast(value, dtype)


def address(name: str, value: Any) -> Value:
    """Where the memory starts that a caller passed as an address or as a tensor."""
    if isinstance(value, np.ndarray):
        return np.int64(value.ctypes.data)
    if type(value).__module__.partition(".")[0] == "torch":
        value = value.data_ptr()
    if type(value) is not int:
        raise TypeError(f"{name} must be an address or a tensor, found {type(value).__name__}")
    return np.int64(value)


def array_at(start: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
    """The memory at an address, which nobody checks; `strides` in elements, or () for none."""
    kind = numpy_dtype(dtype)
    steps = strides or tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    last = sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    if min(shape, default=1) < 1:
        return np.zeros(shape, kind)
    raw = (ctypes.c_uint8 * ((last + 1) * kind.itemsize)).from_address(start)
    whole = np.ctypeslib.as_array(raw).view(kind)
    return np.lib.stride_tricks.as_strided(
        whole, shape, tuple(step * kind.itemsize for step in steps), writeable=True
    )


class Argument:
    """One tensor that the caller passed; `array` is what the interpreter works on."""

    def __init__(self, name: str, value: Any, dtype: str) -> None:
        self.value = value
        self.is_torch = type(value).__module__.partition(".")[0] == "torch"
        if value is None:
            raise TypeError(f"{name} is None, but a tensor of {dtype} is needed.")
        self.array = _from_torch(value) if self.is_torch else np.asarray(value)
        if self.array.dtype != numpy_dtype(dtype):
            raise TypeError(f"{name} has dtype {self.array.dtype}, but {dtype} is needed.")
        if not self.is_torch and not isinstance(value, np.ndarray):
            self.array = np.array(self.array)

    def stride(self, axis: int) -> int:
        """How many elements lie between neighbours."""
        return self.array.strides[axis] // self.array.itemsize

    def write_back(self) -> None:
        """Bring what the program wrote to a tensor on a device; on the CPU memory is shared."""
        if self.is_torch and self.value.device.type != "cpu":
            self.value.copy_(_to_torch(self.array))


def _from_torch(tensor: Any) -> np.ndarray[Any, Any]:
    torch = importlib.import_module("torch")
    name = str(tensor.dtype).removeprefix("torch.")
    host = tensor.detach().cpu()
    if name in dtypes.BY_NAME and dtypes.is_float(name) and dtypes.bits(name) < 32:
        # NumPy does not know torch's small floats; their bits it does.
        bits = torch.uint8 if dtypes.bits(name) == 8 else torch.int16
        array: np.ndarray[Any, Any] = host.view(bits).numpy().view(numpy_dtype(name))
        return array
    whole: np.ndarray[Any, Any] = host.numpy()
    return whole


def _to_torch(array: np.ndarray[Any, Any]) -> Any:
    torch = importlib.import_module("torch")
    name = str(array.dtype.name)
    if dtypes.is_float(name) and dtypes.bits(name) < 32:
        bits = np.dtype(f"i{array.dtype.itemsize}") if array.dtype.itemsize > 1 else np.dtype("u1")
        return torch.from_numpy(array.view(bits)).view(getattr(torch, name))
    return torch.from_numpy(array)


def to_torch(array: np.ndarray[Any, Any]) -> Any:
    """An output of the reference as a torch tensor that shares its memory."""
    return _to_torch(array)
