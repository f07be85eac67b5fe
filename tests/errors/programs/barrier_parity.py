"""A wait whose parity does not change with the turns of the loop."""

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
                T.barrier_arrive(ready)
                T.barrier_wait(ready, 0)
                T.copy(tile, C)

    return main
