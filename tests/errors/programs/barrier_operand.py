"""An arrival at several barriers at once."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            b = T.alloc_barrier([128] * 2)
            T.barrier_arrive(b)

    return main
