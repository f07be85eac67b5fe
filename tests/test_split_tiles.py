"""Tiles whose parts are used apart become tiles of their own; what they compute stays."""

import ast
import re

import pytest
import torch

from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import pipeline

PROGRAM = """
M = 32
D = {D}
TAIL = {tail}
N = {N}
def k(A: T.Tensor((M, D + TAIL), "float16"), B: T.Tensor((N, D + TAIL), "float16"),
      C: T.Tensor((M, N), "float32"), E: T.Tensor((M, D + TAIL), "float16")):
    with T.Kernel(1, threads=128) as bx:
        q = T.alloc_shared((M, D + TAIL), "float16")
        kv = T.alloc_shared((N, D + TAIL), "float16")
        acc = T.alloc_fragment((M, N), "float32")
        {load}
        T.gemm(q[:, :D], kv[:, :D], acc, transpose_B=True, clear_accum=True)
        T.gemm(q[:, D:], kv[:, D:D + TAIL], acc, transpose_B=True)
        T.copy(acc, C)
        {store}
"""
LOADS = {
    "whole": "T.copy(A, q)\n        T.copy(B, kv)",
    "parts": (
        "T.copy(A[0:M, :D], q[:, :D])\n        T.copy(A[0:M, D:], q[:, D:])\n"
        "        T.copy(B[0, 0], kv)"
    ),
    "elements": (
        "T.copy(A, q)\n        for i, j in T.Parallel(N, D):\n            kv[i, j] = B[i, j]\n"
        "        for i, j in T.Parallel(N, TAIL):\n            kv[i, D + j] = B[i, D + j]"
    ),
    "filled": "T.clear(q)\n        T.fill(kv, 2)\n        T.copy(B, kv)\n        T.copy(A, q)",
}


@pytest.mark.parametrize(("D", "tail", "N"), [(64, 32, 16), (64, 16, 24), (48, 16, 32)])
@pytest.mark.parametrize("load", LOADS.values(), ids=list(LOADS))
def test_operands_of_two_products(D, tail, N, load, device):
    store = "T.copy(q, E)"
    text = PROGRAM.format(D=D, tail=tail, N=N, load=load, store=store)
    a = torch.randn(32, D + tail).half()
    b = torch.randn(N, D + tail).half()
    outcome = agree(text, [a, b], device, outputs=("C", "E"))
    assert "q_0 = " in outcome.text and "kv_0 = " in outcome.text
    assert "tl.reshape" not in outcome.text
    # Only an inner size that is no power of two needs its padding masked.
    assert D == 48 or "tl.where(offs" not in outcome.text


def test_tile_that_is_also_used_as_a_whole_stays_one(device):
    store = (
        "for i, j in T.Parallel(M, D + TAIL):\n            q[i, j] = q[i, j] * 2\n"
        "        T.copy(q, E)"
    )
    text = PROGRAM.format(D=64, tail=32, N=16, load=LOADS["whole"], store=store)
    a, b = torch.randn(32, 96).half(), torch.randn(16, 96).half()
    outcome = agree(text, [a, b], device, outputs=("C", "E"))
    assert "q_0" not in outcome.text and "kv_0 = " in outcome.text


def test_tile_that_is_read_across_its_parts_stays_one(device):
    store = "T.copy(q[:, 16:48], E[0:M, 0:32])"
    text = PROGRAM.format(D=32, tail=64, N=16, load=LOADS["whole"], store=store)
    a, b = torch.randn(32, 96).half(), torch.randn(16, 96).half()
    outcome = agree(text, [a, b, torch.zeros(32, 96).half()], device, outputs=("C",))
    assert "q_0" not in outcome.text


def test_parts_in_a_loop_and_under_a_condition(device):
    agree(
        """
        def k(A: T.Tensor((4, 16, 96), "float32"), n: T.int32, C: T.Tensor((16, 96), "float32")):
            with T.Kernel(1, threads=128) as bx:
                t = T.alloc_shared((16, 96), "float32")
                T.clear(t)
                for k in T.serial(n):
                    if k % 2 == 0:
                        for i, j in T.Parallel(16, 64):
                            t[i, j] += A[k, i, j]
                    else:
                        T.copy(A[k, 0:16, 64:96], t[:, 64:96])
                        for i, j in T.Parallel(16, 16):
                            t[i, j + 16] = t[i, 2 * j] + t[i, 63 - j]
                T.copy(t, C[0:16, :])
        """,
        [torch.randn(4, 16, 96), 3],
        device,
    )


def test_static_stages_are_tiles_of_their_own(device):
    outcome = agree(
        """
        def k(A: T.Tensor((32, 64), "float16"), B: T.Tensor((64, 32), "float16"),
              C: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((2, 32, 32), "float16")
                b = T.alloc_shared((2, 32, 32), "float16")
                acc = T.alloc_fragment((32, 32), "float32")
                T.clear(acc)
                T.copy(A[0:32, 0:32], a[0, :, :])
                T.copy(A[0:32, 32:64], a[1, :, :])
                T.copy(B[0:32, 0:32], b[0, :, :])
                T.copy(B[32:64, 0:32], b[1, :, :])
                T.gemm(a[0, :, :], b[0, :, :], acc)
                T.gemm(a[1, :, :], b[1, :, :], acc)
                T.copy(acc, C)
        """,
        [torch.randn(32, 64).half(), torch.randn(64, 32).half()],
        device,
    )
    assert "tl.where" not in outcome.text


def test_program_is_lowered_again_as_it_was():
    text = PROGRAM.format(D=64, tail=32, N=16, load=LOADS["whole"], store="T.copy(q, E)")
    program = parse_program(text, outputs=("C", "E"))
    texts = [ast.unparse(pipeline.lower(program, "hip:gfx942")) for _ in range(2)]
    assert texts[0] == texts[1]


def test_operand_that_starts_a_region_reaches_past_the_element_it_names(device):
    outcome = agree(
        """
        def k(A: T.Tensor((3, 16, 32), "float32"), C: T.Tensor((2, 16, 32), "float32"),
              D: T.Tensor((16, 32), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((3, 16, 32), "float32")
                T.copy(A, a)
                for i, j in T.Parallel(16, 16):
                    T.atomic_addx2(D[i, j * 2], a[2, i, j * 2])
                T.copy(a[1, 0, 0], C)
        """,
        [torch.randn(3, 16, 32), torch.zeros(2, 16, 32), torch.randn(16, 32)],
        device,
        outputs=(),
    )
    assert not re.search(r"\ba_1 = ", outcome.text)
