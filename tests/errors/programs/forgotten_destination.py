"""A result that nothing uses."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            x = T.copy(A[:, :])
            T.reduce_sum(x, dim=1)

    return main
