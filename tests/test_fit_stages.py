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
