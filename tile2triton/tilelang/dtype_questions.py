"""Questions about element types: which 8-bit float a GPU has, what torch calls a type."""

from __future__ import annotations

from typing import Any, Literal

from tile2triton.frontend.dtypes import OBJECTS, DType

FloatFormat = Literal["e4m3", "e5m2"]


def get_tvm_dtype(value: Any) -> DType:
    """The element type in any of its spellings."""
    return DType(value)


def is_float4_e2m1fn(value: Any) -> bool:
    """Whether it is the 4-bit float, two to a byte."""
    return DType.is_float4_e2m1fn(DType(value))


def is_float4_e2m1_unpacked(value: Any) -> bool:
    """Whether it is the 4-bit float, one to a byte."""
    return DType.is_float4_e2m1_unpacked(DType(value))


def is_float4(value: Any) -> bool:
    """Whether it is a 4-bit float, packed or not."""
    return DType(value).is_float4()


def resolve_torch_storage_dtype(value: Any) -> DType:
    """The element type of the torch tensors that hold such values."""
    return DType(DType(value).torch_name())


def determine_fp8_type(fp8_format: FloatFormat = "e4m3") -> DType:
    """The 8-bit float of this machine's GPU: AMD's before the MI350 has its own."""
    import torch

    if fp8_format not in ("e4m3", "e5m2"):
        raise ValueError(f"an 8-bit float is e4m3 or e5m2, not {fp8_format}")
    common = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}[fp8_format]
    if torch.version.hip is None:
        return OBJECTS[common]
    arch = ""
    if torch.cuda.is_available():
        arch = str(torch.cuda.get_device_properties(0).gcnArchName)
    return OBJECTS[common if arch.startswith("gfx950") else f"float8_{fp8_format}fnuz"]


def determine_torch_fp8_type(fp8_format: FloatFormat = "e4m3") -> Any:
    """The same as torch's type."""
    return determine_fp8_type(fp8_format).as_torch()


def torch_dtype_to_str() -> dict[Any, str]:
    """Our names of torch's types."""
    return {kind: name for name, kind in str_to_torch_dtype().items()}


def str_to_torch_dtype() -> dict[str, Any]:
    """Torch's types by our names."""
    import torch

    return {
        name: kind
        for name in dict.fromkeys(str(one) for one in OBJECTS.values())
        if (kind := getattr(torch, name, None)) is not None
    }
