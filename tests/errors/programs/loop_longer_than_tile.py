"""A loop over more elements than the tile that its variable indexes has."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            half = T.alloc_shared((32,), "float32")
            for i in T.Parallel(64):
                half[i] = A[i]
            T.copy(half, C[0])

    return main
