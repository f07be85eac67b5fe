"""A safe value for a tile."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((64,), "float32")
            T.annotate_safe_value({tile: 1.0})
            T.copy(A, tile)
            T.copy(tile, B)

    return main
