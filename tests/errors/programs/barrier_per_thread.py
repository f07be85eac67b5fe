"""An arrival of the threads whose element is positive."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tx = T.get_thread_binding()
            ready = T.alloc_barrier(128)
            if A[0, tx] > 0.0:
                T.barrier_arrive(ready)
                C[0, tx] = 1.0

    return main
