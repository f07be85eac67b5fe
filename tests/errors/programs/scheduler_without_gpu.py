"""How many programs a persistent kernel has, without a GPU."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def program():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            sched = T.PersistentTileScheduler(8, 8)
            sched.init(bx)
            while sched.valid():
                B[sched.m_idx] = A[sched.n_idx]
                sched.next_tile()

    return main
