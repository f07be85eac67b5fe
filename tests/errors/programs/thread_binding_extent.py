"""A binding of fewer threads than the kernel has."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tx = T.thread_binding(0, 64, thread="threadIdx.x")
            C[0, tx] = A[0, tx]

    return main
