"""Python decides on a value that only the GPU knows."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            B[bx] = max(bx, 1)

    return main
