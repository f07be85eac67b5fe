"""A kernel with a dynamic size, a scalar parameter and an output."""

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
def too_large_for_shared_memory(size=256):
    """Holds two tiles of size x size in float32 at once for a product: 512 KiB at 256."""

    @T.prim_func
    def product(A: T.Tensor((size, size), "float32"), C: T.Tensor((size, size), "float32")):
        with T.Kernel(1, threads=256) as bx:
            left = T.alloc_shared((size, size), "float32")
            right = T.alloc_shared((size, size), "float32")
            acc = T.alloc_fragment((size, size), "float32")
            T.copy(A, left)
            T.copy(A, right)
            T.gemm(left, right, acc, clear_accum=True)
            T.copy(acc, C)

    return product
