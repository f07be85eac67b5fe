"""Turns of loops in which masks hide nothing, as loops of their own: the same bits."""

import ast
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T
from rewrites import split_masks
from rewrites.schedule import Schedule as PlainSchedule
from tests import oracles
from tests.kernel_case import Case
from tests.kernels.flash_attention import flash_attention
from tests.kernels.flash_attention_simple import flash_attention_simple
from tests.kernels.whole_operands import attention
from tests.tile_program import parse_program
from tile2triton import CompiledKernel, Schedule, transpile

SPLIT, WHOLE = Schedule(split_masks=True), Schedule(split_masks=False)
TILE = {"block_M": 64, "block_N": 32, "threads": 128}


class Numbers:
    """What bounds are made of, as Python computes it."""

    min, max = staticmethod(min), staticmethod(max)

    @staticmethod
    def ceildiv(a: int, b: int) -> int:
        return -(-a // b)


LANES = [(i, j) for i in range(4) for j in range(8)]


def random_condition(rng: random.Random) -> str:
    sign = rng.choice(("", "-"))
    turn = rng.choice(("n * b", "(n + 1) * b - 3", "n", "2 * n", "b * n + n"))
    sides = [f"{sign}({turn}) + {rng.choice(('j', '2 * j', '-j', '0'))}"]
    sides.append(f"{rng.choice(('i', '3 * i', '-i', '0'))} + {rng.choice(('off', 'size', '9'))}")
    rng.shuffle(sides)
    said = rng.choice(("<", "<=", ">", ">=")).join(f" {one} " for one in sides).strip()
    return rng.choice((said, said, f"not {said}"))


def random_loop(rng: random.Random) -> tuple[str, str]:
    """A program with a loop, and its condition."""
    conditions = [random_condition(rng) for _ in range(rng.choice((1, 1, 2)))]
    condition = rng.choice((" and ", " and ", " or ")).join(f"({one})" for one in conditions)
    start = rng.choice(("0", "0", "bx", "off", "2"))
    stop = rng.choice(("T.ceildiv(size, b)", "9", "T.min(T.ceildiv(size, b), bx + 2)", "bx"))
    arms = rng.choice((("s[i, j]", "0"), ("0", "s[i, j]"), ("0", '-T.infinity("float32")')))
    text = f"""
b = 8
def k(A: T.Tensor((64,), "float32"), size: T.int32):
    with T.Kernel(5, threads=128) as bx:
        off = bx * 5 - 11
        s = T.alloc_fragment((4, 8), "float32")
        for n in T.serial({start}, {stop}):
            for i, j in T.Parallel(4, b):
                s[i, j] = T.if_then_else({condition}, {arms[0]}, {arms[1]})
"""
    return text, condition if arms[0] != "0" or arms[1] != "s[i, j]" else f"not ({condition})"


def turns_of(body: list[ast.stmt], names: dict[str, Any]) -> Iterator[tuple[int, bool]]:
    """The turns that loops take, and whether they are masked."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=one)], value=value) if one != "s":
                names[one] = eval(ast.unparse(value), names)
            case ast.For(iter=ast.Call(args=args)):
                found = [eval(ast.unparse(one), names) for one in args]
                for turn in range(*found):
                    yield turn, "if_then_else" in ast.unparse(statement)


def test_bounds_are_those_of_brute_force() -> None:
    """Turns without masks are those in which conditions hold everywhere, where these are plain."""
    rng = random.Random(7)
    split = without = 0
    for _ in range(200):
        text, condition = random_loop(rng)
        before, program = parse_program(text), parse_program(text)
        program.facts.schedule = PlainSchedule(split_masks=True)
        tree = split_masks.run(program.tree, program.facts)
        split += bool(program.facts.split)
        for bx in range(5):
            for size in (rng.randrange(1, 70), 0):
                names = {"T": Numbers, "bx": bx, "b": 8, "size": size, "math": math}
                plain = [turn for turn, _ in turns_of(body_of(before.tree), dict(names))]
                made = list(turns_of(body_of(tree), dict(names)))
                assert [turn for turn, _ in made] == plain, text
                code = compile(condition, "", "eval")
                for turn, is_masked in made:
                    known = {**names, "n": turn, "off": bx * 5 - 11}
                    holds = all(eval(code, {**known, "i": i, "j": j}) for i, j in LANES)
                    assert is_masked or holds, ast.unparse(tree)
                    without += not is_masked
                    if program.facts.split and " and " not in text and " or " not in text:
                        assert is_masked != holds, ast.unparse(tree)
    assert split > 80 and without > 500


def body_of(tree: ast.Module) -> list[ast.stmt]:
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    (block,) = function.body
    assert isinstance(block, ast.With)
    return block.body


@tile2triton.kernel
@T.split_masks()
def decaying(A, C):
    """Sums of rows, of which later ones count more; loops and their bounds start below zero."""
    n = T.const("n")
    A: T.Tensor((n, 8), T.float32)
    C: T.Tensor((6, 4, 8), T.float32)
    with T.Kernel(6, threads=128) as bx:
        a = T.alloc_fragment((4, 8), T.float32)
        s = T.alloc_fragment((4, 8), T.float32)
        T.clear(s)
        for t in T.serial(bx - 5, T.ceildiv(n, 4)):
            for i, j in T.Parallel(4, 8):
                a[i, j] = T.if_then_else(t * 4 + j + 9 <= bx * 4 + i, A[(t + 5) % n, j], -1.0)
            for i, j in T.Parallel(4, 8):
                s[i, j] = s[i, j] * 0.5 + a[i, j]
        T.copy(s, C[bx, :, :])


@pytest.mark.parametrize("rows", [12, 21])
def test_bounds_below_zero_round_down(rows: int, device: str) -> None:
    """Where Triton's own division rounds towards zero."""
    kernel = transpile(decaying, n=rows, target="cuda:90")
    assert kernel.lowered_facts.split == ["t"]
    a = torch.randn(rows, 8)
    results = [torch.empty(6, 4, 8) for _ in range(2)]
    kernel.reference(a, results[0])
    there = results[1].to(device)
    kernel(a.to(device), there)
    assert torch.equal(results[0], there.cpu())


def attention_case(seq_len: int, is_causal: bool, layout: str = "bshd", **given: Any) -> Case:
    shape = (2, seq_len, 3, 32) if layout == "bshd" else (2, 3, seq_len, 32)
    return Case(
        f"{seq_len}-{is_causal}-{layout}-{'-'.join(map(str, given.values()))}",
        flash_attention_simple.scheduled(SPLIT),
        lambda q, k, v: oracles.flash_attention(q, k, v, is_causal, layout),
        (shape,) * 3,
        sizes=(2, 3, seq_len, 32),
        parameters={"is_causal": is_causal, "layout": layout, **TILE, **given},
    )


CASES = (
    *(attention_case(seq_len, False) for seq_len in (20, 64, 150)),
    *(attention_case(seq_len, True, "bhsd") for seq_len in (20, 192, 250)),
    attention_case(160, True, block_N=128, num_stages=1),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_results_are_right(case: Case, device: str) -> None:
    case.check(case.run(device))


def heads(*shape: int) -> list[torch.Tensor]:
    return [torch.randn(shape, dtype=torch.float16) for _ in range(3)]


@pytest.mark.parametrize("target", ["cuda:90", "cuda:80", "hip:gfx942"])
@pytest.mark.parametrize("more", [Schedule(), Schedule(rotate=True), Schedule(persistent=3)])
def test_bits_are_those_of_one_loop(target: str, more: Schedule) -> None:
    inputs = heads(1, 2, 230, 32)
    for is_causal in (False, True):
        given = {"is_causal": is_causal, "layout": "bhsd", "target": target, **TILE, "threads": 256}
        one = transpile(flash_attention_simple.scheduled(WHOLE), 1, 2, 230, 32, **given)
        kernel = transpile(flash_attention_simple.scheduled(SPLIT | more), 1, 2, 230, 32, **given)
        assert kernel.lowered_facts.split == ["k"]
        assert not more or bool(kernel.lowered_facts.rotated) == ("rotate" in repr(more))
        assert torch.equal(kernel(*inputs), one(*inputs))


@tile2triton.kernel(out_idx=[3])
def windowed(heads, dim, window=None, is_dynamic=True, scale=0.25):
    """Rows see the columns up to their own, counted from the end, or only the last of these."""
    q_len = T.dynamic("q_len") if is_dynamic else 100
    kv_len = T.dynamic("kv_len") if is_dynamic else 70

    @T.prim_func
    def main(
        Q: T.Tensor((heads, q_len, dim), T.float16),
        K: T.Tensor((heads, kv_len, dim), T.float16),
        V: T.Tensor((heads, kv_len, dim), T.float16),
        Out: T.Tensor((heads, q_len, dim), T.float32),
    ):
        with T.Kernel(T.ceildiv(q_len, 32), heads, threads=128) as (bx, by):
            q = T.alloc_shared((32, dim), T.float16)
            k = T.alloc_shared((16, dim), T.float16)
            v = T.alloc_shared((16, dim), T.float16)
            s = T.alloc_fragment((32, 16), T.float32)
            w = T.alloc_fragment((32, 16), T.float16)
            acc = T.alloc_fragment((32, dim), T.float32)
            past = kv_len - q_len
            T.copy(Q[by, bx * 32, 0], q)
            T.clear(acc)
            for n in T.Pipelined(T.ceildiv(kv_len, 16), num_stages=2):
                T.copy(K[by, n * 16, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(32, 16):
                    row = bx * 32 + i + past
                    is_hidden = n * 16 + j > row or n * 16 + j >= kv_len
                    if window is not None:
                        is_hidden = is_hidden or row - (n * 16 + j) >= window
                    s[i, j] = T.if_then_else(is_hidden, 0, s[i, j] * scale)
                T.copy(s, w)
                T.copy(V[by, n * 16, 0], v)
                T.gemm(w, v, acc)
            T.copy(acc, Out[by, bx * 32, 0])

    return main


@pytest.mark.parametrize("window", [None, 40, 7])
@pytest.mark.parametrize("lengths", [(100, 70), (33, 96), (64, 64), (5, 130)])
def test_windows_and_lengths_known_at_the_launch(lengths: tuple[int, int], window: Any) -> None:
    q_len, kv_len = lengths
    q = torch.randn(2, q_len, 16, dtype=torch.float16)
    k, v = (torch.randn(2, kv_len, 16, dtype=torch.float16) for _ in range(2))
    kernel = transpile(windowed.scheduled(SPLIT), 2, 16, window=window)
    assert kernel.lowered_facts.split == ["n"]
    loops = kernel.triton_source.count("for n in ")
    assert loops == (2 if window is None else 3)
    one = transpile(windowed.scheduled(WHOLE), 2, 16, window=window)
    assert torch.equal(kernel(q, k, v), one(q, k, v))
    rows, columns = torch.arange(q_len)[:, None] + kv_len - q_len, torch.arange(kv_len)
    seen = (columns <= rows) & (rows - columns < (window or kv_len + q_len))
    scores = torch.where(seen, q.double() @ k.double().mT * 0.25, 0.0).half().double()
    assert torch.allclose(kernel(q, k, v).double(), scores @ v.double(), atol=2e-2)


def source(kernel: Any, *sizes: int, **given: Any) -> str:
    return transpile(kernel, *sizes, **given).triton_source


def test_masks_that_hide_nothing_are_left_out_as_long_as_sizes_divide() -> None:
    text = source(flash_attention_simple.scheduled(SPLIT), 1, 2, 256, 32, **TILE)
    assert "tl.static_assert(seq_len % block_N == 0)" in text
    assert text.count("for k in") == 1 and "tl.where" not in text
    assert "scores = tl.dot(Q_shared, tl.trans(K_shared))" in text


def report(kernel: CompiledKernel) -> tuple[str, str]:
    (hint,) = (one for one in kernel.lowered_facts.hint_report if "split_masks" in one.construct)
    return hint.how, hint.detail


def test_the_report_says_what_became_of_it() -> None:
    given = {"is_causal": True, **TILE}
    kernel = transpile(flash_attention_simple.scheduled(SPLIT), 1, 2, 256, 32, **given)
    assert report(kernel) == (
        "native",
        "turns of the loop over `k` in which masks hide nothing have none",
    )
    kernel = transpile(flash_attention_simple.scheduled(WHOLE), 1, 2, 256, 32, **given)
    assert report(kernel) == ("native", "loops with masks stay whole")
    assert kernel.triton_source.count("for k in") == 1
    inputs = [torch.empty(1, 2, 256, 32, dtype=torch.float16)] * 3
    how, detail = report(transpile(attention.scheduled(SPLIT), *inputs, target="cuda:80"))
    assert how == "none" and "from the start" in detail


def test_loops_that_are_split_by_hand_stay_as_they_are() -> None:
    given = {"is_causal": True, **TILE}
    by_hand = transpile(flash_attention.scheduled(SPLIT), 1, 2, 256, 32, **given)
    assert by_hand.triton_source == source(flash_attention.scheduled(WHOLE), 1, 2, 256, 32, **given)
    assert by_hand.lowered_facts.unsplit == [
        "the loop over `k`: it goes on where a loop before it stopped"
    ]


@tile2triton.kernel
def summed(A, C, counts=1, has_products=True, sees=0):
    """Sums of what is masked, in loops of several kinds."""
    N = T.const("N")
    A: T.Tensor((N, 16), T.float32)
    C: T.Tensor((16, 16), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((16, 16), T.float32)
        c = T.alloc_fragment((16, 16), T.float32)
        limit = T.alloc_var(T.int32, 3)
        T.clear(c)
        for n in T.serial(0, N // 16, counts):
            if sees == 1:
                limit = limit + n
            for i, j in T.Parallel(16, 16):
                a[i, j] = T.if_then_else(n * 16 + j < limit + 30, A[n * 16 + i, j], 0)
            if has_products:
                T.gemm(a, a, c)
            else:
                for i, j in T.Parallel(16, 16):
                    c[i, j] += a[i, j]
        T.copy(c, C)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, ""),
        ({"counts": 2}, "it does not count one by one"),
        ({"has_products": False}, ""),
        ({"sees": 1}, None),
    ],
)
def test_loops_that_stay_as_they_are_say_why(given: dict[str, Any], reason: str | None) -> None:
    kernel = transpile(summed.scheduled(SPLIT), N=64, **given)
    said = [f"the loop over `n`: {reason}"] if reason else []
    assert kernel.lowered_facts.unsplit == said
    assert kernel.lowered_facts.split == (["n"] if reason == "" else [])
    a = torch.randn(64, 16)
    results = [torch.empty(16, 16) for _ in range(2)]
    kernel(a, results[0])
    transpile(summed.scheduled(WHOLE), N=64, **given)(a, results[1])
    assert torch.equal(*results)
