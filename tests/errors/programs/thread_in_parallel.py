"""The number of the thread inside T.Parallel."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tx = T.get_thread_binding()
            for i in T.Parallel(64):
                C[0, i] = A[0, i] + tx

    return main
