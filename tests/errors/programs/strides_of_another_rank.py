"""One stride for two dimensions."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.ptr, B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            C = T.make_tensor(A, (8, 8), "float32", strides=(8,))
            B[0] = C[0, 0]

    return main
