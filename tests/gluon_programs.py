"""Programs whose rings, names and bounds are not those of a plain GEMM; all compute A @ B or more.

Some have a form in Gluon; the others must be left in plain Triton, with the reason.
"""

import tile2triton
import tile2triton.language as T

M, N, K = 256, 128, 320


@tile2triton.kernel
@T.warp_specialize(2)
def names_of_gluon(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """Its own names are those that the emitted functions use."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (left, part):
        ring = T.alloc_shared((64, 64), "float16")
        slot = T.alloc_shared((64, 64), "float16")
        slot_slot = T.alloc_fragment((64, 64), "float32")
        T.clear(slot_slot)
        for turn in T.Pipelined(K // 64, num_stages=2):
            stages = turn * 64
            T.copy(A[part * 64, stages], ring)
            T.copy(B[stages, left * 64], slot)
            T.gemm(ring, slot, slot_slot)
        slot_slot_layout = part * 64
        T.copy(slot_slot, C[slot_slot_layout, left * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def names_of_the_module(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (gl, tma):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[tma * 64, k * 64], a)
            T.copy(B[k * 64, gl * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[tma * 64, gl * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def backwards(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=3):
            T.copy(A[by * 64, (K // 64 - 1 - k) * 64], a)
            T.copy(B[(K // 64 - 1 - k) * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def with_erf(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """erf(A @ B)."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        for i, j in T.Parallel(64, 64):
            c[i, j] = T.erf(c[i, j])
        T.copy(c, C[by * 64, bx * 64])
    return C


def ragged(stop):
    """Rows of blocks that sum over another number of columns each."""

    @tile2triton.kernel
    @T.warp_specialize(3)
    def summed_up_to(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
        C = T.empty((M, N), "float16")
        with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(stop(by), num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])
        return C

    return summed_up_to


@tile2triton.kernel
@T.warp_specialize(2)
def copied(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """What comes by TMA is also read element by element: A @ B + the sum of blocks of A."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
            for i, j in T.Parallel(64, 64):
                c[i, j] += a[i, j]
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def twice(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """One buffer for two loads of a turn: 2 * (A @ B)."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(B[k * 64, bx * 64], b)
            T.copy(A[by * 64, k * 64], a)
            T.gemm(a, b, c)
            T.copy(A[by * 64, (K // 64 - 1 - k) * 64], a)
            T.copy(B[(K // 64 - 1 - k) * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def ahead(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """The first block of B before the loop, the others at the end of a turn."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        T.copy(B[0, bx * 64], b)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.gemm(a, b, c)
            T.copy(B[(k + 1) * 64, bx * 64], b)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def nested(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.serial(K // 64):
            for h in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64 + h * 32], a)
                T.copy(B[k * 64 + h * 32, bx * 64], b)
                T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def two_loops(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """Two loops over the same blocks: 2 * (A @ B)."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def of_another_type(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "float16")):
    """Copies convert A on its way."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def sparse(
    A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), counts: T.Tensor((4,), "int32")
):
    """How many blocks each row of blocks has is known on the device only."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(counts[by], num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[k * 64, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def carried(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16")):
    """Each turn says where the next one loads B."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        at = T.alloc_var("int32", 0)
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(B[at, bx * 64], b)
            T.gemm(a, b, c)
            at += 64
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def permuted(
    A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), order: T.Tensor((5,), "int32")
):
    """A table says which block each turn takes."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            at = order[k] * 64
            T.copy(A[by * 64, at], a)
            T.copy(B[at, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def keys_as_values(Q: T.Tensor((M, 64), "float16"), KV: T.Tensor((K, 64), "float16")):
    """relu(Q @ KVᵀ) @ KV: both products of a turn read one tile, with the softmax between."""
    C = T.empty((M, 64), "float16")
    with T.Kernel(M // 64, threads=128) as bx:
        q = T.alloc_shared((64, 64), "float16")
        kv = T.alloc_shared((64, 64), "float16")
        s = T.alloc_fragment((64, 64), "float32")
        w = T.alloc_fragment((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(Q[bx * 64, 0], q)
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(KV[k * 64, 0], kv)
            T.gemm(q, kv, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                w[i, j] = T.max(s[i, j], 0)
            T.gemm(w, kv, c)
        T.copy(c, C[bx * 64, 0])
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def weighted(
    A: T.Tensor((M, K), "float16"),
    B: T.Tensor((K, N), "float16"),
    rows: T.Tensor((M,), "float32"),
    columns: T.Tensor((K,), "float32"),
    R: T.Tensor((M, N), "float16"),
):
    """(A * rows * columns) @ B * rows + R: what TMA brings is read into registers."""
    C = T.empty((M, N), "float16")
    with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        r = T.alloc_shared((64, 64), "float16")
        w = T.alloc_fragment((64, 64), "float16")
        row = T.alloc_fragment((64,), "float32")
        column = T.alloc_fragment((64,), "float32")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(rows[by * 64], row)
        T.clear(c)
        for k in T.Pipelined(K // 64, num_stages=2):
            T.copy(A[by * 64, k * 64], a)
            T.copy(columns[k * 64], column)
            T.copy(B[k * 64, bx * 64], b)
            for i, j in T.Parallel(64, 64):
                w[i, j] = a[i, j] * row[i] * column[j]
            T.gemm(w, b, c)
        T.copy(R[by * 64, bx * 64], r)
        for i, j in T.Parallel(64, 64):
            c[i, j] = c[i, j] * row[i] + r[i, j]
        T.copy(c, C[by * 64, bx * 64])
    return C
