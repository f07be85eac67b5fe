"""A copy between tiles of different shapes."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            small = T.alloc_shared((32, 64), "float16")
            large = T.alloc_fragment((64, 64), "float16")
            T.copy(A[0, 0], small)
            T.copy(small, large)
            T.copy(large, C)

    return main
