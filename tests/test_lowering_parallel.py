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


def test_sibling_serial_loops_have_their_own_offsets(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"),
              C: T.Tensor((16,), "float32"), D: T.Tensor((16,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((16,), "float32")
                b = T.alloc_fragment((16,), "float32")
                T.clear(a)
                T.clear(b)
                for i in T.Parallel(16):
                    for k in T.serial(4):
                        a[i] += A[k * 16 + i]
                    for k in T.serial(4):
                        b[i] += B[k * 16 + i]
                T.copy(a, C)
                T.copy(b, D)
        """,
        [rand(64), rand(64)],
        device,
        outputs=("C", "D"),
    )


def test_sums_over_loop_variables_have_the_destinations_type(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((16, 24), "int8"), H: T.Tensor((16,), "float16"),
              F: T.Tensor((16,), "float32"), C: T.Tensor((16,), "int32"),
              D: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                s = T.alloc_fragment((16,), "int32")
                n = T.alloc_fragment((1,), "int32")
                f = T.alloc_fragment((1,), "float32")
                m = T.alloc_fragment((1,), "int32")
                T.clear(s)
                T.clear(n)
                T.clear(f)
                T.clear(m)
                for i, j in T.Parallel(16, 24):
                    s[i] += A[i, j]
                for i in T.Parallel(16):
                    n[0] += F[i] > 0
                    f[0] += H[i]
                    m[0] += F[i]
                T.copy(s, C)
                D[0] = n[0]
                D[1] = f[0]
                D[2] = m[0]
                D[3] = 0.0
        """,
        [
            torch.full((16, 24), 100, dtype=torch.int8),
            torch.full((16,), 60000, dtype=torch.float16),
            torch.full((16,), 0.5),
        ],
        device,
        outputs=("C", "D"),
    )


def test_a_condition_is_what_it_was_when_the_branch_began(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((20,), "float32"), C: T.Tensor((20,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                m = T.alloc_fragment((20,), "bool")
                for i in T.Parallel(20):
                    m[i] = A[i] > 0
                for i in T.Parallel(20):
                    v = T.alloc_var("bool", True)
                    if v:
                        v = False
                        C[i] = 1.0
                    else:
                        C[i] = 2.0
                    if m[i]:
                        m[i] = False
                        C[i] = 3.0
        """,
        [rand(20)],
        device,
    )


def test_joined_branches_are_stored_apart(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "float16"),
              C: T.Tensor((16,), "float32"), D: T.Tensor((16,), "int32")):
            with T.Kernel(1, threads=64) as bx:
                for i in T.Parallel(16):
                    if i < 8:
                        C[i] = A[i]
                    else:
                        C[i] = B[i]
                for i in T.Parallel(16):
                    if i < 8:
                        D[i] = A[i]
                    else:
                        D[i] = 2.5
        """,
        [torch.full((16,), 16777217, dtype=torch.int32), rand(16, dtype=torch.float16)],
        device,
        outputs=("C", "D"),
    )


def test_loops_over_one_element(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((4,), "float32"),
              D: T.Tensor((8, 64), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_fragment((64,), "float32")
                s = T.alloc_fragment((1,), "float32")
                u = T.alloc_fragment((8,), "float32")
                T.copy(A, t)
                T.clear(u)
                for i in T.Parallel(1):
                    s[i] = t[i]
                    C[0] = t[i] + 1
                    u[3] = t[i]
                    if t[i] > 100.0:
                        s[i] = 1.0
                for i, j in T.Parallel(8, 1):
                    u[i] += t[j]
                for i, j in T.Parallel(1, 64):
                    D[i, j] = t[j] + u[3]
                C[1] = s[0]
                C[2] = u[3]
                C[3] = u[4]
                for i, j in T.Parallel(7, 64):
                    D[i + 1, j] = t[j]
        """,
        [rand(64)],
        device,
        outputs=("C", "D"),
    )


def test_one_variable_in_two_dimensions_of_a_tile(device: str) -> None:
    header = (
        "def k(A: T.Tensor((16,), 'float32'), C: T.Tensor((16, 16), 'float32')):\n"
        "    with T.Kernel(1, threads=32) as bx:\n"
        "        t = T.alloc_fragment((16, 16), 'float32')\n"
        "        for i, j in T.Parallel(16, 16):\n"
        "            t[i, j] = A[i] * j\n"
        "        for i in T.Parallel(16):\n"
        "            t[i, i] = A[i]\n"
        "        for i, j in T.Parallel(16, 16):\n"
        "            C[i, j] = t[j, j] + t[i, j]\n"
    )
    agree(header, [rand(16)], device)


def test_tiles_may_be_called_like_offsets(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                for k in T.serial(3):
                    offs_a = T.alloc_fragment((64,), "float32")
                    T.copy(A, offs_a)
                    for i in T.Parallel(64):
                        A[i] = offs_a[i] + 1.0
                for i in T.Parallel(64):
                    C[i] = A[i]
        """,
        [torch.zeros(64)],
        device,
    )


def test_updates_under_a_condition_touch_only_what_they_reach(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((4, 8), "float32"), V: T.Tensor((4,), "int32"),
              C: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                for i in T.Parallel(4):
                    C[i] = 1.0
                for i, j in T.Parallel(4, 8):
                    if V[i] > 0 and j > 2:
                        C[i] += A[i, j]
        """,
        [rand(4, 8), torch.tensor([1, 0, 0, 1], dtype=torch.int32)],
        device,
    )


def test_updates_that_may_meet_are_refused() -> None:
    for index in ("i // 2", "I[i]"):
        with pytest.raises(RewriteError, match="may update the same element"):
            run_both(
                "def k(A: T.Tensor((16,), 'float32'), I: T.Tensor((16,), 'int32'), "
                "C: T.Tensor((16,), 'float32')):\n"
                "    with T.Kernel(1, threads=32) as bx:\n"
                "        for i in T.Parallel(16):\n"
                f"            C[{index}] += A[i]\n",
                [rand(16), torch.zeros(16, dtype=torch.int32)],
                "cpu",
            )


def test_lets_of_unrolled_loops_divide_rounding_down(device: str) -> None:
    agree(
        """
        def k(C: T.Tensor((4,), "int32"), A: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=64) as bx:
                for k in T.unroll(4):
                    x = k - 2
                    C[k] = x // 3 * 10 + x % 3 + A[0]
        """,
        [torch.zeros(1, dtype=torch.int32)],
        device,
    )


def test_indices_with_one_value_are_masked_too(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((n,), "float32"), C: T.Tensor((2,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                C[0] = A[bx + 7]
                for q in T.serial(5, 6):
                    C[1] = A[q]
        """,
        [rand(3)],
        device,
        dims={"n": ("A", 0)},
    )


def test_arguments_of_one_can_be_cast(device: str) -> None:
    for n in (1, 2):
        agree(
            """
            def k(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
                with T.Kernel(1, threads=64) as bx:
                    for i in T.Parallel(32):
                        C[i] = A[i] * T.cast(n + 1, "float16") + T.if_then_else(i > 0, 3000000000, -1)
            """,
            [rand(n)],
            device,
            dims={"n": ("A", 0)},
        )


def test_the_value_before_many_additions_is_refused() -> None:
    with pytest.raises(RewriteError, match="asks what `n` held before"):
        run_both(
            "def k(A: T.Tensor((16,), 'float32'), n: T.Tensor((1,), 'int32'), "
            "C: T.Tensor((16,), 'int32')):\n"
            "    with T.Kernel(1, threads=32) as bx:\n"
            "        for i in T.Parallel(16):\n"
            "            C[i] = T.atomic_add(n[0], 1, return_prev=True)\n",
            [rand(16), torch.zeros(1, dtype=torch.int32)],
            "cpu",
        )
