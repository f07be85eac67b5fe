"""A tile whose extent is known only at run time."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((T.dynamic("n"),), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((A.shape[0],), "float32")
            T.copy(A, tile)

    return main
