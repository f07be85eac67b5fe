"""A GPU for launches: Triton's own launchers on C functions that write down what they are given."""

import contextlib
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton.compiler
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia
from triton.compiler import CompiledKernel
from triton.runtime.driver import driver

IS_OLD = triton.__version__.startswith("3.6")


class FakeGpu:
    """What Triton asks of a driver; `launches` has the arguments of every launch."""

    def __init__(self) -> None:
        self.device, self.streams = 0, {0: 11, 1: 22}
        self.launches: list[tuple[Any, ...]] = []
        self.encoded: list[tuple[Any, ...]] = []
        self.compiled: list[CompiledKernel] = []
        self.launcher_cls = nvidia.CudaLauncher
        self.utils = SimpleNamespace(
            launch=self.launch,
            fill_tma_descriptor=self.encode,
            fill_tma_descriptor_tiled=self.encode,
            build_signature_metadata=tuple,
        )
        self.functions = itertools.count(1000)
        # The metadata of compiled kernels that matter to a launch.
        self.metadata: dict[str, Any] = {}

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return self.device

    def get_current_stream(self, device: int) -> int:
        return self.streams[device]

    def launch(self, *arguments: Any) -> None:
        self.launches.append(arguments)

    def encode(self, *arguments: Any) -> tuple[str, Any]:
        self.encoded.append(arguments)
        return ("map", repr(arguments))

    def compile(self, src: Any, target: Any, options: Any, **_: Any) -> CompiledKernel:
        """A kernel without code, which its number tells from others."""
        # As in a compilation, the variables that the kernel reads are found.
        src.hash()
        descriptors = [
            {"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": kind, "fp4_padded": False}
            for kind in src.signature.values()
            if str(kind).startswith("tensordesc")
        ]
        known = dict.fromkeys(
            "global_scratch_size profile_scratch_size launch_cooperative_grid launch_pdl".split(), 0
        )
        known |= {"global_scratch_align": 1, "profile_scratch_align": 1, "num_ctas": 1}
        known |= {"tensordesc_meta": descriptors, "instrumentation_mode": "", **self.metadata}
        kernel = CompiledKernel.__new__(CompiledKernel)
        kernel.__dict__.update(
            src=src,
            name=src.name,
            module="loaded",
            _module_pid=None,
            metadata=SimpleNamespace(**known),
            packed_metadata=(options["num_warps"], 1, 0),
            function=next(self.functions),
        )
        kernel._run = self.launcher_cls(src, kernel.metadata)
        self.compiled.append(kernel)
        return kernel


@contextlib.contextmanager
def fake_gpu(monkeypatch: pytest.MonkeyPatch, gpus: int = 1) -> Iterator[FakeGpu]:
    """Tensors count as on a GPU, and kernels are launched on a fake one."""
    gpu = FakeGpu()
    before = driver._active
    monkeypatch.setattr(torch.Tensor, "is_cuda", True, raising=False)
    monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: gpu.device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(triton.compiler, "compile", gpu.compile)
    if IS_OLD:
        module = SimpleNamespace(launch=gpu.launch)
        monkeypatch.setattr(nvidia, "compile_module_from_src", lambda **_: module)
        monkeypatch.setattr(nvidia, "library_dirs", list)
    else:
        monkeypatch.setattr(nvidia, "PyKernelArg", lambda nested_tuple, type: (type, nested_tuple))
    driver.set_active(gpu)
    try:
        yield gpu
    finally:
        driver._active = before
