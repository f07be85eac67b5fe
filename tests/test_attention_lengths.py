"""Attention over other numbers of keys than queries: loops rotated, split, and both, are right."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton import Schedule, transpile

# What they compute asks nothing of Triton's version.
pytestmark = pytest.mark.slow

DIM = 16
# Loops of no turn for some rows, of one, and of several; rows that see no key, or all of them.
LENGTHS = [(64, 64), (20, 16), (100, 70), (33, 96), (150, 20), (5, 130), (1, 1)]
FORMS = [(False, 1, "cuda:90"), (True, 2, "cuda:80"), (False, 3, "hip:gfx942")]
SCHEDULES = {
    "rotated": Schedule(rotate=True),
    "split": Schedule(split_masks=True),
    "both": Schedule(rotate=True, split_masks=True),
}


@tile2triton.kernel
def last_rows(Q, K, V, is_causal=True, is_dynamic=False, stages=2, block_M=32, block_N=16):
    """The last query sees all keys, and each one before it one key less; 0 for those without."""
    sizes = "q_len, kv_len"
    q_len, kv_len = T.dynamic(sizes) if is_dynamic else T.const(sizes)
    Q: T.Tensor((q_len, DIM), T.float16)
    K: T.Tensor((kv_len, DIM), T.float16)
    V: T.Tensor((kv_len, DIM), T.float16)
    out = T.empty((q_len, DIM), T.float32)
    with T.Kernel(T.ceildiv(q_len, block_M), threads=128) as bx:
        past = kv_len - q_len
        q = T.copy(Q[bx * block_M : (bx + 1) * block_M, :])
        acc, total = T.zeros((block_M, DIM)), T.zeros((block_M,))
        largest = T.full((block_M,), -1e30)
        i, j = T.arange(block_M)[:, None], T.arange(block_N)[None, :]
        stop = T.min((bx + 1) * block_M + past, kv_len) if is_causal else kv_len
        for n in T.Pipelined(T.ceildiv(T.max(stop, 0), block_N), num_stages=stages):
            k = T.copy(K[n * block_N : (n + 1) * block_N, :])
            scores = T.gemm(q, k, transpose_B=True)
            seen = n * block_N + j < kv_len
            if is_causal:
                seen = seen & (n * block_N + j <= bx * block_M + i + past)
            scores = T.where(seen, scores * 0.5, -T.infinity("float32"))
            new = T.max(largest, T.reduce_max(scores, dim=1))
            rescale = T.exp2(largest - new)
            T.copy(new, largest)
            weights = T.exp2(scores - new[:, None])
            total *= rescale
            total += T.reduce_sum(weights, dim=1)
            acc *= rescale[:, None]
            v = T.copy(V[n * block_N : (n + 1) * block_N, :])
            T.gemm(T.cast(weights, T.float16), v, acc)
        out[bx * block_M : (bx + 1) * block_M, :] = acc / T.max(total, 1e-30)[:, None]
    return out


def wanted(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    scores = q.double() @ k.double().T * 0.5
    if is_causal:
        places = torch.arange(len(q))[:, None] + len(k) - len(q)
        scores.masked_fill_(torch.arange(len(k)) > places, float("-inf"))
    return torch.nan_to_num(torch.softmax(scores * torch.log(torch.tensor(2.0)), 1)) @ v.double()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("q_len", "kv_len"), LENGTHS)
@pytest.mark.usefixtures("poisoned")
def test_lengths(q_len: int, kv_len: int, is_causal: bool, schedule: str, device: str) -> None:
    q, k, v = (torch.randn(n, DIM, dtype=torch.float16) for n in (q_len, kv_len, kv_len))
    for is_dynamic, stages, target in FORMS:
        given = {"is_causal": is_causal, "is_dynamic": is_dynamic, "stages": stages}
        sizes = {} if is_dynamic else {"q_len": q_len, "kv_len": kv_len}
        plain = transpile(
            last_rows.scheduled(Schedule(split_masks=False)), **sizes, **given, target=target
        )
        kernel = transpile(
            last_rows.scheduled(SCHEDULES[schedule]), **sizes, **given, target=target
        )
        there = [one.to(device) for one in (q, k, v)]
        made = kernel(*there)
        assert torch.equal(made, plain(*there))
        error = (made.cpu().double() - wanted(q, k, v, is_causal)).norm()
        assert error <= 2e-3 * max(float(v.double().norm()), 1.0)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_the_loops_are_rotated_and_split(is_dynamic: bool) -> None:
    """What is tested above does happen."""
    sizes = {} if is_dynamic else {"q_len": 100, "kv_len": 70}
    for target in ("cuda:90", "cuda:80", "hip:gfx942"):
        facts = transpile(
            last_rows.scheduled(SCHEDULES["both"]), is_dynamic=is_dynamic, **sizes, target=target
        ).lowered_facts
        assert (facts.split, facts.rotated) == (["n"], ["n"])
