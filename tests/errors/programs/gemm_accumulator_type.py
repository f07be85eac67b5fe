"""A product that is added up in a type of no use."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "int32")
            T.copy(A, tile)
            T.gemm(tile, tile, acc, clear_accum=True)
            T.copy(acc, C)

    return main
