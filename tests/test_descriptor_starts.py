"""Tensor maps begin blocks at multiples of 16 bytes: elsewhere an H200 stops with an error."""

import pytest
import torch

from tests.three_meanings import agree

STARTS = {
    "k * 32": True,
    "k * 32 + 8": True,
    "k * 32 - 8": True,
    "(k * 4) * 2": True,
    "shift": True,
    "k * 32 - 1": False,
    "k * 32 + 3": False,
    "k * 4": False,
    "n": False,
    "T.min(k * 32, 8)": True,
}


@pytest.mark.parametrize("start", STARTS)
def test_blocks_begin_at_multiples_of_16_bytes(start, device):
    """The first factor is read from a start; where it may lie between, by a plain load."""
    text = f"""
    def product(
        A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), n: T.int32,
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.serial(2):
                shift = k * 16
                T.copy(A[0, {start}], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, acc)
            T.copy(acc, C)
    """
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randint(-3, 4, (64, 64), generator=generator).half() for _ in range(2))
    emitted = agree(text, [a, b, 5], device).text
    assert ("A_desc.load" in emitted) == STARTS[start]
