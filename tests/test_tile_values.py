"""Tiles as values: computed as a whole, made where they are assigned, by all meanings and torch."""

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel

ROWS, COLUMNS = 37, 50


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


def close(made: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-5) -> None:
    assert made.dtype == wanted.dtype and made.shape == wanted.shape
    torch.testing.assert_close(made, wanted, rtol=tolerance, atol=tolerance)


def doubled(x):
    """A plain function of Python's."""
    return np.float32(0.5) * x + x * np.int64(2) - x / 2


def chosen(a, b):
    """Comparisons that Python makes by itself."""
    return T.where(a == b, 1.0, T.where(a != 0.5, 2.0, 3.0)) + T.where(b == 0.5, 0.0, 4.0)


@T.macro
def centred(x):
    mean = T.reduce_sum(x, dim=1) / 32
    return x - mean[:, None]


@tile2triton.kernel
def arithmetic(A, B, row, column, which=0, block_M=16, block_N=32):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B: T.Tensor((M, N), T.float32)
    row: T.Tensor((N,), T.float32)
    column: T.Tensor((M,), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=64) as (bx, by):
        m, n = by * block_M, bx * block_N
        a = T.copy(A[m : m + block_M, n : n + block_N])
        b = T.copy(B[m : m + block_M, n : n + block_N])
        r, c = T.copy(row[n : n + block_N]), T.copy(column[m : m + block_M])
        values = [
            2 - a * b + 1.5,
            a / (b * b + 1) - by,
            -a * r[None, :] + c[:, None],
            r * a - T.exp(c)[:, None],
            T.where(a < b, a, b * T.max(r, 0.0)),
            T.where((a <= b) & ~(a > 0), c[:, None], r),
            T.max(abs(a), T.exp2(-b)),
            T.cast(T.cast(a, T.float16), T.float32) + doubled(b),
            T.where(a == b, 1.0, T.where(a != c[:, None], 2.0, 3.0)),
            T.if_then_else(a < 1.0, b > 0.5, a >= 0) * r,
            (c[:, None] + r)[:, :] * T.sigmoid(a),
            chosen(a, b),
        ]
        C[m : m + block_M, n : n + block_N] = values[which]
    return C


WANTED = [
    lambda a, b, r, c: 2 - a * b + 1.5,
    lambda a, b, r, c: a / (b * b + 1) - (torch.arange(ROWS) // 16)[:, None],
    lambda a, b, r, c: -a * r + c[:, None],
    lambda a, b, r, c: r * a - c.exp()[:, None],
    lambda a, b, r, c: torch.where(a < b, a, b * r.clamp(min=0)),
    lambda a, b, r, c: torch.where((a <= b) & (a <= 0), c[:, None], r),
    lambda a, b, r, c: torch.maximum(a.abs(), torch.exp2(-b)),
    lambda a, b, r, c: a.half().float() + 2 * b,
    lambda a, b, r, c: torch.where(a == b, 1.0, torch.where(a != c[:, None], 2.0, 3.0)),
    lambda a, b, r, c: torch.where(a < 1, b > 0.5, a >= 0) * r,
    lambda a, b, r, c: (c[:, None] + r) * torch.sigmoid(a),
    lambda a, b, r, c: (
        torch.where(a == b, 1.0, torch.where(a != 0.5, 2.0, 3.0)) + torch.where(b == 0.5, 0.0, 4.0)
    ),
]


@pytest.mark.parametrize("which", range(len(WANTED)))
def test_expressions_of_tiles_broadcast_as_in_numpy(which, device):
    a, b = numbers(ROWS, COLUMNS), numbers(ROWS, COLUMNS)
    row, column = numbers(COLUMNS), numbers(ROWS)
    b[::2] = a[::2]
    a[5] = column[5]
    a[7, ::2] = b[9, ::3] = 0.5
    sizes = {"M": ROWS, "N": COLUMNS, "which": which}
    (made,) = run_kernel(arithmetic, (a, b, row, column), device, tolerance=1e-6, **sizes)
    close(made, WANTED[which](a, b, row, column))


@tile2triton.kernel
def integers(A, B, which=0):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((n,), T.int32)
    C = T.empty((n,), T.int32)
    with T.Kernel(1, threads=64):
        a, b = T.copy(A[0:n]), T.copy(B[0:n])
        i = T.arange(n)
        values = [a // b, a % b, (a ^ b) | (i & 3), (a << 2) >> 1, ~a + 7 // b, 40 % b - (9 ^ a)]
        if which < len(values):
            T.copy(values[which], C)
        else:
            a //= b
            a ^= i
            a <<= 1
            a |= b
            C[:] = a
    return C


@pytest.mark.parametrize("which", range(7))
def test_integers_compute_as_in_python(which, device):
    a = torch.randint(-50, 50, (48,), dtype=torch.int32)
    b = torch.randint(1, 9, (48,), dtype=torch.int32) * (-1) ** torch.arange(48, dtype=torch.int32)
    i = torch.arange(48, dtype=torch.int32)
    (made,) = run_kernel(integers, (a, b), device, n=48, which=which)
    wanted = [
        lambda: a // b,
        lambda: a % b,
        lambda: (a ^ b) | (i & 3),
        lambda: (a << 2) >> 1,
        lambda: ~a + 7 // b,
        lambda: 40 % b - (9 ^ a),
        lambda: ((a // b ^ i) << 1) | b,
    ][which]()
    close(made, wanted)


@tile2triton.kernel
def stores(A, row, which=0, n=32):
    A: T.Tensor((n, n), T.float32)
    row: T.Tensor((n,), T.float32)
    C = T.empty((n, n), T.float32)
    with T.Kernel(1, threads=64):
        x, r = T.copy(A[:, :]), T.copy(row[:])
        if which == 0:
            x += 1.5
            x *= r[None, :]
            x -= r[:, None] * 0.5
            x /= 2.0
        if which == 1:
            x[...] = x * x
            x[:, 0:8] = r[0:8]
            x[4:12, 16:] *= x[20:28, 0:16]
            x[3, :] = r
            x[:, 5] += r
        if which == 2:
            old = x
            kept = x * 1.0
            x *= 2.0
            x[...] = x + old + kept
        if which == 3:
            y = x
            x = x + 1.0
            y *= 2.0
            x = x * y
        if which == 4:
            x, y = x + r, x * r[:, None]
            x += y
        if which == 5:
            pair = []
            same = pair
            pair += [x * 2.0, (x + 1.0) * r]
            assert same is pair
            T.clear(x)
            x += pair[0] - pair[1]
        if which == 6:
            x = centred(x * 3.0) * 2.0
        if which == 8:
            x -= T.sum(x, axis=0) + T.amax(x, axis=-1, keepdims=True)
            x *= T.amin(x, axis=0, keepdims=True) * T.sum(r) * 0.01
        if which == 7:
            kept, values = {}, []
            kept["x"] = x * 2.0
            values.append(T.reduce_sum(x, dim=1))
            x *= T.sigmoid(values[0])[:, None] + values[0][:, None]
            x += kept["x"] + values[0]
            for k in T.serial(3):
                x += T.arange(n) * k
        T.copy(x, C)
    return C


def second(a, r):
    a = a * a
    a[:, :8] = r[:8]
    a[4:12, 16:] *= a[20:28, 0:16].clone()
    a[3] = r
    a[:, 5] += r
    return a


def eighth(a, r):
    a = a - a.sum(0) - a.amax(1, keepdim=True)
    return a * a.amin(0, keepdim=True) * r.sum() * 0.01


STORED = [
    lambda a, r: ((a + 1.5) * r - r[:, None] * 0.5) / 2,
    second,
    lambda a, r: 5 * a,
    lambda a, r: (a + 1) * (a * 2),
    lambda a, r: a + r + a * r[:, None],
    lambda a, r: 2 * a - (a + 1) * r,
    lambda a, r: 6 * (a - a.mean(1, keepdim=True)),
    lambda a, r: (
        a * (a.sum(1).sigmoid() + a.sum(1))[:, None] + 2 * a + a.sum(1) + 3 * torch.arange(32.0)
    ),
    eighth,
]


@pytest.mark.parametrize("which", range(len(STORED)))
def test_stores_change_the_tile_and_expressions_make_another(which, device):
    a, row = numbers(32, 32), numbers(32)
    (made,) = run_kernel(stores, (a, row), device, tolerance=1e-6, which=which)
    close(made, STORED[which](a, row))


@tile2triton.kernel
def results(A, B, dtype=T.float16, block=16):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    C = T.empty((M, N), T.float32)
    largest = T.empty((M,), dtype)
    total = T.empty((M,), T.float32)
    turned = T.empty((K, N), dtype)
    with T.Kernel(T.ceildiv(M, block), threads=64) as bx:
        a = T.copy(A[bx * block : (bx + 1) * block, :])
        b = T.copy(B[:, :])
        product = T.gemm(a, b, transpose_B=True)
        for k in T.serial(3):
            # Made anew in each turn, which adds to what stays.
            part = T.full((block, N), k + 1.0)
            part += T.zeros((block, N))
            product += part
        C[bx * block : (bx + 1) * block, :] = product
        T.copy(T.reduce_max(a, dim=1), largest[bx * block : (bx + 1) * block])
        T.copy(T.reduce_sum(a, dim=-1), total[bx * block : (bx + 1) * block])
        T.copy(T.transpose(b), turned)
    return C, largest, total, turned


@pytest.mark.parametrize("M", [48, 41])
def test_operators_without_a_destination_make_one(M, device):
    a, b = numbers(M, 32, dtype=torch.float16), numbers(16, 32, dtype=torch.float16)
    sizes = {"M": M, "N": 16, "K": 32}
    made = run_kernel(results, (a, b), device, tolerance=1e-6, **sizes)
    close(made[0], a.float() @ b.float().T + 6)
    close(made[1], a.amax(1))
    close(made[2], a.float().sum(1))
    close(made[3], b.T.contiguous())


def test_the_emitted_text_keeps_the_names_of_extents():
    text = results.compile(M=48, N=16, K=32).triton_source
    assert "tl.full((block, N)" in text
    assert "product = tl.dot(a, tl.trans(b))" in text
    assert "T.zeros" not in text and "part = part + tile" in text


@tile2triton.kernel
def products_of_int8(A, B):
    A: T.Tensor((16, 32), T.int8)
    B: T.Tensor((32, 16), T.int8)
    C = T.empty((16, 16), T.int32)
    with T.Kernel(1, threads=128):
        C[...] = T.copy(A[:, :]) @ T.copy(B[:, :]) * 2
    return C


def test_products_of_int8_are_added_up_in_int32(device):
    a, b = (torch.randint(-100, 100, shape, dtype=torch.int8) for shape in ((16, 32), (32, 16)))
    (made,) = run_kernel(products_of_int8, (a, b), device)
    close(made, 2 * (a.int() @ b.int()))


@tile2triton.kernel
def types(A):
    A: T.Tensor((16,), T.float16)
    C = T.empty((16,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.copy(A[:])
        scale = T.exp2(A[0] + bx)
        dtypes = (
            a * 1.5,
            a * 2,
            a * scale,
            a < 1,
            T.arange(16) // 2,
            T.exp(T.arange(16)),
            T.cast(a, "int8"),
        )
        assert tuple(str(one.dtype) for one in dtypes) == (
            *("float32", "float16", "float16", "bool", "int32", "float32", "int8"),
        )
        C[:] = a * 1.0
    return C


def test_types_are_those_of_the_elements():
    assert types.compile().triton_source


def add_to(total, part):
    """A function of Python, which kernels call as it is."""
    total += part


def test_stores_reach_tiles_in_lists_and_in_functions() -> None:
    @tile2triton.kernel
    def sums(A: T.Tensor((13,), "float32")):
        D = T.empty((3, 13), "float32")
        with T.Kernel(1, threads=64):
            x = T.copy(A[:])
            totals = [T.zeros((13,)), T.zeros((13,))]
            third = T.zeros((13,))
            for n in T.serial(3):
                totals[0] += x
                totals[1] += x * 2.0
                add_to(third, x * (n + 1))
            D[0, :] = totals[0]
            D[1, :] = totals[1]
            D[2, :] = third
        return D

    a = torch.randn(13)
    assert torch.allclose(sums(a), torch.stack([3 * a, 6 * a, 6 * a]), rtol=1e-5)


def test_what_python_keeps_does_not_change_in_a_loop() -> None:
    @tile2triton.kernel
    def counted(A: T.Tensor((13,), "float32")):
        D = T.empty((13,), "float32")
        with T.Kernel(1, threads=64):
            x = T.copy(A[:])
            count = [0]
            for _ in T.serial(3):
                count[0] += 1
            D[:] = x * count[0]
        return D

    with pytest.raises(tile2triton.Error, match="T2T121"):
        tile2triton.transpile(counted)

    @tile2triton.kernel
    def kept(A: T.Tensor((13,), "float32")):
        D = T.empty((13,), "float32")
        with T.Kernel(1, threads=64):
            x = T.copy(A[:])
            values = [x * 1.0]
            for _ in T.serial(3):
                values.append(x + 1.0)
            D[:] = values[-1]
        return D

    with pytest.raises(tile2triton.Error, match="its loop or branch ended"):
        tile2triton.transpile(kept)


def test_parts_of_parts_count_from_where_they_begin_and_end() -> None:
    @tile2triton.kernel
    def parts(A: T.Tensor((12, 10), "float32")):
        D = T.empty((3, 10), "float32")
        F = T.empty((12, 10), "float32")
        G = T.empty((4, 12), "float32")
        with T.Kernel(1, threads=64):
            x = T.copy(A[:, :])
            p = x[0:6, :]
            D[0, :] = p[-1, :] * 1.0
            D[1:3, :] = p[-3:-1, :] * 1.0
            column = x[:, 3]
            G[:, :] = column[None, :] + T.zeros((4, 1))
            q = x[4:10, :]
            q[-1, :] = 0.0
            F[:, :] = x
        return D, F, G

    a = torch.randn(12, 10)
    d, f, g = parts(a)
    assert torch.equal(d, torch.stack([a[5], a[3], a[4]]))
    assert torch.equal(g, a[:, 3].expand(4, 12))
    a[9] = 0
    assert torch.equal(f, a)

    @tile2triton.kernel
    def outside(A: T.Tensor((12, 10), "float32")):
        D = T.empty((10,), "float32")
        with T.Kernel(1, threads=64):
            x = T.copy(A[:, :])
            D[:] = x[0:6, :][8, :] * 1.0
        return D

    with pytest.raises(tile2triton.Error, match="8 is outside of a part with an extent of 6"):
        tile2triton.transpile(outside)


def test_literals_count_as_in_loops_over_elements() -> None:
    """Named or not, a number beside a narrower integer or a truth makes it an int32."""

    @tile2triton.kernel
    def signs(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "int8")):
        D = T.empty((3, 16), "int32")
        E = T.empty((2, 16), "float32")
        with T.Kernel(1, threads=64):
            a, b = T.copy(A[:]), T.copy(B[:])
            D[0, :] = (a > 0) * 2 - 1
            D[1, :] = b + 128
            D[2, :] = T.where(b > 0, b, 1000)
            E[0, :] = (b * 100) * 0.5
            named = b * 100
            E[1, :] = named * 0.5
        return D, E

    a, b = torch.randn(16), torch.randint(-100, 100, (16,)).to(torch.int8)
    d, e = signs(a, b)
    wide = b.to(torch.int32)
    where = torch.where(wide > 0, wide, 1000)
    assert torch.equal(d, torch.stack([(a > 0) * 2 - 1, wide + 128, where]).to(torch.int32))
    assert torch.equal(e, torch.stack([wide * 50.0, wide * 50.0]))
