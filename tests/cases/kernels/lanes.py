"""Kernels that compute with the number of the thread."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def scaled_by_threads(n, threads, turns, dtype="float32"):
    """Every thread stores several elements."""

    @T.prim_func
    def scaled(A: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, threads * turns), threads=threads) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(turns):
                x = A[bx * threads * turns + i * threads + tx]
                C[bx * threads * turns + i * threads + tx] = x * 2

    return scaled


@tile2triton.kernel(out_idx=[-1])
def marked_in_place(rows, columns, threads, block):
    """Marks the ends of a range in each row, and what is outside; in a `thread_binding`."""

    @T.prim_func
    def marked(
        Start: T.Tensor((rows,), "int32"),
        End: T.Tensor((rows,), "int32"),
        C: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(rows, threads=threads) as row:
            tx = T.thread_binding(0, threads, thread="threadIdx.x")
            start = Start[row]
            end = End[row]
            for n in T.Pipelined(T.ceildiv(columns, block)):
                for k in T.serial(block // threads):
                    at = n * block + k * threads + tx
                    C[row, at] = 0.0
                    if at == start or at == end - 1:
                        C[row, at] = 1.0
                    if at < start or at >= end:
                        C[row, at] = -1.0

    return marked


@tile2triton.kernel(out_idx=[-1])
def row_products(rows, columns, threads, kind):
    """Each thread multiplies one row with a vector, in its own variable or array."""

    @T.prim_func
    def products(
        A: T.Tensor((rows, columns), "float32"),
        B: T.Tensor((columns,), "float32"),
        C: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, threads), threads=threads) as bx:
            tx = T.get_thread_binding()
            row = bx * threads + tx
            if kind == "variable":
                total = T.alloc_var("float32")
                for k in T.serial(columns):
                    total += A[row, k] * B[k]
                if row < rows:
                    C[row] = total
            if kind == "array":
                sums = T.alloc_local((1,), "float32")
                sums[0] = 0.0
                for k in T.serial(columns):
                    sums[0] += A[row, k] * B[k]
                C[row] = sums[0]
            if kind == "fill":
                parts = T.alloc_local((2, 3), "float32")
                T.fill(parts, 1.0)
                most = T.alloc_local((1,), "float32")
                T.clear(most)
                for k in T.serial(columns):
                    parts[k % 2, k % 3] += A[row, k] * B[k]
                for p in T.serial(2):
                    for q in T.serial(3):
                        most[0] += parts[p, q] - 1.0
                C[row] = most[0]
            if kind == "loop":
                for lane in T.thread_binding(0, threads, "threadIdx.x"):
                    one = T.alloc_var("float32", 0.0)
                    for k in T.serial(columns):
                        one = one + A[bx * threads + lane, k] * B[k]
                    C[bx * threads + lane] = one

    return products


@tile2triton.kernel(out_idx=[-1])
def through_shared(n, threads):
    """Threads pass their values on to others through a shared tile, between barriers."""

    @T.prim_func
    def passed(A: T.Tensor((n,), "int32"), C: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as bx:
            tx = T.get_thread_binding()
            mine = T.alloc_var("int32")
            s = T.alloc_shared((threads,), "int32")
            mine = A[bx * threads + tx]
            s[tx] = mine
            T.sync_threads()
            C[bx * threads + tx] = mine * 1000 + s[threads - 1 - tx]

    return passed


@tile2triton.kernel(out_idx=[-1])
def two_dimensions(m, n):
    @T.prim_func
    def numbered(C: T.Tensor((m, n), "int32")):
        with T.Kernel(1, threads=(n, m)) as bx:
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            C[ty, tx] = ty * 100 + tx + T.get_thread_extent(0) * 10000

    return numbered


@tile2triton.kernel(out_idx=[-1])
def numbers_of_threads(threads):
    @T.prim_func
    def numbers(C: T.Tensor((5, threads), "int32")):
        with T.Kernel(1, threads=threads) as _:
            tx = T.get_thread_binding()
            C[0, tx] = T.get_lane_idx()
            C[1, tx] = T.get_warp_idx_sync()
            C[2, tx] = T.get_warp_group_idx()
            C[3, tx] = T.shuffle_elect(64)
            C[4, tx] = T.get_warp_group_idx(warps_per_group=2)

    return numbers


@tile2triton.kernel(out_idx=[-1])
def stored_by_one(rows, columns):
    """One thread stores the sum of a row, another its largest element."""

    @T.prim_func
    def stored(A: T.Tensor((rows, columns), "float32"), C: T.Tensor((rows, 2), "float32")):
        with T.Kernel(rows, threads=64) as row:
            tx = T.get_thread_binding()
            a = T.alloc_fragment((columns,), "float32")
            total = T.alloc_fragment((1,), "float32")
            most = T.alloc_fragment((1,), "float32")
            T.copy(A[row, 0], a)
            T.reduce_sum(a, total, dim=0)
            T.reduce_max(a, most, dim=0)
            if tx == 0:
                C[row, 0] = total[0]
            if tx == 32 and row >= 0:
                C[row, 1] = most[0]

    return stored
