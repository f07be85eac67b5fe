"""Loops that make the last product of a turn in the next one: the same bits, in another order."""

from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernel_case import Case
from tests.kernels import attention_programs as programs
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.linear_attention import linear_attention
from tests.kernels.whole_operands import attention
from tile2triton import CompiledKernel, Schedule, transpile

ROTATED = Schedule(rotate=True)
TILE = {"block_M": 64, "block_N": 32, "threads": 128}


def attention_case(seq_len: int, is_causal: bool, layout: str = "bshd", **given: Any) -> Case:
    shape = (2, seq_len, 3, 32) if layout == "bshd" else (2, 3, seq_len, 32)
    return Case(
        f"{seq_len}-{is_causal}-{layout}-{'-'.join(map(str, given.values()))}",
        flash_attention.scheduled(ROTATED),
        lambda q, k, v: oracles.flash_attention(q, k, v, is_causal, layout),
        (shape,) * 3,
        sizes=(2, 3, seq_len, 32),
        parameters={"is_causal": is_causal, "layout": layout, **TILE, **given},
    )


CASES = (
    # Loops of no turn, of one, of two and of several; the rest of the rows in a loop of its own.
    *(attention_case(seq_len, False) for seq_len in (20, 32, 64, 150)),
    *(attention_case(seq_len, True, "bhsd") for seq_len in (20, 64, 192, 250)),
    attention_case(160, True, num_stages=1),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_results_are_right(case: Case, device: str) -> None:
    case.check(case.run(device))


def heads(*shape: int, dtype: torch.dtype = torch.float16) -> list[torch.Tensor]:
    return [torch.randn(shape, dtype=dtype) for _ in range(3)]


@pytest.mark.parametrize("target", ["cuda:90", "cuda:80", "hip:gfx942"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_bits_are_those_of_the_plain_loop(target: str, is_causal: bool) -> None:
    """With TMA and with pointers, whose places the first product shares with the last one."""
    given = {"is_causal": is_causal, "target": target, **TILE, "layout": "bhsd", "threads": 256}
    inputs = heads(1, 2, 230, 32)
    rotated = transpile(flash_attention.scheduled(ROTATED), 1, 2, 230, 32, **given)
    assert rotated.lowered_facts.rotated == ["k"]
    plain = transpile(flash_attention, 1, 2, 230, 32, **given)
    assert torch.equal(rotated(*inputs), plain(*inputs))


@pytest.mark.parametrize(
    ("program", "more"),
    [
        (attention, ()),
        (programs.capped_attention, (20.0,)),
        (programs.sliding_window_attention, (70,)),
        (programs.attention_with_sinks, (torch.tensor([0.5, -1.0]),)),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_programs_on_whole_operands_too(program: Any, more: tuple[Any, ...]) -> None:
    tile = Schedule(tile={"m": 64, "n": 32}, warps=4)
    inputs = heads(1, 2, 200, 32)
    rotated = transpile(program.scheduled(tile | ROTATED), *inputs, *more, target="cuda:80")
    assert rotated.lowered_facts.rotated
    plain = transpile(program.scheduled(tile), *inputs, *more, target="cuda:80")
    assert not plain.lowered_facts.rotated
    given = [one for one in more if isinstance(one, torch.Tensor)]
    assert torch.equal(rotated(*inputs, *given), plain(*inputs, *given))


def test_attention_is_rotated_on_hopper_where_registers_allow_it() -> None:
    inputs = [torch.empty(1, 2, 512, 128, dtype=torch.bfloat16)] * 3
    kernel = transpile(attention, *inputs, target="cuda:90")
    assert kernel.lowered_facts.rotated
    narrow = transpile(attention.scheduled(Schedule(warps=4)), *inputs, target="cuda:90")
    (reason,) = narrow.lowered_facts.unrotated
    assert reason == "the loop over `k`: its tiles would take 256 registers of each thread at once"
    for target in ("cuda:80", "cuda:100", "hip:gfx942"):
        assert not transpile(attention, *inputs, target=target).lowered_facts.rotated


@tile2triton.kernel
@T.rotate()
def chained(Q, K, V, W, is_kept=False, uses_keys=False, counts=1, is_stored=False):
    """W is the sum over n of relu(Q K[n]ᵀ) V[n], without a maximum to scale by."""
    N = T.const("N")
    Q: T.Tensor((64, 64), T.float16)
    K: T.Tensor((N * 64, 64), T.float16)
    V: T.Tensor((N * 64, 64), T.float16)
    W: T.Tensor((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((64, 64), T.float16)
        k = T.alloc_shared((64, 64), T.float16)
        v = T.alloc_shared((64, 64), T.float16)
        s = T.alloc_fragment((64, 64), T.float32)
        w = T.alloc_fragment((64, 64), T.float16)
        acc = T.alloc_fragment((64, 64), T.float32)
        T.copy(Q, q)
        T.clear(acc)
        T.clear(s)
        for n in T.serial(0, N, counts):
            T.copy(K[n * 64, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                s[i, j] = T.max(s[i, j], 0)
            T.copy(s, w)
            if is_stored:
                T.copy(s, W)
            if uses_keys:
                T.gemm(w, k, acc)
            else:
                T.copy(V[n * 64, 0], v)
                T.gemm(w, v, acc)
        if is_kept:
            for i, j in T.Parallel(64, 64):
                acc[i, j] += s[i, j]
        T.copy(acc, W)


def why_not(kernel: CompiledKernel) -> str:
    """What the report says of the hint, which is not applied."""
    (hint,) = (one for one in kernel.lowered_facts.hint_report if "rotate" in one.construct)
    assert hint.how == "none"
    return hint.detail


def rotation(**given: Any) -> CompiledKernel:
    return transpile(chained, N=4, **given)


def test_sums_that_are_not_scaled_are_waited_for() -> None:
    """The next turn would set the factor anew while wgmma reads it from registers."""
    assert rotation(target="cuda:90").triton_source.count("if never:") == 1
    assert "never" not in rotation(target="cuda:80").triton_source


@pytest.mark.usefixtures("poisoned")
def test_sums_that_are_not_scaled_are_right(device: str) -> None:
    q, k, v = (torch.randn(n, 64, dtype=torch.float16, device=device) for n in (64, 256, 256))
    result = torch.empty(64, 64, device=device)
    rotation()(q, k, v, result)
    weights = (q.double() @ k.double().T).relu()
    expected = weights.to(torch.float16).double() @ v.double()
    assert (result - expected).norm() <= 1e-3 * expected.norm()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"is_kept": True}, "`s` is read after the loop"),
        ({"uses_keys": True}, "`k` is needed at both ends of a turn"),
        ({"counts": 2}, "it does not count one by one"),
        ({"is_stored": True}, "does more than compute"),
    ],
)
def test_loops_that_stay_as_they_are_say_why(given: dict[str, Any], reason: str) -> None:
    kernel = rotation(target="cuda:80", **given)
    assert not kernel.lowered_facts.rotated
    assert reason in kernel.lowered_facts.unrotated[0]
    assert reason in why_not(kernel)


def test_kernels_without_two_products_say_so() -> None:
    kernel = transpile(gemm.scheduled(ROTATED), M=256, N=256, K=256)
    plain = transpile(gemm, M=256, N=256, K=256)
    assert kernel.triton_source == plain.triton_source
    assert "it has no two products" in why_not(kernel)
    sizes = {"batch": 1, "seq_len": 256, "heads": 2, "dim_K": 64, "dim_V": 64}
    stores = transpile(linear_attention.scheduled(ROTATED), **sizes)
    assert "does more than compute" in why_not(stores)
    assert "Triton itself" in why_not(rotation(target="cuda:100"))
    wide = flash_attention.scheduled(ROTATED)
    kernel = transpile(wide, 1, 2, 256, 64, dtype="float32", target="cuda:90", block_N=32)
    assert why_not(kernel).endswith("wgmma does not read `K_shared` as it lies in memory")


@tile2triton.kernel
@T.rotate()
def uneven(Q, K, V, W, form):
    """`chained` over blocks of other numbers, weights or ends."""
    N = T.const("N")
    Q: T.Tensor((64, 64), T.float16)
    K: T.Tensor((N * 64, 64), T.float16)
    V: T.Tensor((N * 64, 64), T.float16)
    W: T.Tensor((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        q = T.alloc_shared((64, 64), T.float16)
        k = T.alloc_shared((64, 64), T.float16)
        v = T.alloc_shared((64, 64), T.float16)
        s = T.alloc_fragment((64, 64), T.float32)
        w = T.alloc_fragment((64, 64), T.float16)
        acc = T.alloc_fragment((64, 64), T.float32)
        left = T.alloc_var(T.int32, N)
        T.copy(Q, q)
        T.clear(acc)
        for n in T.serial(left if form == "bounds" else N):
            T.copy(K[n * 64, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                s[i, j] = T.max(s[i, j], 0) * ((n - 7) // 2 if form == "weights" else 1)
            T.copy(s, w)
            T.copy(V[n * 64, 0], v)
            T.gemm(w, v, acc)
            if form == "bounds":
                left = left - 1
            if form == "again":
                for i, j in T.Parallel(64, 64):
                    acc[i, j] *= 0.5
        T.copy(acc, W)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("bounds", "how far it goes depends on `left`, which it sets"),
        ("weights", "is more than a place in `tl.maximum(s, 0.0) * "),
        ("again", "`acc` is not added to a sum"),
    ],
)
@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_loops_that_would_be_wrong_stay_as_they_are(
    form: str, reason: str, target: str, device: str
) -> None:
    kernel = transpile(uneven, N=4, form=form, target=target)
    assert reason in why_not(kernel)
    q, k, v = (torch.randn(n, 64, dtype=torch.float16, device=device) for n in (64, 256, 256))
    result = torch.empty(64, 64, device=device)
    transpile(uneven, N=4, form=form)(q, k, v, result)
    blocks = [(q.double() @ one.double().T).relu() for one in k.split(64)]
    expected = torch.zeros(64, 64, dtype=torch.float64, device=device)
    for n, (weights, value) in enumerate(zip(blocks, v.split(64), strict=True)):
        factor = (n - 7) // 2 if form == "weights" else 1
        expected += (weights * factor).half().double() @ value.double()
        expected *= 0.5 if form == "again" else 1
    assert (result - expected).norm() <= 2e-3 * expected.norm()
