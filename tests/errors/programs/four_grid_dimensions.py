"""A grid of four dimensions."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, 2, 3, 4, threads=128) as (a, b, c, d):
            B[0] = A[0]

    return main
