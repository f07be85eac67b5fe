"""An index past the end of a tile."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def last(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            C[0] = a[64]

    return last
