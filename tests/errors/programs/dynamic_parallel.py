"""T.Parallel over an extent that is known only at run time, in another one that does more."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((T.dynamic("n"),), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                B[i] = 0.0
                for j in T.Parallel(A.shape[0]):
                    T.atomic_add(B[i], A[j])

    return main
