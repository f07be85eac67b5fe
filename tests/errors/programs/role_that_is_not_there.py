"""A group of threads beyond those that T.Kernel has."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            with T.ws(5):
                T.copy(A, C)

    return main
