"""A kernel of many checked arguments, and one that asks for too much memory."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def scale(columns, block=16):
    rows = T.dynamic("rows")

    @T.prim_func
    def scaled(
        X: T.Tensor((rows, columns), "float32"),
        factors: T.Tensor((rows,), "float32"),
        Y: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            for i, j in T.Parallel(block, columns):
                row = bx * block + i
                Y[row, j] = X[row, j] * factors[row]

    return scaled


@tile2triton.kernel(out_idx=[-1])
def too_large_for_shared_memory(depth=1024, block=64, size=2048):
    """Multiplies tiles that take 128 KiB each, so that no number of stages makes them fit."""

    @T.prim_func
    def product(A: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float32")):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            left = T.alloc_shared((block, depth), "float16")
            right = T.alloc_shared((depth, block), "float16")
            acc = T.alloc_fragment((block, block), "float32")
            T.clear(acc)
            for k in T.Pipelined(size // depth, num_stages=2):
                T.copy(A[by * block, k * depth], left)
                T.copy(A[k * depth, bx * block], right)
                T.gemm(left, right, acc)
            T.copy(acc, C[by * block, bx * block])

    return product
