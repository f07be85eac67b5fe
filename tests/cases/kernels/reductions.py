"""Kernels that reduce a tile along one dimension."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def reduce_rows(width, operator, block_rows=1, dtype="float32"):
    reduce = getattr(T, operator)
    rows = T.dynamic("rows")

    @T.prim_func
    def row_reduction(A: T.Tensor((rows, width), dtype), B: T.Tensor((rows,), dtype)):
        with T.Kernel(T.ceildiv(rows, block_rows), threads=128) as bx:
            tile = T.alloc_fragment((block_rows, width), dtype)
            result = T.alloc_fragment((block_rows,), dtype)
            T.copy(A[bx * block_rows, 0], tile)
            reduce(tile, result, dim=1)
            T.copy(result, B[bx * block_rows])

    return row_reduction


@tile2triton.kernel(out_idx=[-1])
def reduce_columns(height, width, operator, dtype="float32"):
    reduce = getattr(T, operator)

    @T.prim_func
    def column_reduction(A: T.Tensor((height, width), dtype), B: T.Tensor((width,), dtype)):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_fragment((height, width), dtype)
            result = T.alloc_fragment((width,), dtype)
            T.copy(A, tile)
            reduce(tile, result, dim=0)
            T.copy(result, B)

    return column_reduction


@tile2triton.kernel(out_idx=[-1])
def reduce_onto(width, start, operator="reduce_max", nan_propagate=True, dtype="float32"):
    """Combines each row with `start` instead of with the identity."""
    reduce = getattr(T, operator)

    @T.prim_func
    def row_reduction(A: T.Tensor((1, width), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_fragment((1, width), dtype)
            result = T.alloc_fragment((1,), dtype)
            T.copy(A, tile)
            T.fill(result, start)
            reduce(tile, result, dim=1, clear=False, nan_propagate=nan_propagate)
            T.copy(result, B)

    return row_reduction


@tile2triton.kernel(out_idx=[-1])
def exp_column_sums(rows, columns, block_rows, block_columns, how):
    """Column sums of exp(x); `how` says what keeps the rows past the end out of the sum."""

    @T.prim_func
    def column_sums(X: T.Tensor((rows, columns), "float32"), S: T.Tensor((columns,), "float32")):
        with T.Kernel(T.ceildiv(columns, block_columns), threads=128) as bx:
            tile = T.alloc_fragment((block_rows, block_columns), "float32")
            sums = T.alloc_fragment((block_columns,), "float32")
            if how == "safe value":
                T.annotate_safe_value({X: -T.infinity("float32")})
            T.clear(sums)
            for k in T.serial(T.ceildiv(rows, block_rows)):
                T.copy(X[k * block_rows, bx * block_columns], tile)
                for i, j in T.Parallel(block_rows, block_columns):
                    if how == "mask":
                        inside = k * block_rows + i < rows
                        tile[i, j] = T.if_then_else(inside, T.exp(tile[i, j]), 0.0)
                    else:
                        tile[i, j] = T.exp(tile[i, j])
                T.reduce_sum(tile, sums, dim=0, clear=False)
            T.copy(sums, S[bx * block_columns])

    return column_sums


@tile2triton.kernel(out_idx=[1, 2])
def running_maxima(steps, width, dtype):
    """The largest of each row so far, by a reduction and element by element, in a narrow type."""

    @T.prim_func
    def maxima(
        A: T.Tensor((steps, 8, width), dtype),
        Rows: T.Tensor((8,), dtype),
        Columns: T.Tensor((8, width), dtype),
    ):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_fragment((8, width), dtype)
            by_row = T.alloc_fragment((8,), dtype)
            by_element = T.alloc_fragment((8, width), dtype)
            T.fill(by_row, -100.0)
            T.fill(by_element, -100.0)
            for k in T.serial(steps):
                T.copy(A[k, 0, 0], tile)
                T.reduce_max(tile, by_row, dim=1, clear=False)
                for i, j in T.Parallel(8, width):
                    by_element[i, j] = T.max(by_element[i, j], tile[i, j])
            T.copy(by_row, Rows)
            T.copy(by_element, Columns)

    return maxima
