"""What this machine's GPU has: `get_num_sms` and its kind."""

from __future__ import annotations

from typing import Any

from tile2triton.diagnostics import Diagnostic, TileError


class NoDeviceError(TileError):
    """A question about a GPU, where there is none."""


def get_cuda_device_properties(device_id: int = 0) -> Any:
    """What torch knows about the GPU, or None where there is none."""
    import torch

    if not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_properties(device_id)


def get_num_sms(device_id: int = 0) -> int:
    """The number of its multiprocessors."""
    return int(_properties(device_id).multi_processor_count)


def get_device_name(device_id: int = 0) -> str | None:
    properties = get_cuda_device_properties(device_id)
    return None if properties is None else str(properties.name)


def get_shared_memory_per_block(device_id: int = 0, format: str = "bytes") -> int:
    """The shared memory that a block has without asking for more."""
    return _scaled(_properties(device_id).shared_memory_per_block, format)


def get_max_dynamic_shared_size_bytes(device_id: int = 0, format: str = "bytes") -> int:
    """The shared memory of a multiprocessor."""
    return _scaled(_properties(device_id).shared_memory_per_multiprocessor, format)


def get_registers_per_block(device_id: int = 0) -> int:
    """The number of 32-bit registers of a multiprocessor, which one block may have alone."""
    return int(_properties(device_id).regs_per_multiprocessor)


def get_persisting_l2_cache_max_size(device_id: int = 0) -> int:
    """The size of the L2 cache, all of which may be set aside at most."""
    return int(_properties(device_id).L2_cache_size)


def get_target_compute_version(target: Any = None) -> str:
    """The compute capability, as "9.0": of the target where it says so, else of the GPU."""
    from tile2triton.tilelang.target import Target

    chosen = target or Target.current()
    arch = getattr(chosen, "arch", None)
    digits = "".join(one for one in arch or "" if one.isdigit())
    if digits and str(arch).startswith("sm"):
        return f"{digits[:-1]}.{digits[-1]}"
    properties = _properties(0)
    return f"{properties.major}.{properties.minor}"


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """`"9.0"` as (9, 0)."""
    major, _, minor = compute_version.partition(".")
    return int(major), int(minor or 0)


def get_current_device() -> Any:
    """The device that new tensors for kernels go to: the GPU, or the CPU where there is none."""
    import torch

    is_there = torch.cuda.is_available()
    return torch.device("cuda", torch.cuda.current_device()) if is_there else torch.device("cpu")


def check_cuda_availability() -> bool:
    """Whether torch sees a GPU of NVIDIA's."""
    import torch

    return bool(torch.cuda.is_available()) and torch.version.hip is None


def check_hip_availability() -> bool:
    """Whether torch sees a GPU of AMD's."""
    import torch

    return bool(torch.cuda.is_available()) and torch.version.hip is not None


def _properties(device_id: int) -> Any:
    properties = get_cuda_device_properties(device_id)
    if properties is None:
        raise NoDeviceError(
            Diagnostic(
                "T2T507",
                "the program asks about this machine's GPU, and torch sees none",
                hint="run it where there is one, or give `tile2triton check` a --target",
            )
        )
    return properties


def _scaled(size: int, unit: str) -> int:
    scales = {"bytes": 1, "kb": 2**10, "mb": 2**20}
    if unit not in scales:
        raise ValueError(f"format must be one of {', '.join(scales)}, but is {unit!r}")
    return int(size) // scales[unit]
