"""`tilelang.language.dtypes`: element types."""

from typing import Any

from tile2triton.frontend.dtypes import OBJECTS, DType
from tile2triton.tilelang import dtype_questions as _questions
from tile2triton.tilelang.dtype_questions import (
    get_tvm_dtype,
    is_f8f6f4_family,
    is_float4,
    is_float4_e2m1_unpacked,
    is_float4_e2m1fn,
    resolve_torch_storage_dtype,
    validate_gemm_ab_dtypes,
)

dtype = DType
AnyDType = Any
_all_dtypes = list(OBJECTS)
globals().update(OBJECTS)

__all__ = [
    "AnyDType",
    "dtype",
    "get_tvm_dtype",
    "is_f8f6f4_family",
    "is_float4",
    "is_float4_e2m1_unpacked",
    "is_float4_e2m1fn",
    "resolve_torch_storage_dtype",
    "validate_gemm_ab_dtypes",
    *OBJECTS,
]


def __getattr__(name: str) -> Any:
    """The tables of torch's types need torch, which is imported when they are asked for."""
    if name in ("_TORCH_DTYPE_TO_STR", "_STR_TO_TORCH_DTYPE"):
        return getattr(_questions, name.removeprefix("_").lower())()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
