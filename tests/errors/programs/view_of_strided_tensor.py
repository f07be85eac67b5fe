"""A view takes elements that follow each other."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.StridedTensor((8, 8), (16, 1), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            C = T.view(A, (64,))
            B[0] = C[0]

    return main
