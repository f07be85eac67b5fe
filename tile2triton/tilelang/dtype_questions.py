"""Questions about element types: which 8-bit float a GPU has, what torch calls a type."""

from __future__ import annotations

from typing import Any, Literal

from tile2triton.frontend.dtypes import OBJECTS, DType
from tile2triton.frontend.failures import failure
from tile2triton.frontend.foreign_dtypes import is_vector

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


def is_f8f6f4_family(value: Any) -> bool:
    """Whether it is a float of 8, 6 or 4 bits, which Blackwell multiplies with each other."""
    return str(DType(value)).startswith(("float8", "float6", "float4")) and not _is_vector(value)


def validate_gemm_ab_dtypes(
    a_dtype: Any, b_dtype: Any, *, a_in_tmem: bool = False, allow_f8f6f4_mixed: bool = False
) -> None:
    """Refuse, with a ValueError, operands of a product whose types may not be mixed."""
    are_narrow = is_f8f6f4_family(a_dtype) and is_f8f6f4_family(b_dtype)
    if a_in_tmem or DType(a_dtype) == DType(b_dtype) or (allow_f8f6f4_mixed and are_narrow):
        return
    raise failure(
        "T2T627",
        f"the operands of a product have the types {a_dtype} and {b_dtype}, which do not mix",
        hint="cast one of them, such as with T.copy into a tile of the other's type",
    )


def _is_vector(value: Any) -> bool:
    name = str(DType(value))
    return name != "float4_e2m1fnx2" and is_vector(name)


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
