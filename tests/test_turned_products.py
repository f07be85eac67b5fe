"""Products whose second factor ptxas may lose are made turned round."""

import pytest
import torch

from tests.three_meanings import agree


def products(columns: int, rows: int, how: str) -> str:
    """(q kᵀ) as the second factor of 512 rows, computed or read again from memory."""
    return f"""
    def products(
        Q: T.Tensor((64, {columns}), "bfloat16"),
        K: T.Tensor(({rows}, {columns}), "bfloat16"),
        P: T.Tensor((64, {rows}), "bfloat16"),
        C: T.Tensor(({columns}, {rows}), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            q = T.alloc_shared((64, {columns}), "bfloat16")
            k = T.alloc_shared(({rows}, {columns}), "bfloat16")
            p = T.alloc_shared((64, {rows}), "bfloat16")
            s = T.alloc_fragment((64, {rows}), "float32")
            acc = T.alloc_fragment(({columns}, {rows}), "float32")
            T.copy(Q, q)
            T.copy(K, k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.copy({how}, p)
            T.clear(acc)
            for i in T.serial(2):
                T.gemm(q, p, acc, transpose_A=True)
            for i, j in T.Parallel({columns}, {rows}):
                acc[i, j] += s[0, j]
            T.copy(acc, C)
    """


@pytest.mark.parametrize(("columns", "rows"), [(256, 32), (72, 16), (256, 64), (64, 32)])
@pytest.mark.parametrize("how", ["s", "P"])
def test_factors_of_few_columns_after_wider_ones_are_turned(columns, rows, how, device):
    generator = torch.Generator().manual_seed(7)
    sizes = [(64, columns), (rows, columns), (64, rows)]
    operands = [torch.randn(size, generator=generator).to(torch.bfloat16) for size in sizes]
    text = agree(products(columns, rows, how), operands, device, tolerance=1e-2).text
    turned = "acc_transposed = tl.dot(tl.trans(p), q, acc_transposed)"
    assert (turned in text) == (rows < 64), text
    assert ("# Turned round: ptxas 12.8 may lose where p lies." in text) == (turned in text)


def test_factors_of_one_width_are_not_turned(device):
    """Attention of 32 columns: the probabilities stay in registers."""
    text = """
    def attend(
        Q: T.Tensor((64, 32), "float16"), K: T.Tensor((64, 32), "float16"),
        V: T.Tensor((64, 32), "float16"), C: T.Tensor((64, 32), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            q = T.alloc_shared((64, 32), "float16")
            k = T.alloc_shared((64, 32), "float16")
            v = T.alloc_shared((64, 32), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            p = T.alloc_fragment((64, 64), "float16")
            acc = T.alloc_fragment((64, 32), "float32")
            T.copy(Q, q)
            T.copy(K, k)
            T.copy(V, v)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.copy(s, p)
            T.gemm(p, v, acc, clear_accum=True)
            T.copy(acc, C)
    """
    generator = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn((64, 32), generator=generator).half() for _ in range(3))
    assert "Turned" not in agree(text, [q, k, v], device, tolerance=1e-2).text
