"""The grid of T.Persistent is a list of extents."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for x in T.Persistent("8", 4, bx):
                B[x] = A[x]

    return main
