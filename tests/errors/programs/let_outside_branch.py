"""A name used outside the branch that bound it."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            if bx == 0:
                first = A[0]
            B[bx] = first

    return main
