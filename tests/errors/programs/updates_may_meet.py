"""Updates of one element by several iterations."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def histogram(A: T.Tensor((64,), "int32"), C: T.Tensor((16,), "float32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                C[A[i]] += 1.0

    return histogram
