"""Stages that cannot fit into a target's shared memory are lowered, and no others."""

import pytest

import tile2triton
import tile2triton.language as T
from tile2triton.compile_check import check
from tile2triton.emit import emit
from tile2triton.pipeline import lower


def gemm(stages: int, block_n: int = 256):
    @T.prim_func
    def gemm(
        A: T.Tensor((1024, 1024), "float16"),
        B: T.Tensor((1024, 1024), "float16"),
        C: T.Tensor((1024, 1024), "float16"),
    ):
        with T.Kernel(1024 // block_n, 8, threads=256) as (bx, by):
            a = T.alloc_shared((128, 64), "float16")
            b = T.alloc_shared((64, block_n), "float16")
            c = T.alloc_fragment((128, block_n), "float32")
            T.clear(c)
            for k in T.Pipelined(16, num_stages=stages):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, bx * block_n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * block_n])

    return gemm


@pytest.mark.parametrize(
    ("target", "stages", "block_n", "kept"),
    [
        # A stage of 128 x 64 and 64 x 256 halves has 48 KiB, one of 128 x 64 and 64 x 64 has 24.
        ("cuda:90", 4, 256, None),
        ("cuda:90", 5, 256, None),
        ("cuda:90", 6, 256, 4),
        ("cuda:80", 4, 256, None),
        ("cuda:80", 5, 256, 3),
        ("hip:gfx942", 2, 256, None),
        ("hip:gfx942", 3, 256, 2),
        ("hip:gfx942", 3, 64, None),
        ("hip:gfx942", 4, 64, 3),
        ("hip:gfx950", 4, 256, None),
    ],
)
def test_stages_that_cannot_fit_are_lowered(target, stages, block_n, kept):
    kernel = tile2triton.compile(gemm(stages, block_n), target=target)
    text = kernel.triton_source
    if kept is None:
        assert f"num_stages={stages})" in text
        assert "stages would take" not in text
    else:
        assert f"num_stages={kept})" in text
        assert f"# {stages} stages would take " in text


@pytest.mark.compile
def test_lowered_stages_compile():
    program = gemm(3).program()
    tree = lower(program, "hip:gfx942")
    reports = check(emit(tree, program.facts), program.facts, ("hip:gfx942",))
    assert [report.ok for report in reports] == [True]


def gathered(stages: int):
    @T.prim_func
    def gathered(
        A: T.Tensor((64, 512), "float16"),
        B: T.Tensor((4096, 512), "float16"),
        Rows: T.Tensor((1024,), "int32"),
        C: T.Tensor((64, 1024), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((64, 512), "float16")
            b = T.alloc_shared((64, 512), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            for k in T.Pipelined(16, num_stages=stages):
                for i, j in T.Parallel(64, 512):
                    row = Rows[k * 64 + i]
                    b[i, j] = T.if_then_else(row >= 0, B[row, j], 0)
                T.gemm(a, b, c, transpose_B=True, clear_accum=True)
                T.copy(c, C[0, k * 64])

    return gathered


@pytest.mark.parametrize(
    ("target", "stages", "kept"),
    [("hip:gfx942", 2, 1), ("hip:gfx950", 2, None), ("cuda:90", 3, None), ("cuda:90", 5, 3)],
)
def test_gathered_rows_have_stages_too(target, stages, kept):
    text = tile2triton.compile(gathered(stages), target=target).triton_source
    assert f"num_stages={stages if kept is None else kept})" in text
    assert ("stages would take" in text) == (kept is not None)
