"""An operator without one of its arguments."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((64,), "float32")
            T.fill(tile)

    return main
