"""The kinds of patches, one a file."""

from . import gemm_warps, load_latency, turned_operand

PATCHES = (
    load_latency.LOAD_LATENCY,
    gemm_warps.GEMM_WARPS,
    turned_operand.TURNED_OPERAND,
)

KINDS = {kind.name: kind for kind in PATCHES}
