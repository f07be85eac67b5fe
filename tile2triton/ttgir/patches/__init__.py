"""The kinds of patches, one a file."""

from . import (
    async_outside_loop,
    direct_to_lds,
    gemm_warps,
    inferred_layouts,
    load_latency,
    mfma_shape,
    mma_version,
    pipeline_schedule,
    shared_layout,
    turned_operand,
)

PATCHES = (
    load_latency.LOAD_LATENCY,
    gemm_warps.GEMM_WARPS,
    pipeline_schedule.PIPELINE_SCHEDULE,
    shared_layout.SHARED_LAYOUT,
    async_outside_loop.ASYNC_OUTSIDE_LOOP,
    mma_version.MMA_VERSION,
    mfma_shape.MFMA_SHAPE,
    inferred_layouts.INFERRED_LAYOUTS,
    direct_to_lds.DIRECT_TO_LDS,
    turned_operand.TURNED_OPERAND,
)

KINDS = {kind.name: kind for kind in PATCHES}
