"""A reduction into a tile of the wrong shape."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_fragment((64, 64), "float32")
            sums = T.alloc_fragment((32,), "float32")
            T.copy(A, tile)
            T.reduce_sum(tile, sums, dim=1)
            T.copy(sums, C[0, 0])

    return main
