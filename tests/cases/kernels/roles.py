"""Products, copies and norms whose threads have roles that wait for each other at barriers."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def roles_in_turn(M, N, K, block, stages=1, consumer_first=False):
    """Two groups take turns in one loop; the consumer may stand first."""

    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=256) as (bx, by):
            a = T.alloc_shared((stages, block, block), "float16")
            b = T.alloc_shared((stages, block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            with T.ws(0):
                T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                if consumer_first:
                    with T.ws(0):
                        T.barrier_wait(full[k % stages], (k // stages) % 2)
                        T.gemm(a[k % stages, :, :], b[k % stages, :, :], c)
                        T.barrier_arrive(empty[k % stages])
                with T.ws(1):
                    T.barrier_wait(empty[k % stages], (k // stages + 1) % 2)
                    T.tma_copy(
                        A[by * block, k * block], a[k % stages, :, :], barrier=full[k % stages]
                    )
                    T.tma_copy(
                        B[k * block, bx * block], b[k % stages, :, :], barrier=full[k % stages]
                    )
                    T.mbarrier_arrive(full[k % stages])
                if not consumer_first:
                    with T.ws(0):
                        T.mbarrier_wait_parity(full[k % stages], (k // stages) & 1)
                        T.gemm(a[k % stages, :, :], b[k % stages, :, :], c)
                        T.barrier_arrive(empty[k % stages])
            with T.ws(0):
                T.copy(c, C[by * block, bx * block])

    return gemm


@tile2triton.kernel(out_idx=[-1])
def roles_beside_each_other(M, N, K, block, stages=1, by_thread=True):
    """Each group has a loop of its own: `if tid >= 128: … else: …` or two `with T.ws`."""

    @T.macro
    def load(A, B, a, b, full, empty, bx, by):
        for k in T.serial(T.ceildiv(K, block)):
            stage = k % stages
            T.mbarrier_wait_parity(empty[stage], ((k // stages) & 1) ^ 1)
            T.tma_copy(A[by * block, k * block], a[stage, :, :], barrier=full[stage])
            T.tma_copy(B[k * block, bx * block], b[stage, :, :], barrier=full[stage])
            T.mbarrier_arrive(full[stage])

    @T.macro
    def multiply(C, a, b, c, full, empty, bx, by):
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
            T.mbarrier_wait_parity(full[k % stages], (k // stages) & 1)
            T.wgmma_gemm(a[k % stages, :, :], b[k % stages, :, :], c)
            T.wait_wgmma(0)
            T.mbarrier_arrive(empty[k % stages])
        T.copy(c, C[by * block, bx * block])

    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=256) as (bx, by):
            a = T.alloc_shared((stages, block, block), "float16")
            b = T.alloc_shared((stages, block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            tid = T.get_thread_binding()
            if by_thread:
                if tid >= 128:
                    T.annotate_producer_reg_dealloc()
                    load(A, B, a, b, full, empty, bx, by)
                else:
                    multiply(C, a, b, c, full, empty, bx, by)
            else:
                with T.ws(0):
                    multiply(C, a, b, c, full, empty, bx, by)
                with T.ws(1):
                    load(A, B, a, b, full, empty, bx, by)

    return gemm


@tile2triton.kernel(out_idx=[-1])
def tensor_memory(M, N, K, block):
    """Products into tensor memory, each of which arrives at a barrier."""

    @T.prim_func
    def gemm(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((N, K), "bfloat16"), C: T.Tensor((M, N))):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=256) as (bx, by):
            a = T.alloc_shared((block, block), "bfloat16")
            b = T.alloc_shared((block, block), "bfloat16")
            c = T.alloc_tmem((block, block), "float32")
            out = T.alloc_fragment((block, block), "float32")
            done = T.alloc_barrier(1)
            for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                T.async_copy(A[by * block, k * block], a)
                T.async_copy(B[bx * block, k * block], b)
                T.ptx_commit_group()
                T.ptx_wait_group(0)
                if T.get_warp_idx_sync() == 0:
                    T.tcgen05_gemm(a, b, c, False, True, mbar=done, clear_accum=k == 0)
                T.mbarrier_wait_parity(done, k % 2)
                T.tcgen05_after_thread_sync()
            T.copy(c, out)
            T.deallocate_tmem(c)
            T.tma_copy(out, C[by * block, bx * block])
            T.tma_store_arrive()
            T.tma_store_wait()

    return gemm


@tile2triton.kernel(out_idx=[-1])
def run_time_turns(block=32):
    """How often the loops run is an argument; the last turn has a barrier of its own."""

    @T.prim_func
    def total(A: T.Tensor((8, block), "float32"), n: T.int32, C: T.Tensor((block,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            row = T.alloc_shared((2, block), "float32")
            out = T.alloc_fragment((block,), "float32")
            full = T.alloc_barrier([128] * 2)
            empty = T.alloc_barrier([128] * 2)
            last = T.alloc_barrier(128)
            with T.ws(1):
                for k in T.serial(n):
                    T.barrier_wait(empty[k % 2], (k // 2 + 1) % 2)
                    T.copy(A[k, 0], row[k % 2, :])
                    T.barrier_arrive(full[k % 2])
                    if k == n - 1:
                        T.barrier_arrive(last)
            with T.ws(0):
                T.clear(out)
                for k in T.serial(n):
                    T.barrier_wait(full[k % 2], (k // 2) % 2)
                    for i in T.Parallel(block):
                        out[i] += row[k % 2, i]
                    T.barrier_arrive(empty[k % 2])
                    if k == n - 1:
                        T.barrier_wait(last, 0)
                        T.copy(out, C)

    return total


@tile2triton.kernel(out_idx=[-1])
def split_norm(rows, hidden, threads=96, eps=1e-6):
    """RMS norm whose first warp writes the scale of each row, and whose others the row (C14)."""

    @T.prim_func
    def norm(
        X: T.Tensor((rows, hidden), "float32"),
        Scale: T.Tensor((rows,), "float32"),
        Y: T.Tensor((rows, hidden), "float32"),
    ):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_fragment((hidden,), "float32")
            square = T.alloc_fragment((hidden,), "float32")
            total = T.alloc_fragment((1,), "float32")
            x_shared = T.alloc_shared((hidden,), "float32")
            scale = T.alloc_shared((1,), "float32")
            T.copy(X[row, 0], x)
            for i in T.Parallel(hidden):
                square[i] = x[i] * x[i]
            T.reduce_sum(square, total, dim=0)
            T.copy(x, x_shared)
            scale[0] = T.rsqrt(total[0] / hidden + eps)
            if T.get_thread_binding() < 32:
                Scale[row] = scale[0]
            else:
                y = T.alloc_fragment((hidden,), "float32")
                for i in T.Parallel(hidden):
                    y[i] = x_shared[i] * scale[0]
                T.copy(y, Y[row, 0])

    return norm


@tile2triton.kernel(out_idx=[-1])
def roles_in_a_chain(turns, size, stages=2, at=0):
    """Three groups in one `if`/`elif`, of which some branches belong to the first or last turn."""

    @T.prim_func
    def sums(
        Q: T.Tensor((size, size), "bfloat16"),
        A: T.Tensor((turns, size, size), "bfloat16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(1, threads=256):
            q = T.alloc_shared((size, size), "bfloat16")
            a = T.alloc_shared((stages, size, size), "bfloat16")
            s = T.alloc_tmem((size, size), "float32")
            part = T.alloc_fragment((size, size), "float32")
            acc = T.alloc_fragment((size, size), "float32")
            full = T.alloc_barrier([32] * stages)
            empty = T.alloc_barrier([32] * stages)
            done = T.alloc_barrier([1] * stages)
            used = T.alloc_barrier([128] * stages)
            final = T.alloc_barrier([32])
            tid = T.get_thread_binding()
            if tid < 128:
                T.clear(acc)
            for k in T.serial(turns):
                stage = k % stages
                parity = (k // stages) & 1
                if tid >= 128 and tid < 160:
                    T.mbarrier_wait_parity(empty[stage], parity ^ 1)
                    if k == at:
                        T.copy(Q, q)
                    T.copy(A[k, 0, 0], a[stage, :, :])
                    T.mbarrier_arrive(full[stage])
                elif tid >= 160 and tid < 192:
                    T.mbarrier_wait_parity(full[stage], parity)
                    T.tcgen05_gemm(q, a[stage, :, :], s, mbar=done[stage], clear_accum=True)
                    T.mbarrier_wait_parity(used[stage], parity)
                    T.mbarrier_arrive(empty[stage])
                    if k == turns - 1:
                        T.mbarrier_arrive(final[0])
                elif tid < 128:
                    T.mbarrier_wait_parity(done[stage], parity)
                    T.copy(s, part)
                    for i, j in T.Parallel(size, size):
                        acc[i, j] += part[i, j]
                    T.mbarrier_arrive(used[stage])
                    if k == turns - 1:
                        T.mbarrier_wait_parity(final[0], 0)
                        T.copy(acc, C)

    return sums
