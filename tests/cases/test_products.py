"""Tails of a GEMM (C4), `clear_accum` (C5) and program order under pipelining (C6)."""

import pytest
import torch

from tests.cases.agreement import expect
from tests.cases.kernels.products import delayed_sum, matmul, matmul_onto


@pytest.mark.parametrize(
    ("sizes", "block"),
    [
        ((64, 64, 24), (64, 64, 24)),
        ((65, 33, 40), (64, 64, 32)),
        ((1, 64, 64), (16, 64, 32)),
        ((1, 1, 1), (64, 64, 32)),
        ((64, 48, 64), (64, 24, 32)),
        ((64, 50, 64), (64, 24, 32)),
        ((100, 64, 32), (48, 64, 32)),
        ((64, 65, 48), (64, 64, 16)),
        ((96, 96, 96), (96, 96, 96)),
    ],
)
def test_product_of_ones_is_the_inner_size(sizes, block):
    M, N, K = sizes
    inputs = (torch.ones(M, K, dtype=torch.float16), torch.ones(K, N, dtype=torch.float16))
    expect(matmul(M, N, K, *block), inputs, K)


@pytest.mark.parametrize("sizes", [(65, 33, 40), (64, 64, 64), (17, 100, 31)])
def test_product_of_random_numbers_with_tails(sizes):
    M, N, K = sizes
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    expect(matmul(M, N, K, 32, 48, 24), (a, b), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("A_scope", ["shared", "fragment"])
@pytest.mark.parametrize("B_scope", ["shared", "fragment"])
@pytest.mark.parametrize(("clear_accum", "right"), [(True, 32), (False, 37)])
def test_clear_accum_forgets_the_start(A_scope, B_scope, clear_accum, right):
    inputs = (torch.ones(64, 32).half(), torch.ones(32, 64).half())
    expect(matmul_onto(A_scope, B_scope, clear_accum), inputs, right)


@pytest.mark.parametrize("num_stages", [0, 1, 2, 3, 4])
def test_pipelining_keeps_program_order(num_stages):
    rows = torch.arange(1, 9, dtype=torch.float32)[:, None].expand(8, 32).contiguous()
    expect(delayed_sum(8, 32, num_stages), (rows,), 128)
