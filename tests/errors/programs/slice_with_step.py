"""A slice with a step."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((32,), "float32")
            T.copy(A[0:64:2], tile)
            T.copy(tile, B[0])

    return main
