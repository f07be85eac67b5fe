"""A barrier at which two groups of threads meet."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            tile = T.alloc_shared((64, 64), "float32")
            if T.get_thread_binding() < 128:
                T.copy(A, tile)
                T.sync_threads(1, 256)
            else:
                T.sync_threads(1, 256)
                T.copy(tile, C)

    return main
