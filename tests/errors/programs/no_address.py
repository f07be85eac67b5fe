"""A number of 32 bits is no address."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(n: T.int32, B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            A = T.make_tensor(n, (64,), "float32")
            B[0] = A[0]

    return main
