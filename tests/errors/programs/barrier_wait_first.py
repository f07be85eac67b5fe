"""Every group of threads waits for the other."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tile = T.alloc_shared((64, 64), "float32")
            ready = T.alloc_barrier(128)
            done = T.alloc_barrier(128)
            with T.ws(0):
                T.barrier_wait(done, 0)
                T.copy(A, tile)
                T.barrier_arrive(ready)
            with T.ws(1):
                T.barrier_wait(ready, 0)
                T.copy(tile, C)
                T.barrier_arrive(done)

    return main
