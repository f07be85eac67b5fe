"""A view of an array that each thread has for itself."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((128, 4), "float32"), C: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float32")
            box = T.reshape(mine, (2, 2))
            for i in T.serial(4):
                mine[i] = A[tx, i]
            C[tx] = box[1, 0]

    return main
