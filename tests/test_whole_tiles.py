"""The tiles of programs on whole operands: as tensor cores and the chip's memory want them."""

import re

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import attended, attention, check, normal
from tile2triton import Schedule
from tile2triton.compile_check import check_all


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


@tile2triton.kernel
def attends(Q, K, V):
    return T.gemm(T.softmax(T.gemm(Q, K, transpose_B=True)), V)


@tile2triton.kernel
def product(A, B):
    return T.gemm(A, B, transpose_B=False)


@tile2triton.kernel
def gated(X, W, V):
    return T.silu(T.gemm(X, W, transpose_B=False)) * T.gemm(X, V, transpose_B=False)


@tile2triton.kernel
def activated(A, B, b):
    return T.gelu(T.gemm(A, B, transpose_B=False) + b)


@tile2triton.kernel
def biased(Q, K, V, bias):
    return T.gemm(T.softmax(T.gemm(Q, K, transpose_B=True) + bias), V)


def heads(d, dtype="float16"):
    return [T.Tensor((16, 4096, d), dtype)] * 3


def matrices(count, size=4096, dtype="float16"):
    return [T.Tensor((size, size), dtype)] * count


SMALL = [T.Tensor((300, 70), "float16"), T.Tensor((70, 130), "float16"), T.Tensor((130,))]
CASES = [
    # What was tuned on a GPU, and fits.
    (product, matrices(2, 8192), "cuda:90", (128, 256, 64, 3, 8)),
    (product, matrices(2, 8192), "cuda:80", (128, 128, 32, 3, 4)),
    (product, matrices(2, 8192), "hip:gfx942", (128, 128, 64, 2, 4)),
    (attends, heads(128), "cuda:90", (64, 128, 2, 4)),
    (attends, heads(128), "cuda:80", (128, 64, 2, 8)),
    (attends, heads(64), "cuda:90", (64, 64, 3, 4)),
    # A bias is loaded beside the keys and values.
    (biased, [*heads(128), T.Tensor((16, 4096, 4096), "float16")], "cuda:90", (128, 128, 2, 8)),
    # Two accumulators, or one of long rows.
    (gated, matrices(3), "cuda:90", (128, 128, 64, 3, 8)),
    (gated, matrices(3), "cuda:80", (128, 64, 32, 3, 4)),
    (attends, heads(256), "cuda:90", (128, 64, 2, 8)),
    (attends, heads(256), "cuda:80", (128, 64, 2, 8)),
    (attends, heads(256), "hip:gfx942", (64, 64, 4)),
    # Wide elements.
    (attends, heads(128, "float32"), "cuda:90", (128, 64, 2, 8)),
    (product, matrices(2, dtype="float32"), "cuda:90", (128, 256, 32, 2, 8)),
    (product, matrices(2, dtype="float64"), "cuda:90", (128, 128, 16, 3, 8)),
    # Tiles of 256 or 128 columns would compute nearly as many behind the end.
    (activated, SMALL, "cuda:90", (128, 64, 64, 3, 4)),
]


@pytest.mark.parametrize(("kernel", "operands", "target", "expected"), CASES)
def test_default_tiles_fit_and_tuned_ones_stay(kernel, operands, target, expected):
    text, facts = kernel.compile(*operands).emitted_for(target)
    sizes = facts.constants.items()
    tiles = [value for name, value in sizes if name.startswith("block_") or name == "stages"]
    # The stages of the loops, then the warps; those of the launch itself say nothing.
    said = re.findall(r"num_(?:stages|warps)=(\d+)", text)[:-1]
    assert (*tiles, *map(int, said)) == expected


@pytest.mark.compile
def test_default_tiles_compile_without_spilling():
    chosen = [case for case in CASES if case[0] is not product and case[1] is not SMALL]
    modules = [
        (*one.compile(*operands).emitted_for(name), name) for one, operands, name, _ in chosen
    ]
    for result in check_all(modules, seconds=300):
        assert result.problem is None
        assert result.spills <= 64


@pytest.mark.parametrize("schedule", [None, Schedule(split=("N", 3))], ids=["whole", "split"])
def test_one_query_computes_its_scores_once_for_all_columns(schedule, device, poisoned):
    q, k, v = normal(2, 1, 16), normal(2, 300, 16, seed=1), normal(2, 300, 24, seed=2)
    kernel = attends.scheduled(schedule or Schedule())
    expected = (q.double() @ k.double().mT).softmax(-1) @ v.double()
    check(kernel, [q, k, v], expected, device)
    operands = (T.Tensor(tuple(x.shape), "float16") for x in (q, k, v))
    program = kernel.compile(*operands).after("tile_operands")
    # The grid has the batch, and the parts of the keys, but no columns of the values.
    assert f"with T.Kernel({'B' if schedule is None else 'B, parts'}, " in program
    assert "T.reduce_sum(Q_scaled, acc, dim=1)" in program
