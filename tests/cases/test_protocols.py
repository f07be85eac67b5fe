"""What is said of threads, clusters and schedules changes no result, and is set down as erased."""

import pytest
import torch

import tile2triton.language as T
from tests.cases.agreement import expect
from tests.cases.kernels.protocols import (
    clustered_sums,
    fenced_product,
    numbered_programs,
    scheduled,
)
from tile2triton.pipeline import lower


@pytest.mark.parametrize("size", [(64, 64, 96), (40, 33, 70)])
def test_schedule_of_warps_is_left_out(size):
    M, N, K = size
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    expect(scheduled(M, N, K, 32), (a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-3)
    erased = scheduled(M, N, K, 32).program.facts.erased
    assert [one.construct for one in erased] == ["T.annotate_ws_schedule(…)"]


@pytest.mark.parametrize("columns", [64, 100])
def test_cluster_whose_programs_are_apart_is_a_grid(columns):
    values = torch.randn(6, columns)
    kernel = clustered_sums(6, columns)
    expect(kernel, (values,), values.sum(1), rtol=1e-4, atol=1e-5)
    lower(kernel.program, "cuda:90")
    assert any("cluster_dims" in one.construct for one in kernel.program.facts.erased)


@pytest.mark.parametrize("size", [32, 48])
def test_fences_around_products_are_left_out(size):
    a, b = torch.randn(size, size).half(), torch.randn(size, size).half()
    expect(fenced_product(size), (a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("m", "n", "threads"), [(2, 3, 64), (1, 4, 96)])
def test_programs_and_threads_know_their_numbers(m, n, threads):
    right = torch.zeros(m, n, threads, 5, dtype=torch.int32)
    right[..., 0] = torch.arange(n)[None, :, None] * 10 + torch.arange(m)[:, None, None]
    right[..., 1] = n * 10 + m
    right[..., 2] = threads
    right[..., 3] = torch.arange(threads) // 32
    right[..., 4] = torch.arange(threads)
    expect(numbered_programs(m, n, threads), (), right)


def test_steps_of_a_schedule_are_of_one_kind():
    assert issubclass(T.WSOpRef, T.WSInstr) and issubclass(T.WSSync, T.WSInstr)
    assert len(T.WSSyncKind) == 4
