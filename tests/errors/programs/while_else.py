"""A while with an else."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            k = T.alloc_var("int32", 0)
            while k < 4:
                B[k] = A[k]
                k = k + 1
            else:
                B[0] = 0.0

    return main
