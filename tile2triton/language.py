"""The language: `import tile2triton.language as T`."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from tile2triton.frontend import operators as _operators
from tile2triton.frontend.buffers import alloc_buffer, allocate, decl_buffer
from tile2triton.frontend.builder import active as _tracing
from tile2triton.frontend.cluster import ClusterKernel
from tile2triton.frontend.declarations import (
    Ref,
    StridedTensor,
    Tensor,
    alloc_global,
    const,
    dynamic,
    empty,
    ptr,
)
from tile2triton.frontend.dtypes import OBJECTS as _DTYPES
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.dynamic import Dynamic as PrimExpr
from tile2triton.frontend.eager import EagerKernel as JITFunc
from tile2triton.frontend.failures import failure as _failure
from tile2triton.frontend.failures import unknown_name as _unknown_name
from tile2triton.frontend.jumps import break_loop, continue_loop, loop_break, thread_return
from tile2triton.frontend.layouts import Fragment, Layout
from tile2triton.frontend.macros import Macro, macro
from tile2triton.frontend.meta_classes import meta_class
from tile2triton.frontend.nests import Grid
from tile2triton.frontend.persistent import Persistent
from tile2triton.frontend.prim_func import PrimFunc, prim_func
from tile2triton.frontend.refused_names import RefusedName as _RefusedName
from tile2triton.frontend.schedulers import BaseTileScheduler, PersistentTileScheduler
from tile2triton.frontend.schedules import (
    WSID,
    WSInstr,
    WSOpRef,
    WSPipeline,
    WSRole,
    WSSchedule,
    WSScope,
    WSSync,
    WSSyncKind,
    annotate_ws_schedule,
    ws_op,
)
from tile2triton.frontend.thread_names import (
    get_block_binding,
    get_block_bindings,
    get_block_extent,
    get_block_extents,
    get_thread_bindings,
    get_thread_extent,
    get_thread_extents,
    launch_thread,
    thread_binding,
)
from tile2triton.frontend.thread_names import get_thread_binding as _get_thread_binding
from tile2triton.frontend.tir_names import bind, evaluate, index_to_coordinates, parallel
from tile2triton.ops import OPERATORS as _OPERATORS
from tile2triton.ops.refused import REFUSED as _REFUSED
from tile2triton.schedule import annotation as _schedule_annotation
from tile2triton.schedule.hints import BY_NAME as _HINTS
from tile2triton.schedule.hints import Hint as _Hint
from tile2triton.tilelang.dtype_questions import (
    is_f8f6f4_family,
    is_float4,
    is_float4_e2m1_unpacked,
    is_float4_e2m1fn,
    validate_gemm_ab_dtypes,
)
from tile2triton.tilelang.layouts import LAYOUTS as _LAYOUTS
from tile2triton.tilelang.layouts import get_swizzle_layout

dtype = DType
symbolic = dynamic
grid = Grid
# Annotations of a macro's parameters; what is passed decides.
SharedBuffer = FragmentBuffer = LocalBuffer = Tensor
# An old name of the type of a parameter.
Buffer = Tensor
inline = macro
# Every spelling of an element type, for annotations.
AnyDType = DType | str | type
make_mma_swizzle_layout = _LAYOUTS["make_mma_swizzle_layout"]
Var = Ref
# The mask of attention in which a row sees itself and what is before it.
causal = "causal"

__all__ = [
    "AnyDType",
    "BaseTileScheduler",
    "Buffer",
    "ClusterKernel",
    "Fragment",
    "FragmentBuffer",
    "GemmWarpPolicy",
    "JITFunc",
    "Layout",
    "LocalBuffer",
    "Macro",
    "Persistent",
    "PersistentTileScheduler",
    "PrimExpr",
    "PrimFunc",
    "Ref",
    "SharedBuffer",
    "StridedTensor",
    "Tensor",
    "Var",
    "WSID",
    "WSInstr",
    "WSOpRef",
    "WSPipeline",
    "WSRole",
    "WSSchedule",
    "WSScope",
    "WSSync",
    "WSSyncKind",
    "alloc_buffer",
    "alloc_global",
    "allocate",
    "annotate_ws_schedule",
    "bind",
    "break_loop",
    "causal",
    "const",
    "continue_loop",
    "decl_buffer",
    "dtype",
    "dynamic",
    "empty",
    "evaluate",
    "get_block_binding",
    "get_block_bindings",
    "get_block_extent",
    "get_block_extents",
    "get_swizzle_layout",
    "get_thread_bindings",
    "get_thread_extent",
    "get_thread_extents",
    "inline",
    "launch_thread",
    "grid",
    "index_to_coordinates",
    "is_f8f6f4_family",
    "is_float4",
    "is_float4_e2m1_unpacked",
    "is_float4_e2m1fn",
    "loop_break",
    "macro",
    "make_mma_swizzle_layout",
    "meta_class",
    "parallel",
    "prim_func",
    "ptr",
    "symbolic",
    "thread_binding",
    "validate_gemm_ab_dtypes",
    "ws_op",
    "thread_return",
    *_DTYPES,
    # `parallel` is a loop as well, which knows what it is asked for.
    *(name for name in _HINTS if name != "parallel"),
    *_OPERATORS,
    *_REFUSED,
]


class GemmWarpPolicy(enum.StrEnum):
    """How the warps share a product out; a hint."""

    Square = "Square"
    FullRow = "FullRow"
    FullCol = "FullCol"

    def compute_warp_partition(self, *sizes: int) -> tuple[int, int]:
        """Refused: how many warps have which part of a product is Triton's to say."""
        raise _failure(
            "T2T546",
            "`GemmWarpPolicy.compute_warp_partition` is not there: which warp computes which part "
            "of a product is for Triton to say",
            hint="write the product with T.gemm on whole tiles",
        )


def _function(name: str, surface: Callable[..., Any]) -> Callable[..., Any]:
    """What `T.<name>` is: editors show the operator's signature and docstring."""

    @functools.wraps(surface)
    def operator(*arguments: Any, **keywords: Any) -> Any:
        return _operators.call(name, arguments, keywords)

    return operator


def _annotation(hint: _Hint) -> Callable[..., Any]:
    """What `T.<name>` of a schedule is: a decorator."""

    @functools.wraps(hint.surface)
    def annotate(*arguments: Any, **keywords: Any) -> Any:
        if _tracing() is not None:
            # There it would be a decorator of nothing.
            raise _failure(
                "T2T872",
                f"T.{hint.name} is an annotation of a whole kernel, and stands within one",
                hint="write it above the function, below @tile2triton.kernel",
            )
        return _schedule_annotation(hint.name, arguments, keywords)

    return annotate


def _cast_type_first(dtype: Any, value: Any) -> Any:
    """`T.cast` with its arguments the other way round."""
    return _operators.cast(value, dtype)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        # Python's own machinery asks for such names; no user writes them.
        raise AttributeError(name)
    raise _unknown_name(name, __all__)


_operators.TABLE.update(_OPERATORS)
globals().update({name: _function(name, one.surface) for name, one in _OPERATORS.items()})
globals().update({name: _annotation(hint) for name, hint in _HINTS.items() if name != "parallel"})
globals().update(_DTYPES)
globals()["Cast"] = _cast_type_first
# Of a block of threads with several dimensions, the operator knows the running number only.
globals()["get_thread_binding"] = _get_thread_binding
globals().update({name: _RefusedName(name, _REFUSED[name]) for name in _REFUSED})
