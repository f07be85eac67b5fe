"""T.Parallel inside T.Parallel."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(8):
                B[i] = 0.0
                for j in T.Parallel(8):
                    B[i * 8 + j] = A[i * 8 + j]

    return main
