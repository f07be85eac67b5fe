"""An operator on tiles that differs between threads."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tx = T.get_thread_binding()
            tile = T.alloc_shared((64,), "float32")
            T.copy(A[tx, 0], tile)
            T.copy(tile, C[0, 0])

    return main
