"""T.Parallel over extents that are known at run time only."""

# Kernels are written as their users write them.

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel


def filled(shape, dtype):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(-9, 9, shape, generator=generator).to(getattr(torch, dtype))


@pytest.mark.parametrize("threads", [64, 96, 256])
@pytest.mark.parametrize("valid", [0, 13, 200, 300, 600])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_extent_of_a_computed_length(threads, valid, dtype, device):
    @T.prim_func
    def main(A: T.Tensor((300,), dtype), B: T.Tensor((300,), dtype), valid_len: T.int32):
        with T.Kernel(1, threads=threads):
            for i in T.Parallel(300):
                B[i] = 0
            span = T.min(valid_len, 300)
            for i in T.Parallel(span):
                x = A[i] + i % 3
                B[i] = x
            for i in T.Parallel(T.max(span - 290, 0)):
                if A[i] > 0:
                    B[290 + i] = 7
                else:
                    B[290 + i] -= 1

    a = filled((300,), dtype)
    expected = torch.zeros_like(a)
    n = min(valid, 300)
    expected[:n] = a[:n] + (torch.arange(n) % 3).to(a.dtype)
    m = max(n - 290, 0)
    tail = expected[290 : 290 + m]
    expected[290 : 290 + m] = torch.where(a[:m] > 0, torch.full_like(tail, 7), tail - 1)
    _, made = run_kernel(tile2triton.compile(main), [a, torch.zeros_like(a), valid], device)
    assert torch.equal(made, expected)


@pytest.mark.parametrize("count", [1, 5, 70])
def test_extents_of_sizes_of_tiles_and_of_memory(count, device):
    """Several extents at once, parts of tiles, atomics, and an extent that a loop changes."""

    @tile2triton.kernel
    def main(A, N, S):
        M, K = T.dynamic("M, K")
        A: T.Tensor((M, K), "float32")
        N: T.Tensor((1,), "int32")
        S: T.Tensor((1,), "float32")
        out = T.empty((M, K), "float32")
        with T.Kernel(1, threads=32):
            tile = T.alloc_fragment((80,), "float32")
            T.clear(tile)
            left = T.alloc_var("int32", init=N[0])
            for i in T.Parallel(left):
                tile[i] = i
                T.atomic_add(S[0], 1.0)
            for i, j in T.Parallel(M, K):
                out[i, j] = A[i, j] * 2.0 + tile[i]
            for i, j in T.Parallel(2, left - 1):
                out[j, i] = -1.0
        return out

    a = filled((count + 3, 9), "float32")
    n = torch.tensor([count], dtype=torch.int32)
    total = torch.zeros(1).to(device)
    expected = a * 2
    expected[:count] += torch.arange(count)[:, None]
    expected[: count - 1, :2] = -1
    made = main(a.to(device), n.to(device), total)
    assert torch.equal(made.cpu(), expected)
    assert total.item() == count


def test_extent_that_is_no_whole_number():
    @T.prim_func
    def main(B: T.Tensor((8,), "float32"), x: T.float32):
        with T.Kernel(1):
            for i in T.Parallel(x):
                B[i] = 0

    with pytest.raises(tile2triton.Error, match="T2T157"):
        tile2triton.compile(main)
