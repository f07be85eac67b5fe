"""What is claimed of hints, held against compiled code."""

import pytest

import tile2triton
import tile2triton.language as T
from rewrites.facts import Claim
from tests.compiled_hints import compiled
from tile2triton import compile_check
from tile2triton.explaining.claims import contradiction
from tile2triton.explaining.report import explained
from tile2triton.explaining.tiles import Move, Product


def move(*instructions: str, layout: str = "", kind: str = "load") -> Move:
    counts = dict.fromkeys(instructions, 1)
    return Move(kind, "a", "A", 1, (64, 64), "f16", 8192, int(bool(layout)), layout, counts)


def product(*warps: int) -> Product:
    return Product("c", 1, (64, 64), "f32", warps, "", {})


CASES = [
    (Claim("warps", (4, 1)), product(4, 1), ""),
    (Claim("warps", (4, 1)), product(2, 2), "2 by 2 parts of the product, not 4 by 1"),
    (Claim("bytes", (16,)), move("ld.global.v4.b32"), ""),
    (Claim("bytes", (16,)), move("cp.async 4 bytes"), "moves 4 bytes at once"),
    (Claim("bytes", (8,)), move("ld.global.v2.b32", "ld.global.b16"), ""),
    (Claim("bytes", (8,)), move("ld.global.L1::evict_last.v2.b64"), "16 bytes at once, not 8"),
    (Claim("bytes", (8,)), move("st.global.b16", kind="store"), "moves 2 bytes at once"),
    (Claim("asynchronous"), move("cp.async 16 bytes"), ""),
    (Claim("asynchronous"), move("ld.global.b8"), "by ld.global.b8"),
    (Claim("swizzled"), move(layout="swizzled, 8 elements, 4 phases of 2 rows"), ""),
    (Claim("swizzled"), move(layout="not swizzled"), "one after the other"),
    (Claim("swizzled", (8, 4, 2)), move(layout="swizzled by 64 bytes"), ""),
    (Claim("swizzled", (8, 4, 2)), move(layout="swizzled, 4 elements, 8 phases of 2 rows"), "lies"),
]


@pytest.mark.parametrize(("claim", "row", "words"), CASES)
def test_code_that_shows_something_else_is_said(claim, row, words):
    said = contradiction(claim, [row])
    assert bool(said) == bool(words) and words in said


@tile2triton.kernel(out_idx=[2])
def ragged(size=255, **hints):
    """Rows of bytes that begin anywhere, which nothing but a load of single bytes can read."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "int8"),
        B: T.Tensor((size, size), "int8"),
        C: T.Tensor((size, size), "int32"),
    ):
        with T.Kernel(T.ceildiv(size, 64), T.ceildiv(size, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "int8")
            b = T.alloc_shared((64, 64), "int8")
            c = T.alloc_fragment((64, 64), "int32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, 64), num_stages=2):
                T.copy(A[by * 64, k * 64], a, prefer_instruction="cp_async", coalesced_width=8)
                T.copy(B[bx * 64, k * 64], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 64, bx * 64])

    return main


@pytest.mark.compile
@pytest.mark.parametrize(("size", "how"), [(255, "none"), (256, "native")])
def test_copies_are_native_where_the_code_has_them(size, how):
    said, _ = compiled(ragged, "cuda:80", size=size)
    hints = {one.construct: one for one in said.hints if "T.copy" in one.construct}
    assert {one.how for one in hints.values()} == {how}, hints


@tile2triton.kernel(out_idx=[1, 2])
def two(policy="FullRow"):
    """Two kernels that call their tiles the same."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64, 64), "float32"),
        B: T.Tensor((64, 64), "float16"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, policy=policy, clear_accum=True)
            T.copy(c, C)
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.annotate_layout({a: T.Layout((64, 64), lambda i, j: [i, j ^ (i % 8 * 8)])})
            T.copy(A, a, coalesced_width=8)
            T.gemm(a, a, c, clear_accum=True)
            T.copy(B, a, coalesced_width=2)
            T.gemm(a, a, c)
            T.copy(c, D, coalesced_width=2)

    return main


@pytest.mark.compile
def test_each_kernel_has_its_own_hints_in_the_users_names():
    kernel = tile2triton.transpile(two, target="cuda:80")
    text, facts = kernel.emitted_for("cuda:80")
    reports = compile_check.check_all([(text, facts, "cuda:80")], is_listed=True)
    first, second = (said.hints for said in explained(text, facts, reports))
    assert [one.construct for one in first] == [
        "T.Kernel(…, threads=128)",
        "T.gemm(a, a, c, policy='FullRow')",
    ]
    assert [one.construct for one in second] == [
        "T.Kernel(…, threads=64)",
        "T.annotate_layout({a: Layout(…)})",
        "T.copy(A, a, coalesced_width=8)",
        "T.copy(B, a, coalesced_width=2)",
        "T.copy(c, D, coalesced_width=2)",
    ]
    # A store is judged by what it stores, and a load by what it loads from where.
    assert [list(one.evidence) for one in second[2:]] == [["a_1"], ["a_1"], ["D"]]
    assert [one.how for one in second[2:]] == ["native"] * 3
