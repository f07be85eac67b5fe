"""A floor division of floats."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def halves(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                C[i] = A[i] // 2.0

    return halves
