"""Every workload fits its kernels: on tensors without data, all launches get what they take."""

import functools
import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from triton import JITFunction

from benchmarks.contest import Call, Contestant, Workload
from benchmarks.roofline import PEAKS
from benchmarks.workloads import MUST, WORKLOADS
from tile2triton import CompiledKernel, transpile

pytestmark = pytest.mark.slow

LAUNCH_OPTIONS = {"num_warps", "num_stages"}
# This one gives a function of its own, which zeroes a result before it calls the kernel.
CALLS_KERNELS_ITSELF = ("split-k-gemm",)


class OnMeta(TorchFunctionMode):
    """What is made for the GPU has shapes and types only."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of kernels that were launched with arguments and a grid that they can have."""
    found: list[str] = []

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        own = {name: options.pop(name) for name in set(options) - LAUNCH_OPTIONS}
        inspect.signature(self.fn).bind(*args, **own)
        assert all(0 < size < 2**31 for size in grid)
        found.append(self.__name__)

    monkeypatch.setattr(JITFunction, "run", run)
    processors = SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: processors)
    with OnMeta():
        yield found


def named(kind: str) -> list[Any]:
    return [
        pytest.param(workload, contestant, id=f"{workload.name}-{contestant.name}")
        for workload in WORKLOADS.values()
        for contestant in workload.contestants
        if contestant.kind == kind
    ]


@pytest.mark.parametrize(("workload", "contestant"), named("triton"))
def test_triton_by_hand_is_launched(
    workload: Workload, contestant: Contestant, launches: list[str]
) -> None:
    inputs = workload.inputs()
    for config in contestant.configs:
        launches.clear()
        contestant.build(inputs, config)()
        assert launches


@pytest.mark.parametrize(("workload", "contestant"), named("tile2triton"))
@pytest.mark.usefixtures("launches")
def test_a_tile_program_is_transpiled(workload: Workload, contestant: Contestant) -> None:
    if workload.name in CALLS_KERNELS_ITSELF:
        pytest.skip("the kernel cannot be asked for")
    call = contestant.build(workload.inputs(), contestant.configs[0])
    assert ".jit\ndef " in triton_source(call)


def triton_source(call: Call) -> str:
    """What the kernel of a call with all its arguments becomes."""
    kernel: Any = call
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    while isinstance(kernel, functools.partial):
        arguments = [*kernel.args, *arguments]
        options = {**kernel.keywords, **options}
        kernel = kernel.func
    # A factory has made the kernel for its sizes already.
    if isinstance(kernel, CompiledKernel):
        return kernel.triton_source
    return transpile(kernel, *arguments, target="cuda:90", **options).triton_source


def test_what_must_be_fast_is_measured_and_has_a_ceiling() -> None:
    assert set(MUST) <= set(WORKLOADS)
    for workload in WORKLOADS.values():
        assert workload.bound in PEAKS["H200"]
        kinds = {contestant.kind for contestant in workload.contestants}
        assert {"tile2triton", "triton"} <= kinds
