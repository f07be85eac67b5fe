"""The kinds of patches, one a file."""

from . import (
    async_outside_loop,
    gemm_warps,
    load_latency,
    pipeline_schedule,
    shared_layout,
    turned_operand,
)

PATCHES = (
    load_latency.LOAD_LATENCY,
    async_outside_loop.ASYNC_OUTSIDE_LOOP,
    gemm_warps.GEMM_WARPS,
    pipeline_schedule.PIPELINE_SCHEDULE,
    shared_layout.SHARED_LAYOUT,
    turned_operand.TURNED_OPERAND,
)

KINDS = {kind.name: kind for kind in PATCHES}
