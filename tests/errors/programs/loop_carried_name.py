"""A Python number that would have to change in every turn."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            total = 0.0
            for k in T.serial(64):
                total = total + A[k]
            B[0] = total

    return main
