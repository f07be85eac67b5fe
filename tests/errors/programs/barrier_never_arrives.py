"""A wait for a barrier at which nobody arrives."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tile = T.alloc_shared((64, 64), "float32")
            ready = T.alloc_barrier(256)
            for k in T.serial(4):
                T.copy(A, tile)
                T.mbarrier_wait_parity(ready, k % 2)
                T.copy(tile, C)

    return main
