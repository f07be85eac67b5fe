"""The kinds of patches, one a file."""

from . import gemm_warps, load_latency

PATCHES = (load_latency.LOAD_LATENCY, gemm_warps.GEMM_WARPS)

KINDS = {kind.name: kind for kind in PATCHES}
