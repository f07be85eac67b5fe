"""Arguments have their types, whatever Triton makes of them: it makes a 1 a Python number."""

import pytest
import torch

import tile2triton
import tile2triton.language as T


def quotients(dtype: str):
    @T.prim_func
    def quotients(Q: T.Tensor((4,), dtype), s: T.dtype(dtype)):
        with T.Kernel(1, threads=32):
            Q[0] = T.truncdiv(s, -5)
            Q[1] = T.truncmod(s, -5)
            Q[2] = s // -5
            Q[3] = s % -5

    return quotients


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("s", "wanted"), [(1, [0, 1, -1, -4]), (7, [-1, 2, -2, -3]), (-7, [1, -2, 1, -2])]
)
def test_quotients_of_an_argument_do_not_depend_on_its_being_one(device, dtype, s, wanted):
    kernel = tile2triton.compile(quotients(dtype))
    Q = torch.full((4,), -99, dtype=getattr(torch, dtype), device=device)
    kernel(Q, s)
    assert Q.tolist() == wanted


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_arithmetic_with_an_argument_is_made_in_its_type(device, dtype, n):
    @T.prim_func
    def k(C: T.Tensor((4,), "int64"), n: T.dtype(dtype)):
        with T.Kernel(1, threads=32):
            C[0] = T.min_value("int32") - n
            C[1] = n * n
            C[2] = n * n * n * n * n
            C[3] = ~n

    kernel = tile2triton.compile(k)
    wanted = torch.zeros(4, dtype=torch.int64)
    kernel.reference(wanted, n)
    C = torch.zeros(4, dtype=torch.int64, device=device)
    kernel(C, n)
    assert C.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
def test_float_argument_is_rounded_to_its_type(device, dtype):
    @T.prim_func
    def k(C: T.Tensor((2,), "float64"), x: T.dtype(dtype)):
        with T.Kernel(1, threads=32):
            C[0] = x
            C[1] = T.cast(x, "float64") * 3.0

    x = 0.1
    rounded = torch.tensor(x, dtype=torch.float64).to(getattr(torch, dtype)).double()
    C = torch.zeros(2, dtype=torch.float64, device=device)
    tile2triton.compile(k)(C, x)
    assert C.tolist() == [rounded.item(), rounded.item() * 3]


def test_types_stand_in_the_signature():
    @T.prim_func
    def k(C: T.Tensor((M,), "float32"), s: T.int32, x: T.float32, y: T.float64):
        with T.Kernel(1, threads=32):
            C[s] = x + y

    assert "k_kernel(C, M, s: tl.int32, x, y: tl.float64)" in tile2triton.compile(k).triton_source


M = T.dynamic("M")
N = T.dynamic("N")


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_sizes_of_one_compute_as_others_do(device, m, n):
    @T.prim_func
    def k(A: T.Tensor((M, N), "float32"), C: T.Tensor((6,), "int64")):
        with T.Kernel(1, threads=32):
            C[0] = T.truncdiv(M - 5, 4)
            C[1] = (M - 5) % 4 + T.truncmod(N - 6, 4)
            if not (M < 2 and N < 2):
                C[2] = 7
            C[3] = T.min_value("int32") - M
            C[4] = (M << 31) + N
            C[5] = T.cast(M, "int64") << 40

    kernel = tile2triton.compile(k)
    A = torch.zeros(m, n)
    wanted = torch.zeros(6, dtype=torch.int64)
    kernel.reference(A, wanted)
    C = torch.zeros(6, dtype=torch.int64, device=device)
    kernel(A.to(device), C)
    assert C.tolist() == wanted.tolist()


def test_sizes_that_are_plain_numbers_stay_so():
    @T.prim_func
    def k(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=32) as bx:
            for i, j in T.Parallel(16, 16):
                C[bx * 16 + i, j] = A[bx * 16 + i, j] * (M * N + 1)

    assert "_kernel(A, C, M, N)" in tile2triton.compile(k).triton_source
