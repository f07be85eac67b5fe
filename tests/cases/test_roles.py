"""Roles of threads in one order: what they compute, what is erased, and a split norm (C14)."""

import numpy as np
import pytest
import torch

from tests.cases.agreement import expect
from tests.cases.kernels.roles import (
    roles_beside_each_other,
    roles_in_a_chain,
    roles_in_turn,
    run_time_turns,
    split_norm,
    tensor_memory,
)
from tile2triton.diagnostics import TileError
from tile2triton.pipeline import lower

SIZES = [(64, 64, 96), (32, 32, 32), (40, 33, 70), (16, 100, 200)]


def factors(M, N, K, dtype=torch.float16):
    torch.manual_seed(M + N + K)
    return torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("consumer_first", [False, True])
def test_groups_take_turns_in_one_loop(size, stages, consumer_first):
    a, b = factors(*size)
    kernel = roles_in_turn(*size, 32, stages, consumer_first)
    expect(kernel, (a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("by_thread", [True, False])
def test_loops_of_two_groups_become_one(size, stages, by_thread):
    a, b = factors(*size)
    kernel = roles_beside_each_other(*size, 32, stages, by_thread)
    expect(kernel, (a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-3)
    assert kernel.triton_source.count(" for k in ") == 1


@pytest.mark.parametrize("size", SIZES)
def test_products_into_tensor_memory(size):
    a, b = factors(*size, torch.bfloat16)
    kernel = tensor_memory(*size, 32)
    expect(kernel, (a, b.T.contiguous()), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_branches_of_the_first_and_of_the_last_turn_stand_in_order(turns):
    torch.manual_seed(turns)
    q, a = torch.randn(32, 32).bfloat16(), torch.randn(turns, 32, 32).bfloat16()
    right = (q.float() @ a.float()).sum(0)
    expect(roles_in_a_chain(turns, 32), (q, a), right, rtol=1e-3, atol=1e-3)
    # The last of many turns is far behind the first, on which `k == 0` decides.
    assert roles_in_a_chain(100 * turns, 32).triton_source


def test_a_branch_of_a_later_turn_may_race_with_the_turn_before():
    with pytest.raises(TileError, match=r"T2T709.*`q` may be written"):
        roles_in_a_chain(5, 32, at=1)(
            torch.randn(32, 32).bfloat16(), torch.randn(5, 32, 32).bfloat16()
        )


@pytest.mark.parametrize("turns", [1, 2, 3, 8])
def test_loops_of_a_length_that_the_launch_says(turns):
    rows = torch.randn(8, 32)
    kernel = run_time_turns(32)
    right = rows[:turns].sum(0)
    found = kernel.reference(rows.numpy(), turns)
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(kernel(rows, turns), right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("hidden", "threads"), [(4096, 96), (100, 96), (65, 128)])
def test_split_norm_of_ones_is_one(hidden, threads):
    kernel = split_norm(3, hidden, threads)
    for values in (torch.ones(3, hidden), torch.randn(3, hidden)):
        scale = (values.square().mean(1) + 1e-6).rsqrt()
        given = torch.zeros(3)
        found = kernel(values, given)
        torch.testing.assert_close(found, values * scale[:, None], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(given, scale, rtol=1e-5, atol=1e-5)


def test_what_is_erased_is_set_down_once():
    kernel = roles_in_turn(64, 64, 64, 32)
    for _ in range(2):
        lower(kernel.program, "cuda:90")
    erased = kernel.program.facts.erased
    assert len(set(erased)) == len(erased)
    said = {one.construct.partition("(")[0] for one in erased}
    assert {"with T.ws", "T.alloc_barrier", "T.mbarrier_wait_parity", "T.tma_copy"} <= said
    assert all(one.line > 0 and one.reason for one in erased)
