"""Kernels that say much about threads, clusters and schedules that Triton need not hear."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def scheduled(M, N, K, block, stages=2):
    """A product whose schedule of warps is written out beside it."""

    @T.prim_func
    def gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            T.annotate_ws_schedule(
                T.WSSchedule(
                    num_warps=8,
                    roles=[T.WSRole("load", warps_lo=0, warps_hi=1, max_nreg=40)],
                    pipelines=[T.WSPipeline("tiles", [a, b], depth=stages)],
                    scopes=[
                        T.WSScope(
                            "loop",
                            {
                                "load": [
                                    T.WSSync.producer_acquire("tiles", stage=0),
                                    T.WSOpRef("copy_a"),
                                    "copy_b",
                                    T.WSSync.producer_commit("tiles"),
                                ],
                                "multiply": [
                                    T.WSSync(T.WSSyncKind.CONSUMER_WAIT, "tiles", 1),
                                    "gemm",
                                    T.WSSync.consumer_release("tiles", stage=1),
                                ],
                            },
                        ),
                        T.WSScope(T.WSScope.ROOT, {"load": ["loop"]}),
                    ],
                )
            )
            with T.ws_op("clear"):
                T.clear(c)
            for k in T.Pipelined(
                T.ceildiv(K, block), num_stages=stages, annotations={T.WSID: "loop"}
            ):
                T.copy(A[by * block, k * block], a, annotations={T.WSID: "copy_a"})
                T.copy(B[k * block, bx * block], b, annotations={T.WSID: "copy_b"})
                T.gemm(a, b, c, annotations={T.WSID: "gemm"})
            T.copy(c, C[by * block, bx * block])

    return gemm


@tile2triton.kernel(out_idx=[-1])
def clustered_sums(rows, columns):
    """A grid of clusters, none of whose programs asks for another; barriers of every kind."""

    @T.prim_func
    def sums(A: T.Tensor((rows, columns), "float32"), C: T.Tensor((rows,), "float32")):
        with T.ClusterKernel(rows, cluster_dims=2, threads=256) as row:
            a = T.alloc_shared((columns,), "float32")
            total = T.alloc_fragment((1,), "float32")
            loaded = T.alloc_barrier([1, 128, 128])
            summed = T.alloc_cluster_barrier(1)
            tx, ty, tz = T.get_thread_bindings()
            with T.WarpSpecialize(1):
                T.copy(A[row, 0], a)
                T.fence_proxy_async()
                if T.shuffle_elect(128):
                    T.mbarrier_expect_tx(loaded[0], columns * 4)
                    T.mbarrier_arrive_expect_tx(loaded[0], columns * 4)
                T.cp_async_barrier_noinc(loaded[1])
                T.sync_warp()
                T.barrier_arrive(loaded[2])
            with T.WarpSpecialize(0):
                for stage in T.serial(3):
                    T.barrier_wait(loaded[stage], 0)
                T.reduce_sum(a, total, dim=0)
                T.tcgen05_before_thread_sync()
                T.tcgen05_mma_arrive(summed)
                T.mbarrier_wait_parity(summed, 0)
                if tx == 0 and ty + tz == 0:
                    C[row] = total[0]

    return sums


@tile2triton.kernel(out_idx=[-1])
def fenced_product(size):
    """One asynchronous product between fences."""

    @T.prim_func
    def product(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((size, size), "float16")
            b = T.alloc_shared((size, size), "float16")
            c = T.alloc_fragment((size, size), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.warpgroup_fence_operand(c)
            T.warpgroup_arrive()
            T.wgmma_gemm(a, b, c, clear_accum=True)
            T.warpgroup_commit_batch()
            T.warpgroup_wait(0)
            T.copy(c, C)

    return product


@tile2triton.kernel(out_idx=[-1])
def numbered_programs(m, n, threads):
    """Each thread writes where it is and how large the launch is."""

    @T.prim_func
    def numbered(C: T.Tensor((m, n, threads, 5), "int32")):
        with T.Kernel(n, m, threads=threads):
            tx = T.launch_thread("threadIdx.x", threads)
            column, row, _ = T.get_block_bindings()
            C[row, column, tx, 0] = T.get_block_binding(0) * 10 + T.get_block_binding(1)
            C[row, column, tx, 1] = T.get_block_extent(0) * 10 + T.get_block_extents()[1]
            C[row, column, tx, 2] = T.get_thread_extents()[0]
            C[row, column, tx, 3] = T.get_warp_idx()
            C[row, column, tx, 4] = tx

    return numbered
