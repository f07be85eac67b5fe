"""A tile that is filled before T.sync_grid and used behind it."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            tile = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32], tile)
            T.sync_grid()
            T.copy(tile, C[bx * 32])

    return main
