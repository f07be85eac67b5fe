"""A fragment that one group writes and another reads."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            acc = T.alloc_fragment((64, 64), "float32")
            with T.ws(0):
                T.copy(A, acc)
            with T.ws(1):
                T.copy(acc, C)

    return main
