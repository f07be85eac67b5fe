"""A store to a computed place of a tile."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_fragment((64,), "float32")
            for i in T.Parallel(64):
                tile[i * i % 64] = A[i]
            T.copy(tile, B)

    return main
