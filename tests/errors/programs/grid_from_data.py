"""A grid whose extent is read from a tensor."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(A[0], threads=128) as bx:
            B[bx] = 1.0

    return main
