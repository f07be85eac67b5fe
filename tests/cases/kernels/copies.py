"""Kernels about bounds of copies, index expressions and literals."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def copy_padded(rows, columns, block_rows, block_columns, safe_value=None, dtype="float32"):
    """Copies the whole of A through one tile that is larger."""

    @T.prim_func
    def padded(
        A: T.Tensor((rows, columns), dtype), B: T.Tensor((block_rows, block_columns), dtype)
    ):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((block_rows, block_columns), dtype)
            if safe_value is not None:
                T.annotate_safe_value({A: safe_value})
            T.copy(A[0, 0], tile)
            T.copy(tile, B)

    return padded


@tile2triton.kernel(out_idx=[-1])
def copy_tiles(rows, columns, block_rows, block_columns, dtype="float32"):
    """Copies A to B tile by tile; the last tiles reach past the end."""

    @T.prim_func
    def tiled(A: T.Tensor((rows, columns), dtype), B: T.Tensor((rows, columns), dtype)):
        with T.Kernel(
            T.ceildiv(columns, block_columns), T.ceildiv(rows, block_rows), threads=128
        ) as (bx, by):
            tile = T.alloc_shared((block_rows, block_columns), dtype)
            T.copy(A[by * block_rows, bx * block_columns], tile)
            T.copy(tile, B[by * block_rows, bx * block_columns])

    return tiled


@tile2triton.kernel(out_idx=[-1])
def add_repeated(rows, columns, period):
    @T.prim_func
    def repeated(
        A: T.Tensor((rows, columns), "float32"),
        B: T.Tensor((period,), "float32"),
        C: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            for i, j in T.Parallel(rows, columns):
                C[i, j] = A[i, j] + B[j % period]

    return repeated


@tile2triton.kernel(out_idx=[-1])
def rotate_global(size, step):
    @T.prim_func
    def rotated(A: T.Tensor((size,), "int32"), B: T.Tensor((size,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(size):
                B[i] = A[(i + step) % size]

    return rotated


@tile2triton.kernel(out_idx=[-1])
def rotate_tile(size, step):
    @T.prim_func
    def rotated(A: T.Tensor((size,), "int32"), B: T.Tensor((size,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            buf = T.alloc_shared((size,), "int32")
            T.copy(A, buf)
            for i in T.Parallel(size):
                B[i] = buf[(i + step) % size]

    return rotated


@tile2triton.kernel(out_idx=[-1])
def partly_set(size, first):
    @T.prim_func
    def counted(B: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            f = T.alloc_fragment((size,), "float32")
            T.clear(f)
            for i in T.Parallel(first):
                f[i] = 5.0
            for i in T.Parallel(size):
                B[i] = f[i] + 1.0

    return counted


@tile2triton.kernel(out_idx=[-1])
def filled(size, value, dtype, scope="shared"):
    @T.prim_func
    def fill(B: T.Tensor((size,), dtype)):
        with T.Kernel(1, threads=128) as bx:
            tile = (T.alloc_shared if scope == "shared" else T.alloc_fragment)((size,), dtype)
            T.fill(tile, value)
            T.copy(tile, B)

    return fill


@tile2triton.kernel(out_idx=[1, 2])
def cast_both_ways(size, source, target):
    """The cast of a copy between tiles, and the cast of an expression."""

    @T.prim_func
    def cast(
        A: T.Tensor((size,), source),
        Copied: T.Tensor((size,), target),
        Computed: T.Tensor((size,), target),
    ):
        with T.Kernel(1, threads=128) as bx:
            before = T.alloc_shared((size,), source)
            after = T.alloc_fragment((size,), target)
            T.copy(A, before)
            T.copy(before, after)
            T.copy(after, Copied)
            for i in T.Parallel(size):
                Computed[i] = T.cast(A[i], target)

    return cast
