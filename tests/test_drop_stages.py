"""Tiles of several stages by hand: one stage is enough where each turn fills it first."""

import pytest
import torch

from tests.three_meanings import agree

PROGRAM = """
block = 32
def k(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 64), "float16"), n: T.int32,
      C: T.Tensor((128, 64), "float32")):
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((3, block, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        acc = T.alloc_fragment((block, 64), "float32")
        T.copy(B, b)
        {before}
        for k in T.serial(n):
            {body}
            T.gemm(a[k % 3, :, :], b, acc, clear_accum=True)
            T.copy(acc, C[k * block, 0])
        {behind}
"""
LOAD = "T.copy(A[k * block, 0], a[k % 3, :, :])"
ONE_STAGE = {
    "copy": ("", LOAD, ""),
    "elements": (
        "",
        "for i, j in T.Parallel(block, 64):\n                a[k % 3, i, j] = A[k * block + i, j]",
        "",
    ),
    "filled again": (
        "",
        f"T.fill(a[k % 3, :, :], 1)\n            if k > 1:\n                {LOAD}",
        "",
    ),
    "used by a loop in between": (
        "",
        f"{LOAD}\n            for m in T.serial(2):\n"
        "                for i, j in T.Parallel(block, 64):\n"
        "                    a[k % 3, i, j] = a[k % 3, i, j] * 2",
        "",
    ),
    "two loops": (
        f"for k in T.serial(2):\n            {LOAD}\n            T.gemm(a[k % 3, :, :], b, acc)",
        LOAD,
        "",
    ),
}
STAGES = {
    "filled ahead": (
        "T.copy(A[0, 0], a[0, :, :])",
        "if k + 1 < n:\n                T.copy(A[(k + 1) * block, 0], a[(k + 1) % 3, :, :])",
        "",
    ),
    "filled in part": (
        "T.fill(a[0, :, :], 1)\n        T.fill(a[1, :, :], 2)\n        T.fill(a[2, :, :], 3)",
        "T.copy(A[k * block, 0], a[k % 3, 0:block, 0:32])",
        "",
    ),
    "read behind the loop": ("", LOAD, "T.gemm(a[0, :, :], b, acc)\n        T.copy(acc, C[0, 0])"),
    "filled under a condition": (
        "T.clear(a)",
        f"if k != 1:\n                {LOAD}",
        "",
    ),
}


def outcome_of(parts, device):
    before, body, behind = parts
    text = PROGRAM.format(before=before, body=body, behind=behind)
    a, b = torch.randn(128, 64).half(), torch.randn(64, 64).half()
    return agree(text, [a, b, 4], device, tolerance=1e-3)


@pytest.mark.parametrize("parts", ONE_STAGE.values(), ids=list(ONE_STAGE))
def test_stage_that_is_filled_in_each_turn_stands_alone(parts, device):
    assert "a_stage = " in outcome_of(parts, device).text


@pytest.mark.parametrize("parts", STAGES.values(), ids=list(STAGES))
def test_stages_that_hold_values_stay(parts, device):
    assert "a_stage" not in outcome_of(parts, device).text
