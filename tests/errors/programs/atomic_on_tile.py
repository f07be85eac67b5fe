"""A histogram in a tile, which Triton has no atomics for."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            counts = T.alloc_shared((16,), "int32")
            T.clear(counts)
            for i in T.Parallel(64):
                T.atomic_add(counts[A[i]], 1)
            T.copy(counts, B)

    return main
