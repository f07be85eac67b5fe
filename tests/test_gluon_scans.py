"""Scans over chunks in Gluon: factors that are computed, in registers and in shared memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import simulated
from tests.kernels.chunk_scan import chunk_scan
from tests.kernels.chunk_state import chunk_state
from tests.kernels.linear_attention import linear_attention
from tests.kernels.retention import retention
from tests.test_gluon import close, specialised
from tile2triton import CompiledKernel, compile_check, transpile

# What they compute asks nothing of Triton's version.
pytestmark = pytest.mark.slow

TARGET = "cuda:90"
# Batches, heads, chunks and tokens in each.
B, H, C, L = 1, 4, 2, 128


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float16) * 0.3


def decays(*shape: int) -> Tensor:
    """What grows along the last axis, from below 0."""
    return torch.cumsum(-torch.rand(*shape) * 0.1, -1)


def heads(tokens: int) -> tuple[Tensor, ...]:
    return tuple(normal(B, tokens, 2, 64) for _ in range(3))


CASES: dict[str, tuple[Any, Callable[[], tuple[Tensor, ...]]]] = {
    "linear": (linear_attention, lambda: heads(256)),
    "linear-ragged": (linear_attention, lambda: heads(200)),
    "retention": (retention, lambda: (*heads(256), -torch.rand(2) * 0.1)),
    "retention-ragged": (retention, lambda: (*heads(72), -torch.rand(2) * 0.1)),
    "state": (
        chunk_state,
        lambda: (
            normal(B, C * L, 1, 128),
            normal(B, C * L, H, 64),
            torch.rand(B, H, C, L),
            decays(B, H, C, L),
        ),
    ),
    "scan": (
        chunk_scan,
        lambda: (
            normal(B, C, 1, L, L),
            normal(B, C * L, H, 64),
            torch.rand(B, H, C, L),
            decays(B, H, C, L),
            normal(B, C * L, 1, 64),
            normal(B, C, H, 64, 64),
            torch.randn(H),
        ),
    ),
}


def kernel_of(case: str) -> tuple[CompiledKernel, tuple[Tensor, ...]]:
    program, made = CASES[case]
    inputs = made()
    kernel = transpile(program.scheduled(specialised()), *inputs, target=TARGET)
    assert "gluon.jit" in kernel.triton_source, kernel.lowered_facts.hint_report
    return kernel, inputs


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_scans(case: str, is_eager: bool) -> None:
    """As plain Triton computes them, whose own tests compare it with what is right."""
    kernel, inputs = kernel_of(case)
    found = simulated.run(kernel, *inputs, is_eager=is_eager)
    assert close(found, kernel(*inputs).double())


def test_consumers_share_what_their_heads_have_in_common() -> None:
    """Two heads of one group have the same products of B and C, and other tokens."""
    source = kernel_of("scan")[0].triton_source
    assert "CB_desc.dtype, [stages, 1, 1, 1, block_M, block_K]" in source
    assert "X_desc.dtype, [2 * stages, 1, 1, block_K, block_N]" in source
    program, made = CASES["scan"]
    inputs = list(made())
    # Each head has a group of its own.
    inputs[0], inputs[4] = normal(B, C, H, L, L), normal(B, C * L, H, 64)
    apart = transpile(program.scheduled(specialised()), *inputs, target=TARGET)
    assert "CB_desc.dtype, [stages, " not in apart.triton_source
    assert close(simulated.run(apart, *inputs), apart(*inputs).double())


@pytest.mark.compile
def test_more_than_four_warps_meet_behind_products() -> None:
    """Each four wait for their own part; slots and factors in memory are there for all."""
    kernel = transpile(
        linear_attention.scheduled(specialised(1)), *heads(256), threads=256, target=TARGET
    )
    lines = kernel.triton_source.splitlines()
    waits = [at for at, line in enumerate(lines) if "= warpgroup_mma_wait(" in line]
    assert len(waits) == 3 and all(lines[at + 1].strip() == "sync_warps()" for at in waits)
    (report,) = compile_check.check_all([(kernel.triton_source, kernel.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0
    assert "sync_warps" not in kernel_of("linear")[0].triton_source


@pytest.mark.compile
@pytest.mark.parametrize("case", ["retention", "state", "scan"])
def test_scans_compile(case: str) -> None:
    kernel, _ = kernel_of(case)
    (report,) = compile_check.check_all([(kernel.triton_source, kernel.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("case", CASES)
def test_scans_on_cuda(case: str) -> None:
    """A hundred runs with the same bits, as close as plain Triton is."""
    program, made = CASES[case]
    inputs = [one.cuda() for one in made()]
    call = transpile(program.scheduled(specialised()), *inputs)
    assert "gluon.jit" in call.triton_source
    found = call(*inputs)
    assert close(found.double(), transpile(program, *inputs)(*inputs).double())
    assert all(torch.equal(found, call(*inputs)) for _ in range(100))
