"""Two mistakes that are reported together."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            left = T.alloc_shared((64, 32), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            sums = T.alloc_fragment((32,), "float32")
            T.copy(A[0, 0], left)
            T.gemm(left, left, acc, clear_accum=True)
            T.reduce_sum(acc, sums, dim=1)
            T.copy(acc, C)

    return main
