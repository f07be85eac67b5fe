"""A group of threads that a loop variable names."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            for k in T.serial(2):
                with T.ws(k):
                    T.copy(A, C)

    return main
