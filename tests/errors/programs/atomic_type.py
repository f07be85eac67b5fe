"""An atomic addition of a type that has none."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "int8"), B: T.Tensor((64,), "int8")):
        with T.Kernel(1, threads=128) as bx:
            T.atomic_add(B[0], A[0])

    return main
