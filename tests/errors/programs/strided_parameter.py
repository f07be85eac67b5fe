"""Two strides for one dimension."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.StridedTensor((64,), (64, 1), "float32")):
        with T.Kernel(1, threads=128) as bx:
            A[0] = 1.0

    return main
