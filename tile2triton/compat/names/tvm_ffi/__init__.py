"""`tvm_ffi`: how TVM is called from Python, which is not here, and its containers."""

from typing import Any

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent("tvm_ffi", "get_global_func register_global_func from_dlpack structural_equal", COMPILER)
)


class Map(dict[Any, Any]):
    """A dict."""


class Array(tuple[Any, ...]):
    """A tuple."""
