"""A statement outside of T.Kernel."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        B[0] = 1.0
        with T.Kernel(1, threads=128) as bx:
            B[1] = A[0]

    return main
