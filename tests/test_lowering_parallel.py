"""T.Parallel and scalar code: reference meaning = Triton, for the forms that indices can take."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree, run_both


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


def test_a_row_and_a_column_broadcast(device: str) -> None:
    agree(
        """
        block_M = 32
        block_N = 16
        def k(A: T.Tensor((70, 50), "float32"), r: T.Tensor((50,), "float32"),
              c: T.Tensor((70,), "float32"), C: T.Tensor((70, 50), "float32")):
            with T.Kernel(T.ceildiv(50, block_N), T.ceildiv(70, block_M), threads=64) as (bx, by):
                a = T.alloc_fragment((block_M, block_N), "float32")
                row = T.alloc_fragment((block_N,), "float32")
                col = T.alloc_fragment((block_M,), "float32")
                T.copy(A[by * block_M, bx * block_N], a)
                T.copy(r[bx * block_N], row)
                T.copy(c[by * block_M], col)
                for i, j in T.Parallel(block_M, block_N):
                    a[i, j] = a[i, j] * row[j] + col[i]
                T.copy(a, C[by * block_M, bx * block_N])
        """,
        [rand(70, 50), rand(50), rand(70)],
        device,
    )


def test_global_elements_are_read_and_written_in_place(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((100, 30), "float32"), C: T.Tensor((100, 30), "float32")):
            with T.Kernel(4, threads=64) as bx:
                for i, j in T.Parallel(32, 32):
                    C[bx * 32 + i, j] = A[bx * 32 + i, j] + A[bx * 32 + i, j - 1]
        """,
        [rand(100, 30)],
        device,
    )


def test_loop_order_is_the_stores(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((16, 32), "float32"), C: T.Tensor((32, 16), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((16, 32), "float32")
                t = T.alloc_shared((32, 16), "float32")
                T.copy(A, a)
                for i, j in T.Parallel(16, 32):
                    t[j, i] = a[i, j] * 2
                T.copy(t, C)
        """,
        [rand(16, 32)],
        device,
    )


def test_three_dimensions_permuted(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((4, 8, 16), "float32"), C: T.Tensor((16, 4, 8), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((4, 8, 16), "float32")
                t = T.alloc_shared((16, 4, 8), "float32")
                T.copy(A, a)
                for i, j, l in T.Parallel(4, 8, 16):
                    t[l, i, j] = a[i, j, l] + j
                T.copy(t, C)
        """,
        [rand(4, 8, 16)],
        device,
    )


def test_if_else_masks_tiles_and_tensors(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32"),
              D: T.Tensor((64, 64), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                for i, j in T.Parallel(64, 64):
                    D[i, j] = 0.0
                for i, j in T.Parallel(64, 64):
                    if i > j:
                        a[i, j] = -1.0
                        D[i, j] = a[i, j] + 1.5
                    else:
                        if a[i, j] < 0:
                            a[i, j] = a[i, j] * 3
                for i, j in T.Parallel(64, 64):
                    C[i, j] = a[i, j]
        """,
        [rand(64, 64)],
        device,
        outputs=("C", "D"),
    )


def test_untaken_loads_do_not_happen(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((40,), "float32"), C: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                for i in T.Parallel(64):
                    C[i] = T.if_then_else(i < 10, A[i * 4], A[63 - i])
        """,
        [rand(40)],
        device,
    )


def test_gathered_indices_out_of_bounds_read_zero(device: str) -> None:
    idx = torch.tensor([-1, 3, 7, 50, 51, -9, 0, 2, 1, 1, 1, 49, 8, 9, 10, 11], dtype=torch.int32)
    agree(
        """
        def k(A: T.Tensor((50, 8), "float32"), idx: T.Tensor((16,), "int32"),
              C: T.Tensor((16, 8), "float32")):
            with T.Kernel(1, threads=64) as bx:
                rows = T.alloc_fragment((16,), "int32")
                T.copy(idx, rows)
                for i, j in T.Parallel(16, 8):
                    C[i, j] = A[rows[i], j]
        """,
        [rand(50, 8), idx],
        device,
    )


def test_a_tile_is_read_at_computed_positions(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((128,), "float32")
                T.copy(A, a)
                for i in T.Parallel(128):
                    C[i] = a[(i + 1) % 128]
        """,
        [torch.arange(128, dtype=torch.float32)],
        device,
    )


def test_loops_smaller_than_the_tile_keep_the_rest(device: str) -> None:
    agree(
        """
        def k(C: T.Tensor((256,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                f = T.alloc_fragment((256,), "float32")
                T.clear(f)
                for i in T.Parallel(100):
                    f[i] = 5
                for i in T.Parallel(256):
                    C[i] = f[i] + 1
        """,
        [],
        device,
    )


def test_a_sum_over_a_loop_variable_that_is_no_index(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((20, 33), "float32"), C: T.Tensor((33,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((20, 33), "float32")
                s = T.alloc_fragment((33,), "float32")
                T.copy(A, a)
                T.clear(s)
                for i, j in T.Parallel(20, 33):
                    s[j] += a[i, j] + 1
                T.copy(s, C)
        """,
        [rand(20, 33)],
        device,
        tolerance=1e-5,
    )


def test_variables_and_serial_loops_per_element(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64) as bx:
                for i in T.Parallel(64):
                    best = T.alloc_var("int32", 0)
                    x = A[i]
                    for s in T.serial(5):
                        if (x >> s) % 2 == 1:
                            best = best + s
                    C[i] = best
        """,
        [torch.randint(0, 1000, (64,), dtype=torch.int32)],
        device,
    )


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64"]
)
def test_literals_promote_as_in_tilelang(dtype: str, device: str) -> None:
    kind = getattr(torch, dtype)
    a = (
        torch.randint(-100, 100, (64,)).to(kind)
        if dtype.startswith("int")
        else rand(64, dtype=kind)
    )
    agree(
        f"""
        def k(A: T.Tensor((64,), "{dtype}"), C: T.Tensor((64,), "float32"),
              D: T.Tensor((64,), "float32"), E: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((64,), "{dtype}")
                T.copy(A, a)
                for i in T.Parallel(64):
                    C[i] = a[i] * 1.1 + T.max(a[i], 0.3)
                    D[i] = a[i] * 3 + a[i]
                    E[i] = T.if_then_else(a[i] > 0.1, a[i], -a[i])
        """,
        [a],
        device,
        outputs=("C", "D", "E"),
        tolerance=1e-6,
    )


@pytest.mark.parametrize("divisor", [3, -3, 7])
def test_division_rounds_down(divisor: int, device: str) -> None:
    agree(
        f"""
        def k(A: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32"), D: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((64,), "int32")
                T.copy(A, a)
                for i in T.Parallel(64):
                    C[i] = (a[i] - i) // ({divisor})
                    D[i] = (a[i] - i) % ({divisor})
        """,
        [torch.randint(-50, 50, (64,), dtype=torch.int32)],
        device,
        outputs=("C", "D"),
    )


def test_scalar_code_in_loops_and_branches(device: str) -> None:
    agree(
        """
        def k(n: T.int32, A: T.Tensor((8, 16), "float32"), C: T.Tensor((16,), "float32"),
              D: T.Tensor((2,), "int32")):
            with T.Kernel(1, threads=64) as bx:
                acc = T.alloc_fragment((16,), "float32")
                row = T.alloc_fragment((16,), "float32")
                T.clear(acc)
                count = T.alloc_var("int32", 0)
                big = T.alloc_var("int64", 1)
                last = T.alloc_var("float32", 0.0)
                for k in T.serial(n):
                    if A[k, 0] > 0:
                        T.copy(A[k, 0], row)
                        for i in T.Parallel(16):
                            acc[i] += row[i]
                        count = count + 1
                        last = A[k, 1]
                    else:
                        big = big * 3
                while count < 100:
                    count = count * 2 + 1
                for i in T.Parallel(16):
                    C[i] = acc[i] + last
                D[0] = count
                D[1] = big
        """,
        [5, rand(8, 16)],
        device,
        outputs=("C", "D"),
    )


def test_rows_and_columns_of_tiles(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((16, 32), "float32"), C: T.Tensor((16, 32), "float32"),
              r: T.Tensor((32,), "float32"), c: T.Tensor((16,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((16, 32), "float32")
                T.copy(A, a)
                for k in T.serial(3):
                    for j in T.Parallel(32):
                        a[k + 2, j] = a[k, j] * 2
                    for i in T.Parallel(16):
                        a[i, k] = a[i, 31 - k] + k
                for j in T.Parallel(32):
                    r[j] = a[5, j]
                for i in T.Parallel(16):
                    c[i] = a[i, 1]
                T.copy(a, C)
        """,
        [rand(16, 32)],
        device,
        outputs=("C", "r", "c"),
    )


def test_a_plain_store_from_many_lanes_is_refused(device: str) -> None:
    with pytest.raises(RewriteError, match="every `j` stores to the same element of `C`"):
        run_both(
            "def k(A: T.Tensor((4, 8), 'float32'), C: T.Tensor((4,), 'float32')):\n"
            "    with T.Kernel(1, threads=32) as bx:\n"
            "        for i, j in T.Parallel(4, 8):\n"
            "            C[i] = A[i, j]\n",
            [rand(4, 8)],
            device,
        )


def test_guarded_accesses_of_single_elements(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64,), "float32"), n: T.Tensor((4,), "int32"), C: T.Tensor((64,), "float32"),
              D: T.Tensor((2,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                for i in T.Parallel(64):
                    C[i] = T.if_then_else(i < n[bx + 1], A[n[bx] + i], 0.0)
                    if i == n[2]:
                        D[1] = A[i] * 2
                D[0] = 1.0
        """,
        [rand(64), torch.tensor([3, 40, 17, 0], dtype=torch.int32)],
        device,
        outputs=("C", "D"),
    )


def test_shapes_with_divisions(device: str) -> None:
    agree(
        """
        n = 50
        group = 16
        def k(A: T.Tensor((2, T.ceildiv(n, group), n), "float32"),
              C: T.Tensor((T.ceildiv(n, group) * 2, n), "float32")):
            with T.Kernel(T.ceildiv(n, group), 2, threads=64) as (bx, by):
                row = T.alloc_fragment((n,), "float32")
                T.copy(A[by, bx, :], row)
                T.copy(row, C[by * T.ceildiv(n, group) + bx, :])
        """,
        [rand(2, 4, 50)],
        device,
    )
