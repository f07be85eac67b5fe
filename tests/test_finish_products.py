"""Products whose first factor is computed end in the turn of the loop in which they begin."""

import re
from functools import partial

import pytest

import tile2triton
import tile2triton.language as T
from tests.kernels.chunk_scan import chunk_scan
from tests.kernels.chunk_state import chunk_state
from tests.kernels.dequantized_gemm import dequantized_gemm
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.linear_attention import linear_attention
from tests.patched import assembly
from tile2triton import CompiledKernel, Schedule, pipeline, transpile

MAMBA = {"batch": 1, "chunks": 2, "groups": 1, "chunk": 128, "seq_len": 256, "heads": 2}
MAMBA |= {"dim": 64, "dim_state": 128}
INT4 = {"M": 128, "N": 128, "K": 512, "bytes_K": 256, "groups": 4, "block_K": 64}


def scan(**given: object) -> CompiledKernel:
    return transpile(chunk_scan, **MAMBA, **given)


def unpacked(**given: object) -> CompiledKernel:
    return transpile(dequantized_gemm.scheduled(Schedule(swap_ab=True)), **INT4, **given)


COMPUTED = (scan, lambda **given: transpile(chunk_state, **MAMBA, **given), unpacked)


@pytest.mark.parametrize("kernel", COMPUTED, ids=["scan", "state", "unpacked"])
def test_a_computed_first_factor_is_waited_for(kernel):
    text = kernel().triton_source
    assert text.count("if never:") == 1
    assert "never = tl.program_id(0) // tl.num_programs(0) == 1" in text
    # Without stages, too, Triton goes on where a factor is loaded outside of the loop.
    assert kernel(num_stages=1).triton_source.count("if never:") == 1
    for target in ("cuda:80", "cuda:100", "hip:gfx942"):
        assert "never" not in kernel(target=target).triton_source


def test_what_is_loaded_or_follows_a_product_is_not():
    for kernel in (
        transpile(gemm, M=512, N=512, K=512),
        transpile(gemm, M=512, N=512, K=512, transpose_B=True),
        transpile(dequantized_gemm, **INT4),
        transpile(flash_attention, 1, 2, 512, 64, True),
        transpile(linear_attention, batch=1, seq_len=256, heads=2, dim_K=64, dim_V=64),
    ):
        assert "never" not in kernel.triton_source


@tile2triton.kernel
def renamed(A, B, is_used=False, in_a_branch=False, is_carried=False):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), T.float16)
        b = T.alloc_shared((64, 64), T.float16)
        made = T.alloc_fragment((64, 64), T.float16)
        factor = T.alloc_fragment((64, 64), T.float16)
        c = T.alloc_fragment((64, 64), T.float32)
        T.clear(c)
        T.clear(factor)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            if in_a_branch:
                if bx > 0:
                    for i, j in T.Parallel(64, 64):
                        made[i, j] = a[i, j] * 2
                else:
                    T.copy(a, made)
            else:
                for i, j in T.Parallel(64, 64):
                    made[i, j] = a[i, j] * 2
            if is_carried:
                T.gemm(factor, b, c)
                T.copy(made, factor)
            else:
                T.copy(made, factor)
                T.gemm(factor, b, c)
            if is_used:
                for i, j in T.Parallel(64, 64):
                    c[i, j] *= 0.5
        T.copy(c, C[by * 64, bx * 64])
    return C


def test_names_and_branches_are_followed():
    sizes = {"M": 128, "N": 128, "K": 256}
    assert transpile(renamed, **sizes).triton_source.count("if never:") == 1
    assert transpile(renamed, **sizes, in_a_branch=True).triton_source.count("if never:") == 1
    assert transpile(renamed, **sizes, is_carried=True).triton_source.count("if never:") == 1
    # Who scales the sum waits for it.
    assert "never" not in transpile(renamed, **sizes, is_used=True).triton_source


@tile2triton.kernel
def in_forms(A, B, form="", stages=2):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), T.float16)
        b = T.alloc_shared((64, 64), T.float16)
        factor = T.alloc_fragment((64, 64), T.float16)
        wide = T.alloc_fragment((64, 64), T.float32)
        sums = T.alloc_fragment((64,), T.float32)
        c = T.alloc_fragment((64, 64), T.float32)
        T.clear(c)
        T.copy(B[0, bx * 64], b)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=stages):
            T.copy(A[by * 64, k * 64], a)
            if form != "invariant":
                T.copy(B[k * 64, bx * 64], b)
            if form == "nested":
                for r in T.serial(4):
                    for i, j in T.Parallel(64, 64):
                        factor[i, j] = a[i, j] * r
                    T.gemm(factor, b, c)
            elif form == "conditional":
                T.fill(wide, 1)
                if k < bx:
                    T.gemm(a, b, wide)
                for i, j in T.Parallel(64, 64):
                    factor[i, j] = T.exp(wide[i, j])
                T.gemm(factor, b, c)
            elif form == "renamed":
                T.gemm(a, b, wide, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    wide[i, j] = wide[i, j] * 2
                T.reduce_sum(wide, sums, dim=1)
                for i, j in T.Parallel(64, 64):
                    wide[i, j] = a[i, j] * 3
                T.copy(wide, factor)
                T.gemm(factor, b, c)
            else:
                for i, j in T.Parallel(64, 64):
                    factor[i, j] = a[i, j] * 2
                T.gemm(factor, b, c)
                if form == "unused":
                    T.reduce_sum(c, sums, dim=1)
        T.copy(c, C[by * 64, bx * 64])
    return C


FORMS = [
    ("nested", 2),
    ("conditional", 2),
    ("renamed", 2),
    ("unused", 2),
    ("invariant", 2),
    ("invariant", 1),
]


@pytest.mark.parametrize(("form", "stages"), FORMS)
def test_other_forms_are_waited_for(form, stages):
    kernel = transpile(in_forms, M=128, N=128, K=256, form=form, stages=stages)
    assert kernel.triton_source.count("if never:") == 1


def left_over(kernel: CompiledKernel) -> set[int]:
    """How many instructions may be at work behind each product of registers, where Triton waits."""
    text = assembly(kernel)["ttgir"]
    products = re.split(r"= ttng\.warp_group_dot (?=%\S+, .*: tensor<)", text)[1:]
    waits = [re.search(r"pendings = (\d+)", rest) for rest in products]
    return {int(wait.group(1)) for wait in waits if wait is not None}


@pytest.mark.compile
@pytest.mark.parametrize(
    "kernel",
    [
        *COMPUTED,
        lambda: transpile(renamed, M=128, N=128, K=256, is_used=True),
        *(
            partial(transpile, in_forms, M=128, N=128, K=256, form=form, stages=stages)
            for form, stages in FORMS
        ),
    ],
    ids=["scan", "state", "unpacked", "scaled", *(f"{form}-{stages}" for form, stages in FORMS)],
)
def test_triton_waits_for_all_of_the_product(kernel, monkeypatch):
    assert left_over(kernel()) == {0}
    if kernel is COMPUTED[2]:
        rest = tuple(one for one in pipeline.PIPELINE if one.name != "finish_products")
        monkeypatch.setattr(pipeline, "PIPELINE", rest)
        assert left_over(unpacked(block_M=64)) - {0}, "Triton waits by itself: leave the pass out"
