"""An annotation of a schedule among a kernel's statements."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            T.warp_specialize(2)
            T.copy(A[bx * 16 : bx * 16 + 16, :], B[bx * 16 : bx * 16 + 16, :])

    return main
