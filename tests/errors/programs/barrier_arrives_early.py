"""Two groups arrive twice at one barrier, and neither waits for the other."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=384) as bx:
            both = T.alloc_barrier(256)
            with T.ws(0, 1):
                T.barrier_arrive(both)
            with T.ws(0):
                T.barrier_arrive(both)
            with T.ws(1):
                T.barrier_arrive(both)
            with T.ws(2):
                T.barrier_wait(both, 1)
                T.copy(A, C)

    return main
