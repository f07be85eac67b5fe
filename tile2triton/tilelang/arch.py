"""`tilelang.carver.arch`: what a GPU has, for programs that choose their tiles by it."""

from __future__ import annotations

from typing import Any

from tile2triton import targets
from tile2triton.tilelang.device import get_cuda_device_properties
from tile2triton.tilelang.target import (
    Target,
    determine_target,
    kind_of_this_machine,
    target_is_cuda,
    target_name,
)

# Ratios of the memories' speeds in MB/s, global and shared, by which tiles are ranked.
BANDWIDTH = {"cuda": (3_350_000, 33_000_000), "hip": (5_300_000, 81_000_000)}


class TileDevice:
    """A GPU: of this machine where it has one of the kind, else the target's row of the table."""

    platform = "GPU"

    def __init__(self, target: Any = "auto") -> None:
        chosen = target if isinstance(target, Target) else determine_target(target, True)
        row = targets.target(target_name(chosen) or "cuda:90")
        is_here = row.backend == kind_of_this_machine()
        properties = get_cuda_device_properties() if is_here else None
        self.target = chosen
        self.warp_size = row.warp_size
        self.max_smem_usage = row.shared_memory
        self.smem_cap = getattr(properties, "shared_memory_per_block", row.shared_memory)
        self.compute_max_core = getattr(properties, "multi_processor_count", _CORES[row.name])
        self.name = getattr(properties, "name", row.label)
        self.l2_cache_size_bytes = getattr(properties, "L2_cache_size", 50 * 2**20)
        self.reg_cap = 65536
        self.sm_partition = 4
        self.transaction_size = [32, 128]
        self.bandwidth = list(BANDWIDTH[row.backend])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target})"


class CUDA(TileDevice):
    """A GPU of NVIDIA's."""

    platform = "CUDA"

    def __init__(self, target: Any = "cuda") -> None:
        super().__init__(target)
        digits = "".join(one for one in self.target.arch or "" if one.isdigit())
        self.sm_version = int(digits or 90)
        self.compute_capability = str(self.sm_version)


class CDNA(TileDevice):
    """A data centre GPU of AMD's."""

    platform = "CDNA"

    def __init__(self, target: Any = "hip") -> None:
        super().__init__(target)
        self.compute_capability = self.target.arch or "gfx942"


# Multiprocessors, for a machine without such a GPU.
_CORES = {"cuda:80": 108, "cuda:90": 132, "cuda:100": 148, "hip:gfx942": 304, "hip:gfx950": 256}


def get_arch(target: Any = "cuda") -> TileDevice:
    """What the GPU of a target has."""
    return CUDA(target) if target_is_cuda(target) else CDNA(target)


def auto_infer_current_arch() -> TileDevice:
    """What this machine's GPU has."""
    return get_arch(determine_target("auto", return_object=True))


def is_cuda_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CUDA)


def is_cdna_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CDNA)


def is_volta_arch(arch: TileDevice) -> bool:
    return _is_between(arch, 70, 80)


def is_ampere_arch(arch: TileDevice) -> bool:
    return _is_between(arch, 80, 89)


def is_ada_arch(arch: TileDevice) -> bool:
    return _is_between(arch, 89, 90)


def is_hopper_arch(arch: TileDevice) -> bool:
    return _is_between(arch, 90, 91)


def has_mma_support(arch: TileDevice) -> bool:
    return _is_between(arch, 80, 10_000)


def _is_between(arch: TileDevice, low: int, high: int) -> bool:
    return isinstance(arch, CUDA) and low <= arch.sm_version < high
