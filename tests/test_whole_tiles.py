"""The tiles of programs on whole operands: as tensor cores and the chip's memory want them."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import attended, attention, check, normal
from tile2triton import Schedule


@tile2triton.kernel
def weighed(Q, K, V):
    # Behind the end of a head, neither factor is 0.
    Q = Q / T.sum(T.exp(Q), axis=-1, keepdims=True)
    return T.gemm(T.softmax(T.gemm(Q + 1, T.exp(K), transpose_B=True)), V)


@pytest.mark.parametrize("d", [2, 8, 12])
def test_heads_that_are_shorter_than_a_tensor_core(d, device, poisoned):
    q, k, v = (normal(2, 40, d, seed=seed) for seed in range(3))
    check(attention, [q, k, v], attended(q, k, v), device)
    wide, *others = (x.double() for x in (q, k, v))
    wide = wide / wide.exp().sum(-1, keepdim=True)
    scores = (wide + 1) @ others[0].exp().mT
    floats = [x.float() for x in (q, k, v)]
    check(weighed, floats, scores.softmax(-1) @ others[1], device)


@tile2triton.kernel
def chained(A, B, C):
    return T.gemm(T.relu(T.gemm(A, B)), C)


def test_a_chain_whose_first_product_contracts_little(device):
    a, b, c = normal(70, 3), normal(3, 40, seed=1), normal(40, 20, seed=2)
    inner = (a.double() @ b.double()).relu()
    check(chained, [a, b, c], inner @ c.double(), device)


@tile2triton.kernel
def weighted_norm(x, w):
    return T.rms_norm(x, w) * T.sum(w)


@pytest.mark.parametrize("n", [40, 300])
def test_a_persistent_program_loads_once_what_all_rows_share(n, device):
    x, w = normal(7, n, dtype=torch.float32), normal(n, dtype=torch.float32)
    wide = x.double()
    expected = wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w.double()
    kernel = weighted_norm.scheduled(Schedule(persistent=2))
    check(kernel, [x, w], expected * w.double().sum(), device)
