"""An atomic addition that 32 threads do."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            if T.get_thread_binding() < 32:
                T.atomic_add(C[0, 0], A[0, 0])

    return main
