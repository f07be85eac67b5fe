"""A tensor of elements of four bits."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "int4"), B: T.Tensor((64,), "int8")):
        with T.Kernel(1, threads=128) as bx:
            T.copy(A, B)

    return main
