"""A tile of more elements than Triton takes."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def zeros(C: T.Tensor((4096, 4096), "float32")):
        with T.Kernel(1) as bx:
            c = T.alloc_fragment((4096, 4096), "float32")
            T.clear(c)
            T.copy(c, C)

    return zeros
