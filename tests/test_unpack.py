"""Numbers that are packed side by side, and products of what is computed from them."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernel_case import Case
from tests.kernels.dequantized_gemm import dequantized_gemm
from tile2triton import Schedule, transpile


def unpacked(words: torch.Tensor, count: int, bits: int) -> torch.Tensor:
    shifts = bits * torch.arange(count, device=words.device)
    return (words.long()[..., None] >> shifts & (1 << bits) - 1).flatten(-2)


@tile2triton.kernel
def unpack(W, X, count, bits, by_shifts=False, rows=16, columns=32, dtype=T.int32):
    M, N, words = T.const("M, N, words")
    W: T.Tensor((M, words), T.uint8 if count * bits == 8 else T.int32)
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, columns), T.ceildiv(M, rows), threads=128) as (bx, by):
        packed = T.alloc_shared((rows, columns // count), W.dtype)
        numbers = T.alloc_fragment((rows, columns), dtype)
        x = T.alloc_fragment((rows, columns), dtype)
        T.copy(W[by * rows, bx * (columns // count)], packed)
        T.copy(X[by * rows, bx * columns], x)
        for i, j in T.Parallel(rows, columns):
            if by_shifts:
                number = packed[i, j >> (count.bit_length() - 1)] >> (j & (count - 1)) * bits
            else:
                number = packed[i, j // count] >> bits * (j % count)
            numbers[i, j] = T.cast(number & ((1 << bits) - 1), dtype)
        for i, j in T.Parallel(rows, columns):
            x[i, j] += numbers[i, j]
        T.copy(x, Y[by * rows, bx * columns])
    return Y


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("count", "bits"), [(2, 4), (4, 2), (8, 1), (8, 4), (2, 16)])
@pytest.mark.parametrize(("shape", "by_shifts"), [((32, 64), False), ((21, 48), True)])
def test_packed_numbers(count, bits, by_shifts, shape, device):
    M, N = shape
    kind = torch.uint8 if count * bits == 8 else torch.int32
    limits = torch.iinfo(kind)
    words = torch.randint(limits.min, limits.max, (M, N // count), dtype=kind, device=device)
    x = torch.randint(-100, 100, shape, dtype=torch.int32, device=device)
    found = unpack(words, x, count, bits, by_shifts)
    expected = x + unpacked(words, count, bits)
    assert torch.equal(found.cpu(), expected.int().cpu())
    program = unpack.compile(words, x, count, bits, by_shifts)
    assert program.triton_source.count("tl.interleave") == count - 1
    reference = program.reference(words.cpu(), x.cpu())
    assert (torch.from_numpy(reference) == expected.cpu()).all()


@pytest.mark.usefixtures("poisoned")
def test_what_else_depends_on_the_column_is_left_as_it_was(device):
    @tile2triton.kernel
    def f(W, X):
        N, M = T.const("N, M")
        W: T.Tensor((N,), T.uint8)
        X: T.Tensor((M,), T.int32)
        Y = T.empty((M,), T.int32)
        with T.Kernel(1, threads=32):
            w = T.alloc_shared((32,), T.uint8)
            y = T.alloc_fragment((64,), T.int32)
            T.copy(W, w)
            for j in T.Parallel(64):
                y[j] = (w[j // 2] >> 4 * (j % 2) & 15) * j + X[j]
            T.copy(y, Y)
        return Y

    w = torch.randint(0, 256, (32,), dtype=torch.uint8, device=device)
    x = torch.randint(0, 256, (64,), dtype=torch.int32, device=device)
    j = torch.arange(64, device=device)
    assert torch.equal(f(w, x), (unpacked(w, 2, 4) * j + x).int())
    assert "interleave" not in f.compile(w, x).triton_source


@pytest.mark.usefixtures("poisoned")
def test_a_scale_of_each_group_of_columns(device):
    @tile2triton.kernel
    def f(W, S):
        M, N, G = T.const("M, N, G")
        W: T.Tensor((M, N), T.uint8)
        S: T.Tensor((M, G), T.float32)
        Y = T.empty((M, N * 2), T.float32)
        with T.Kernel(T.ceildiv(M, 16), threads=32) as bx:
            w = T.alloc_shared((16, 32), T.uint8)
            s = T.alloc_shared((16, 4), T.float32)
            y = T.alloc_fragment((16, 64), T.float32)
            T.copy(W[bx * 16, 0], w)
            T.copy(S[bx * 16, 0], s)
            for i, j in T.Parallel(16, 64):
                y[i, j] = T.cast(w[i, j // 2] >> j % 2 * 4 & 15, T.float32) * s[i, j // 16]
            T.copy(y, Y[bx * 16, 0])
        return Y

    w = torch.randint(0, 256, (20, 32), dtype=torch.uint8, device=device)
    s = torch.randn(20, 4, device=device)
    expected = unpacked(w, 2, 4) * s.repeat_interleave(16, 1)
    assert torch.equal(f(w, s), expected.float())
    assert f.compile(w, s).triton_source.count("tl.interleave") == 1


SIZES = ((96, 64, 128, 32, 1), (50, 70, 128, 64, 4))


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("M", "N", "K", "group", "programs"), SIZES)
@pytest.mark.parametrize("swapped", [False, True])
def test_products_of_unpacked_numbers(M, N, K, group, programs, swapped, device):
    schedule = {"swap_ab": True} if swapped else {}
    case = Case(
        f"{M}-{N}-{swapped}",
        dequantized_gemm.scheduled(Schedule(persistent=programs, **schedule)),
        oracles.dequantized_gemm,
        ((M, K), (N, K // 2), (N, K // group)),
        dtypes={1: "uint8"},
        parameters={"block_M": 64, "block_N": 64, "block_K": 32, "threads": 128},
    )
    case.check(case.run(device))
    text = case.transpiled("cuda:90").triton_source
    assert ("tl.dot(W_local, tl.trans(A_shared)" in text) == swapped
    assert "tl.dot(A_shared, tl.trans(W_local)" in case.transpiled("hip:gfx942").triton_source


@pytest.mark.usefixtures("poisoned")
def test_what_stays_in_registers_is_not_changed_while_it_is_read(device):
    """Without a wait, eight warps gave another result in each run on an H200."""
    M, N, K, runs = (1024, 2048, 8192, 50) if device == "cuda" else (128, 128, 128, 2)
    torch.manual_seed(0)
    a = torch.randn(M, K, device=device).half()
    w = torch.randint(256, (N, K // 2), dtype=torch.uint8, device=device)
    scales = torch.rand(N, K // 64, device=device).half()
    kernel = dequantized_gemm.scheduled(Schedule(swap_ab=True))
    tile = {"block_M": 128, "block_N": 128, "block_K": 64, "num_stages": 3, "threads": 256}
    first = kernel(a, w, scales, **tile)
    assert sum(not torch.equal(kernel(a, w, scales, **tile), first) for _ in range(runs)) == 0
    expected = a.double() @ oracles.dequantized(w, scales).to(device).T
    assert (first.double() - expected).norm() < 1e-3 * expected.norm()


@tile2triton.kernel
@T.swap_ab()
def scaled_twice(A, B, factor, rescaled=False, turned=False):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((K, M) if turned else (M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        a = T.alloc_shared((32, 64) if turned else (64, 32), T.float16)
        b = T.alloc_shared((32, 64), T.float16)
        scaled = T.alloc_fragment((32, 64), T.float16)
        c = T.alloc_fragment((64, 64), T.float32)
        T.fill(c, 0)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            if turned:
                T.copy(A[k * 32, by * 64], a)
            else:
                T.copy(A[by * 64, k * 32], a)
            T.copy(B[k * 32, bx * 64], b)
            for i, j in T.Parallel(32, 64):
                scaled[i, j] = b[i, j] * factor
            T.gemm(a, scaled, c, transpose_A=turned, policy=T.GemmWarpPolicy.FullRow)
            if rescaled:
                for i, j in T.Parallel(64, 64):
                    c[i, j] *= 0.5
        for i, j in T.Parallel(64, 64):
            c[i, j] += i
        T.copy(c, C[by * 64, bx * 64])
    return C


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rescaled", [False, True])
def test_sums_that_are_used_otherwise(turned, rescaled, device):
    torch.manual_seed(0)
    a = torch.randn((80, 70) if turned else (70, 80), device=device).half()
    b = torch.randn(80, 72, device=device).half()
    left, right = (a.T if turned else a).double(), (b.float() * 2.0).half().double()
    expected = torch.zeros(70, 72, dtype=torch.float64, device=device)
    for first in range(0, 80, 32):
        expected += left[:, first : first + 32] @ right[first : first + 32]
        if rescaled:
            expected *= 0.5
    expected += (torch.arange(70, device=device) % 64)[:, None]
    found = scaled_twice(a, b, 2.0, rescaled, turned)
    torch.testing.assert_close(found.double(), expected, atol=2e-2, rtol=2e-3)
    text = transpile(scaled_twice, a, b, 2.0, rescaled, turned, target="cuda:90").triton_source
    assert ("c_transposed" in text) == (not rescaled)
