"""A parity that is read from memory."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            ready = T.alloc_barrier(256)
            T.barrier_arrive(ready)
            T.barrier_wait(ready, T.cast(A[0, 0], "int32"))

    return main
