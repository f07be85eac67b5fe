"""Run-time sizes that a tensor has in a sum: `T.Tensor((2 * n + 1,), ...)`."""

import pytest
import torch

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def padded_sums(block: int = 16, pad: int = 3):
    n = T.dynamic("n")
    m = T.dynamic("m")

    @T.prim_func
    def main(
        A: T.Tensor((2 * n + pad, m), "float32"),
        B: T.Tensor((m - n,), "float32"),
        C: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                if bx * block + i < n:
                    row = 2 * (bx * block + i) + pad
                    C[bx * block + i] = A[row, m - 1] + A[row - 1, 0] + B[m - n - 1]

    return main


@pytest.mark.parametrize("n", [1, 16, 21])
def test_size_is_solved_for(n, device):
    m = n + 5
    a, b = torch.randn(2 * n + 3, m, device=device), torch.randn(5, device=device)
    kernel = padded_sums()
    rows = torch.arange(n, device=device) * 2 + 3
    expected = a[rows, -1] + a[rows - 1, 0] + b[-1]
    torch.testing.assert_close(kernel(a, b), expected, rtol=0, atol=1e-6)
    reference = torch.as_tensor(kernel.reference(a.cpu().numpy(), b.cpu().numpy()))
    torch.testing.assert_close(reference, expected.cpu(), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "rest", "words"),
    [
        ((12, 9), 5, r"A must be of shape (2 * n + pad, m) = (11, 9), found (12, 9)"),
        ((1, 9), 5, r"A gives n = -1, which is negative, found shape (1, 9)"),
        ((11, 9), 6, r"B must be of shape (m - n,) = (5,), found (6,)"),
    ],
)
def test_extents_that_no_size_gives_are_refused(shape, rest, words, device):
    kernel = padded_sums()
    with pytest.raises(ValueError) as raised:
        kernel(torch.zeros(shape, device=device), torch.zeros(rest, device=device))
    assert words in str(raised.value)
    with pytest.raises(ValueError):
        kernel.reference(torch.zeros(shape).numpy(), torch.zeros(rest).numpy())


def test_one_size_may_need_another_that_is_solved_for(device):
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((n + m,), "int32"), B: T.Tensor((4 * n,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(m):
                A[n + i] = i
            for i in T.serial(n):
                B[4 * i] = m

    a, b = torch.zeros(7, dtype=torch.int32, device=device), torch.zeros(12, dtype=torch.int32)
    b = b.to(device)
    tile2triton.compile(main)(a, b)
    assert a.tolist() == [0, 0, 0, 0, 1, 2, 3] and b.tolist() == [4, 0, 0, 0] * 3


def test_product_of_sizes_gives_neither():
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((n * m,), "int32")):
        with T.Kernel(1, threads=32):
            A[0] = n

    with pytest.raises(tile2triton.Error, match=r"T2T180.*the size `n` cannot be read"):
        tile2triton.compile(main)


@pytest.mark.parametrize(("dtype", "expected"), [("int32", 1410065408), ("int64", 10**10)])
def test_size_has_the_type_that_it_is_declared_with(dtype, expected, device):
    @tile2triton.kernel
    def squared(X):
        n = T.dynamic("n", dtype)
        X: T.Tensor((n,), "int8")
        Y = T.empty((1,), "int64")
        with T.Kernel(1, threads=32):
            Y[0] = n * n
        return Y

    x = torch.zeros(100000, dtype=torch.int8, device=device)
    assert squared(x).tolist() == [expected]
    assert squared.reference(x.cpu().numpy()).tolist() == [expected]
