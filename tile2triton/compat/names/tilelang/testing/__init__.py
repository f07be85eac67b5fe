"""`tilelang.testing`: marks for tests, seeds, comparisons."""

from tile2triton.tilelang.closeness import torch_assert_close
from tile2triton.tilelang.regression import process_func, regression
from tile2triton.tilelang.testing import (
    main,
    requires_cdna,
    requires_cuda,
    requires_cuda_compute_version,
    requires_cuda_compute_version_eq,
    requires_cuda_compute_version_ge,
    requires_cuda_compute_version_gt,
    requires_cuda_compute_version_le,
    requires_cuda_compute_version_lt,
    requires_cuda_or_cdna,
    requires_gfx950,
    requires_gpu,
    requires_llvm,
    requires_metal,
    requires_package,
    requires_rocm,
    set_random_seed,
)

__all__ = [
    "main",
    "process_func",
    "regression",
    "requires_cdna",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_cuda_compute_version_eq",
    "requires_cuda_compute_version_ge",
    "requires_cuda_compute_version_gt",
    "requires_cuda_compute_version_le",
    "requires_cuda_compute_version_lt",
    "requires_cuda_or_cdna",
    "requires_gfx950",
    "requires_gpu",
    "requires_llvm",
    "requires_metal",
    "requires_package",
    "requires_rocm",
    "set_random_seed",
    "torch_assert_close",
]
