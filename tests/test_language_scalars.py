"""Scalars where they are least expected: per element, in tiles, in conditions, of every type."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel


def numbers(*shape, low=-9, high=9, dtype=torch.int32):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(low, high, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("extent", [16, 11])
def test_variable_of_each_element_in_nested_branches(extent, device):
    @tile2triton.kernel
    def clip(A, C, extent: int):
        A: T.Tensor((extent,), "int32")
        C: T.Tensor((extent,), "int32")
        with T.Kernel(1):
            for i in T.Parallel(extent):
                x = T.alloc_var("int32", A[i])
                y = T.alloc_var("float32")
                if x > 0:
                    if x > 5:
                        x = 5
                    else:
                        y = 0.5
                else:
                    x = -x
                    y += 1.5
                x, y = x + 1, x * y
                C[i] = x * 100 + T.cast(y, "int32")

    a = numbers(extent)
    _, c = run_kernel(clip, [a, torch.zeros_like(a)], device, extent=extent)
    for value, got in zip(a.tolist(), c.tolist(), strict=True):
        x, y = value, 0.0
        if x > 0:
            if x > 5:
                x = 5
            else:
                y = 0.5
        else:
            x, y = -x, 1.5
        x, y = x + 1, x * y
        assert got == x * 100 + int(y)


@pytest.mark.parametrize(("rows", "columns"), [(8, 16), (6, 10)])
def test_serial_loop_inside_of_parallel(rows, columns, device):
    @tile2triton.kernel
    def convolve(A, W, C, rows: int, columns: int):
        A: T.Tensor((rows, columns), "int32")
        W: T.Tensor((3,), "int32")
        C: T.Tensor((rows, columns), "int32")
        with T.Kernel(1):
            tile = T.alloc_shared((rows, columns), "int32")
            weights = T.alloc_fragment((3,), "int32")
            out = T.alloc_fragment((rows, columns), "int32")
            T.copy(A, tile)
            T.copy(W, weights)
            for i, j in T.Parallel(rows, columns):
                total = T.alloc_var("int32", 0)
                for k in T.serial(3):
                    if j + k < columns and (i + k) % 2 == 0:
                        total += tile[i, j + k] * weights[k] + A[i, (j + k) % columns]
                out[i, j] = total
            T.copy(out, C)

    a, w = numbers(rows, columns), numbers(3)
    *_, c = run_kernel(convolve, [a, w, torch.zeros_like(a)], device, rows=rows, columns=columns)
    for i in range(rows):
        for j in range(columns):
            total = sum(
                int(a[i, j + k] * w[k] + a[i, (j + k) % columns])
                for k in range(3)
                if j + k < columns and (i + k) % 2 == 0
            )
            assert c[i, j] == total


def test_serial_loop_whose_end_differs_by_element(device):
    @tile2triton.kernel
    def triangle(A, C):
        A: T.Tensor((12,), "int32")
        C: T.Tensor((12,), "int32")
        with T.Kernel(1):
            for i in T.Parallel(12):
                total = T.alloc_var("int32")
                for k in T.serial(12):
                    if k <= i:
                        total += A[k]
                C[i] = total

    a = numbers(12)
    _, c = run_kernel(triangle, [a, torch.zeros_like(a)], device)
    assert torch.equal(c, a.cumsum(0).int())


@pytest.mark.parametrize("scope", ["shared", "fragment", "local"])
def test_element_of_a_tile_as_a_scalar(scope, device):
    @tile2triton.kernel
    def picks(A, C, scope: str):
        A: T.Tensor((6,), "int32")
        C: T.Tensor((6,), "int32")
        with T.Kernel(1):
            if scope == "shared":
                tile = T.alloc_shared((6,), "int32")
            elif scope == "local":
                tile = T.alloc_local((6,), "int32")
            else:
                tile = T.alloc_fragment((6,), "int32")
            one = T.alloc_fragment((1,), "int32")
            for i in T.serial(6):
                tile[i] = A[i]
            one[0] = tile[2]
            for k in range(6):
                if tile[k] > one[0] or tile[k] == 0:
                    C[k] = tile[5 - k]
                elif tile[k] < 0 < one[0] + 20:
                    C[k] = -1
                else:
                    C[k] = tile[k] + one[0]
                one[0] = one[0] + 1 if tile[k] % 2 == 0 else one[0]

    a = numbers(6)
    _, c = run_kernel(picks, [a, torch.zeros_like(a)], device, scope=scope)
    one, values = int(a[2]), a.tolist()
    for k, value in enumerate(values):
        if value > one or value == 0:
            assert c[k] == values[5 - k]
        elif value < 0 < one + 20:
            assert c[k] == -1
        else:
            assert c[k] == value + one
        one += value % 2 == 0


def test_assignments_of_several_values_have_two_phases(device):
    @tile2triton.kernel
    def swap(A):
        A: T.Tensor((6,), "int32")
        with T.Kernel(1):
            a = T.alloc_var("int32", A[0])
            b = T.alloc_var("int32", A[1])
            c = T.alloc_var("int32", A[2])
            a, b, c = b, c, a
            a, b = b, a
            A[3], A[4] = A[4], A[3]
            A[0], A[1], A[2] = a, b, c
            x = y = a + b
            A[5] = x - y + A[5]

    (a,) = run_kernel(swap, [torch.arange(6, dtype=torch.int32) + 10], device)
    assert a.tolist() == [12, 11, 10, 14, 13, 15]


LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
}


@tile2triton.kernel
def digits(dtype: str):
    kind = getattr(T, dtype)

    @T.prim_func
    def main(x: kind, C: T.Tensor((4,), "int64")):
        with T.Kernel(1):
            for i in T.serial(4):
                C[i] = T.cast(x, "int64") // (i + 1)

    return main


@pytest.mark.parametrize("dtype", LIMITS)
def test_scalar_parameters_of_integers(dtype, device):
    for value in (*LIMITS[dtype], 1, 0, 16):
        (c,) = run_kernel(digits(dtype), [value, torch.zeros(4, dtype=torch.int64)], device)
        assert c.tolist() == [value // (i + 1) for i in range(4)]


@tile2triton.kernel
def scale(dtype: str):
    kind = getattr(T, dtype)

    @T.prim_func
    def main(x: kind, A: T.Tensor((5,), "float32"), C: T.Tensor((5,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(5):
                if x != 0:
                    C[i] = A[i] * T.cast(x, "float32")
                else:
                    C[i] = -1.0

    return main


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "bool"])
def test_scalar_parameters_of_floats_and_conditions(dtype, device):
    a = torch.randn(5)
    for value in (True, False) if dtype == "bool" else (0.0, 1.0, 2.5, 3):
        _, c = run_kernel(scale(dtype), [value, a, torch.zeros(5)], device)
        assert torch.equal(c, a * float(value) if value else torch.full((5,), -1.0))


@tile2triton.kernel
def nests(A, C):
    A: T.Tensor((8, 12), "int32")
    C: T.Tensor((8, 12), "int32")
    with T.Kernel(1):
        tile = T.alloc_fragment((8, 12), "int32")
        T.copy(A, tile)
        for i in T.Parallel(8):
            twice = i * 2
            for j in T.Parallel(12):
                tile[i, j] += twice + j
        for i in T.parallel(8):
            for j in T.parallel(2, 9):
                if i + j > 4:
                    tile[i, j] = 0
        T.copy(tile, C)
        for i, j in T.grid(2, 3):
            C[i, j] += 100
        for (i,) in T.grid(4):
            C[7, i] = i
        for k in T.vectorized(3):
            C[6, k] = -k
        for k in T.Vectorized(3, 5):
            C[6, k] = -k


def test_nests_of_loops(device):
    a = numbers(8, 12)
    _, c = run_kernel(nests, [a, torch.zeros_like(a)], device)
    i, j = torch.arange(8)[:, None], torch.arange(12)[None, :]
    expected = a + 2 * i + j
    expected[(i + j > 4) & (j >= 2) & (j < 9)] = 0
    expected[:2, :3] += 100
    expected[7, :4] = torch.arange(4)
    expected[6, :5] = -torch.arange(5)
    assert torch.equal(c, expected.int())


def test_helpers_of_tvm(device):
    @tile2triton.kernel
    def helpers(C):
        C: T.Tensor((2, 3, 4), "int32")
        with T.Kernel(24) as bx:
            x, y, z = T.index_to_coordinates(bx, (2, 3, 4))
            value = T.bind(x * 100 + y * 10 + z)
            if T.likely(bx < 23):
                C[x, y, z] = value

    (c,) = run_kernel(helpers, [torch.zeros(2, 3, 4, dtype=torch.int32)], device)
    expected = [[[x * 100 + y * 10 + z for z in range(4)] for y in range(3)] for x in range(2)]
    expected[1][2][3] = 0
    assert c.tolist() == expected
    assert T.index_to_coordinates(17, (8, 12)) == [1, 5]


@pytest.mark.parametrize("group", [0, 32, 64, 128])
def test_first_thread_of_each_group(group, device):
    @tile2triton.kernel
    def elected(extent: int = 64):
        out = T.empty((128,), "int32")
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            out[tx] = T.shuffle_elect(extent)
        return out

    (made,) = run_kernel(elected, [], device, extent=group)
    expected = torch.arange(128) % (group or 128) == 0
    assert torch.equal(made, expected.to(torch.int32))
