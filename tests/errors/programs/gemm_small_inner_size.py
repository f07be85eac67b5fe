"""A product with an inner size below what tensor cores take."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "int8"), C: T.Tensor((64, 64), "int32")):
        with T.Kernel(1, threads=128) as bx:
            left = T.alloc_shared((64, 16), "int8")
            right = T.alloc_shared((16, 64), "int8")
            acc = T.alloc_fragment((64, 64), "int32")
            T.copy(A[0, 0], left)
            T.copy(A[0, 0], right)
            T.gemm(left, right, acc, clear_accum=True)
            T.copy(acc, C)

    return main
