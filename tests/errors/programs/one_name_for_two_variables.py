"""One name for the two variables of T.Persistent, used as a number."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(C: T.Tensor((8, 8), "int32")):
        with T.Kernel(4) as bx:
            for tile in T.Persistent([8, 8], 4, bx):
                C[tile, 0] = 1

    return main
