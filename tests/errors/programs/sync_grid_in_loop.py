"""A barrier for all programs in a loop."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for k in T.serial(2):
                T.copy(A[bx * 32 : bx * 32 + 32], C[bx * 32 : bx * 32 + 32])
                T.sync_grid()

    return main
