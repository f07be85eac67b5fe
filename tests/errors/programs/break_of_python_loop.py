"""A break out of a loop that Python unrolls, decided at run time."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for k in [1, 2]:
                if A[k] > 0.0:
                    break
                B[k] = A[k]

    return main
