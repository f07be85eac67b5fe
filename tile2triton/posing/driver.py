"""The driver of a GPU that is not there, as Triton asks it."""

from __future__ import annotations

from typing import Any

import torch
from triton.backends.compiler import GPUTarget

from tile2triton.posing.gpu import do_bench, properties
from tile2triton.targets import Target


class Driver:
    """What Triton asks of a GPU's driver before it launches, and scripts of Triton."""

    def __init__(self, gpu: Target) -> None:
        self.gpu = gpu
        self.utils = self

    def get_current_target(self) -> GPUTarget:
        return GPUTarget(self.gpu.backend, self.gpu.arch, self.gpu.warp_size)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Any:
        return do_bench

    def get_device_properties(self, device: Any = None) -> dict[str, Any]:
        known = properties(self.gpu)
        return {
            "max_shared_mem": self.gpu.shared_memory,
            "max_num_regs": known.regs_per_multiprocessor,
            "multiprocessor_count": known.multi_processor_count,
            "warpSize": known.warp_size,
            "arch": known.gcnArchName,
        }
