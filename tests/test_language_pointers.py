"""Raw pointers, tables of them, and tensors with strides of their own."""

# Kernels are written as their users write them.

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel

DTYPES = ["float16", "bfloat16", "float32", "int8", "int64", "float64"]


def filled(shape, dtype):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(-9, 9, shape, generator=generator).to(getattr(torch, dtype))


def shift(dtype: str, block: int):
    @T.prim_func
    def main(src: T.ptr, dst: T.ptr, m: T.int32, n: T.int32):
        A = T.make_tensor(src, (m, n), dtype)
        C = T.make_tensor(dst, (m, n), dtype)
        with T.Kernel(m, T.ceildiv(n, block)) as (bx, by):
            for i in T.Parallel(block):
                C[bx, by * block + i] = A[bx, by * block + i + 1]

    return main


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [16, 12])
def test_pointer_is_given_as_a_tensor_or_as_an_address(dtype, block, device):
    kernel = tile2triton.compile(shift(dtype, block))
    a = filled((5, 37), dtype)
    expected = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], 1)
    _, c = run_kernel(kernel, [a, torch.zeros_like(a), 5, 37], device)
    assert torch.equal(c, expected)
    there, out = a.to(device), torch.zeros_like(a).to(device)
    kernel(there.data_ptr(), out, 5, 37)
    assert torch.equal(out.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [64, 40])
def test_table_of_pointers(dtype, size, device):
    @tile2triton.kernel
    def gather(table, out, dtype: str):
        G, N = T.const("G, N")
        table: T.Tensor((G,), T.ptr)
        out: T.Tensor((G, N), dtype)
        with T.Kernel(G) as g:
            row = T.make_tensor_from_addr(table[g], (N,), dtype)
            tile = T.alloc_fragment((N,), dtype)
            T.copy(row, tile)
            T.copy(tile, out[g, 0])
            for i in T.Parallel(N):
                row[i] = row[i] + row[i]

    def run(call):
        rows = [filled((size,), dtype).to(device) + g for g in range(3)]
        table = torch.tensor([row.data_ptr() for row in rows], dtype=torch.int64, device=device)
        out = torch.zeros(3, size, dtype=getattr(torch, dtype), device=device)
        before = torch.stack(rows)
        call(table, out)
        assert torch.equal(out, before)
        assert torch.equal(torch.stack(rows), before + before)

    compiled = gather.compile(G=3, N=size, dtype=dtype)
    run(compiled)
    if device == "cpu":
        run(compiled.reference)


def test_tensors_of_one_table_may_be_one_memory(device):
    """The second tensor sees what was stored through the first: a barrier stands between."""

    @tile2triton.kernel
    def twice(table, out):
        table: T.Tensor((2,), T.ptr)
        out: T.Tensor((64,), "int32")
        with T.Kernel(1):
            first = T.make_tensor(table[0], (64,), "int32")
            second = T.make_tensor(table[1], (8, 8), "int32")
            for i in T.Parallel(64):
                first[i] = 3 * i
            for i, j in T.Parallel(8, 8):
                out[8 * i + j] = second[j, i]

    memory = torch.zeros(64, dtype=torch.int32, device=device)
    table = torch.tensor([memory.data_ptr()] * 2, device=device)
    out = torch.zeros(64, dtype=torch.int32, device=device)
    compiled = twice.compile()
    compiled(table, out)
    expected = 3 * torch.arange(64, dtype=torch.int32).reshape(8, 8).T.flatten()
    assert torch.equal(out.cpu(), expected)
    assert compiled.triton_source.count("tl.debug_barrier()") == 1


def test_tensor_at_an_address_with_strides_and_a_view(device):
    @tile2triton.kernel
    def columns(p: T.ptr, out, n: T.int32):
        out: T.Tensor((8, 6), "float32")
        with T.Kernel(1):
            A = T.make_tensor(p, (8, 6), "float32", strides=(1, n))
            flat = T.make_tensor(p, (48,), "float32")
            square = T.view(flat, (6, 8))
            for i, j in T.Parallel(8, 6):
                out[i, j] = A[i, j] + 100.0 * square[j, i]

    data = torch.arange(48, dtype=torch.float32)
    _, out = run_kernel(columns, [data, torch.zeros(8, 6), 8], device)
    assert torch.equal(out, 101 * data.reshape(6, 8).T)


@tile2triton.kernel
def transposed(A, C, block: int):
    m, n, s = T.dynamic("m, n, s")
    A: T.StridedTensor((m, n), (s, 1), "float16")
    C: T.StridedTensor((n, m), (1, n), "float16")
    with T.Kernel(T.ceildiv(m, block), T.ceildiv(n, block)) as (bx, by):
        tile = T.alloc_fragment((block, block), "float16")
        T.copy(A[bx * block, by * block], tile)
        for i, j in T.Parallel(block, block):
            C[by * block + j, bx * block + i] = tile[i, j] * 2


@pytest.mark.parametrize("block", [16, 12])
def test_strides_are_read_from_the_arguments(block, device):
    a = torch.randn(20, 50).half()[:, :37]
    kernel = transposed.compile(block=block)
    there = a.to(device)
    c = torch.zeros(20, 37, device=device).half().T
    kernel(there, c)
    assert torch.equal(c.cpu(), a.T * 2)
    meant = torch.zeros(20, 37).half().T
    kernel.reference(a, meant)
    assert torch.equal(meant, a.T * 2)


def test_strides_that_differ_are_refused(device):
    kernel = transposed.compile(block=16)
    a = torch.zeros(8, 16, device=device).half()
    with pytest.raises(ValueError, match=r"C must have strides \(1, 16\), found \(8, 1\)"):
        kernel(a, torch.zeros(16, 8, device=device).half())
    with pytest.raises(ValueError, match=r"A must have strides \('any', 1\)"):
        kernel(a.T, torch.zeros(16, 8, device=device).half())


def test_each_stride_may_make_a_kernel(device):
    @tile2triton.kernel
    def rows(A, C):
        M, N, S = T.const("M, N, S")
        A: T.StridedTensor((M, N), (S, 1), "int32")
        C: T.Tensor((M, N), "int32")
        with T.Kernel(M) as bx:
            for i in T.Parallel(N):
                C[bx, i] = A[bx, i] + S

    for stride in (10, 16):
        # A part that moves to another device moves without the gaps between its rows.
        a = torch.arange(4 * stride, dtype=torch.int32).reshape(4, stride).to(device)[:, :10]
        c = torch.zeros(4, 10, dtype=torch.int32, device=device)
        rows(a, c)
        assert torch.equal(c, a + stride)


def test_large_strides_are_multiplied_in_64_bits():
    text = transposed.compile(block=16).triton_source
    assert ".to(tl.int64) * s" in text
    assert "* m" not in text
