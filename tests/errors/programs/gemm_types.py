"""A product of tiles of two types."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            left = T.alloc_shared((64, 64), "float16")
            right = T.alloc_shared((64, 64), "bfloat16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, left)
            T.copy(A, right)
            T.gemm(left, right, acc, clear_accum=True)
            T.copy(acc, C)

    return main
