"""A name that would be another tile in each turn."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            x = T.copy(A[:, :])
            for k in T.serial(4):
                x = x + 1.0
            T.copy(x, A)

    return main
