"""One loop variable in both dimensions of a tile."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def trace(A: T.Tensor((16, 16), "float32"), C: T.Tensor((16,), "float32")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((16, 16), "float32")
            T.copy(A, a)
            for i in T.Parallel(16):
                C[i] = a[i, i]

    return trace
