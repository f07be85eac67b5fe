"""Tile operators: reference meaning = Triton, for shapes that divide and shapes that do not."""

import pytest
import torch

from tests.three_meanings import agree


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


def int8(*shape: int) -> torch.Tensor:
    return torch.randint(-20, 20, shape, dtype=torch.int8)


GEMM = """
M = {M}
N = {N}
K = {K}
block_M = {bm}
block_N = {bn}
block_K = {bk}
def k(A: T.Tensor({a}, "{dtype}"), B: T.Tensor({b}, "{dtype}"), C: T.Tensor((M, N), "{out}")):
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared({a_tile}, "{dtype}")
        B_shared = T.alloc_shared({b_tile}, "{dtype}")
        acc = T.alloc_fragment((block_M, block_N), "{acc}")
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[{a_start}], A_shared)
            T.copy(B[{b_start}], B_shared)
            T.gemm(A_shared, B_shared, acc, transpose_A={ta}, transpose_B={tb})
        T.copy(acc, C[by * block_M, bx * block_N])
"""


def gemm(
    size: tuple[int, int, int],
    tile: tuple[int, int, int],
    dtype: str = "float16",
    acc: str = "float32",
    out: str = "float32",
    ta: bool = False,
    tb: bool = False,
) -> str:
    rows, inner = "by * block_M", "k * block_K"
    return GEMM.format(
        M=size[0],
        N=size[1],
        K=size[2],
        bm=tile[0],
        bn=tile[1],
        bk=tile[2],
        dtype=dtype,
        acc=acc,
        out=out,
        ta=ta,
        tb=tb,
        a="(K, M)" if ta else "(M, K)",
        b="(N, K)" if tb else "(K, N)",
        a_tile="(block_K, block_M)" if ta else "(block_M, block_K)",
        b_tile="(block_N, block_K)" if tb else "(block_K, block_N)",
        a_start=f"{inner}, {rows}" if ta else f"{rows}, {inner}",
        b_start=f"bx * block_N, {inner}" if tb else f"{inner}, bx * block_N",
    )


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
def test_gemm_transposed_and_ragged(target: str, ta: bool, tb: bool, device: str) -> None:
    size = (100, 72, 56)
    a = rand(*((size[2], size[0]) if ta else (size[0], size[2])), dtype=torch.float16)
    b = rand(*((size[1], size[2]) if tb else (size[2], size[1])), dtype=torch.float16)
    agree(gemm(size, (64, 32, 32), ta=ta, tb=tb), [a, b], device, target=target, tolerance=1e-4)


@pytest.mark.parametrize("tile", [(64, 24, 24), (48, 96, 48), (16, 16, 16)])
def test_gemm_tiles_that_are_no_power_of_two(tile: tuple[int, int, int], device: str) -> None:
    text = gemm((65, 50, 70), tile)
    a, b = rand(65, 70, dtype=torch.float16), rand(70, 50, dtype=torch.float16)
    agree(text, [a, b], device, tolerance=1e-4)


@pytest.mark.parametrize(
    ("dtype", "acc", "out", "tolerance"),
    [
        ("float16", "float32", "float16", 2e-3),
        ("float16", "float16", "float16", 5e-3),
        ("bfloat16", "float32", "bfloat16", 1e-2),
        ("bfloat16", "bfloat16", "float32", 3e-2),
        ("float32", "float32", "float32", 2e-3),
        ("float8_e4m3fn", "float32", "float32", 2e-3),
        ("float8_e5m2", "float32", "float16", 3e-3),
    ],
)
def test_gemm_of_every_float(dtype: str, acc: str, out: str, tolerance: float, device: str) -> None:
    kind = getattr(torch, dtype)
    a, b = rand(96, 64).to(kind), rand(64, 64).to(kind)
    agree(gemm((96, 64, 64), (32, 32, 32), dtype, acc, out), [a, b], device, tolerance=tolerance)


def test_gemm_of_int8(device: str) -> None:
    text = gemm((96, 64, 64), (32, 32, 32), "int8", "int32", "int32")
    agree(text, [int8(96, 64), int8(64, 64)], device)


def test_gemm_with_padding_that_holds_other_numbers(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((32, 24), "float16"), B: T.Tensor((24, 32), "float16"),
              C: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((32, 24), "float16")
                b = T.alloc_shared((24, 32), "float16")
                c = T.alloc_fragment((32, 32), "float32")
                T.copy(A, a)
                T.fill(b, 1)
                for i, j in T.Parallel(32, 24):
                    a[i, j] = T.exp(a[i, j])
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C)
        """,
        [rand(32, 24, dtype=torch.float16), rand(24, 32, dtype=torch.float16)],
        device,
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8"])
@pytest.mark.parametrize("operation", ["sum", "max", "min", "abssum", "absmax"])
@pytest.mark.parametrize(("dim", "width"), [(1, 48), (0, 64), (-1, 33)])
def test_reductions(operation: str, dim: int, width: int, dtype: str, device: str) -> None:
    kind = getattr(torch, dtype)
    a = (
        torch.randint(-9, 9, (20, width)).to(kind)
        if "int" in dtype
        else rand(20, width, dtype=kind)
    )
    kept = 20 if dim else width
    clear = "" if operation == "abssum" else ", clear=False"
    agree(
        f"""
        def k(A: T.Tensor((20, {width}), "{dtype}"), C: T.Tensor(({kept},), "{dtype}"),
              D: T.Tensor(({kept},), "{dtype}")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((20, {width}), "{dtype}")
                r = T.alloc_fragment(({kept},), "{dtype}")
                T.copy(A, a)
                for i, j in T.Parallel(20, {width}):
                    a[i, j] = a[i, j] + 1
                T.reduce_{operation}(a, r, dim={dim})
                T.copy(r, C)
                T.fill(r, 3)
                T.reduce_{operation}(a, r, dim={dim}{clear})
                T.copy(r, D)
        """,
        [a],
        device,
        outputs=("C", "D"),
        tolerance=None if "int" in dtype else {"bfloat16": 3e-2, "float16": 4e-3}.get(dtype, 1e-5),
    )


def test_reductions_keep_a_dimension_of_one_and_reach_scalars(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((20, 33), "float32"), C: T.Tensor((20, 33), "float32"),
              D: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_fragment((20, 33), "float32")
                r = T.alloc_fragment((20, 1), "float32")
                flat = T.alloc_fragment((20,), "float32")
                s = T.alloc_fragment((1,), "float32")
                T.copy(A, a)
                T.reduce_max(a, r, dim=1)
                T.reduce_min(a, flat, dim=1)
                T.reduce_sum(flat, s, dim=0)
                for i, j in T.Parallel(20, 33):
                    a[i, j] = a[i, j] - r[i, 0] + s[0]
                T.copy(a, C)
                D[0] = s[0]
        """,
        [rand(20, 33)],
        device,
        outputs=("C", "D"),
        tolerance=1e-5,
    )


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_copies_of_regions(target: str, device: str) -> None:
    agree(
        """
        block = 32
        def k(A: T.Tensor((3, 70, 5, 48), "float16"), C: T.Tensor((3, 70, 5, 48), "float32"),
              D: T.Tensor((70,), "float16")):
            with T.Kernel(T.ceildiv(70, block), 5, 3, threads=64) as (bx, by, bz):
                a = T.alloc_shared((block, 48), "float16")
                f = T.alloc_fragment((block, 48), "float32")
                col = T.alloc_fragment((block,), "float16")
                T.copy(A[bz, bx * block:(bx + 1) * block, by, :], a)
                T.copy(a, f)
                T.copy(f, C[bz, bx * block:(bx + 1) * block, by, :])
                T.copy(a[:, 7], col)
                if by == 4:
                    if bz == 1:
                        T.copy(col, D[bx * block])
        """,
        [rand(3, 70, 5, 48, dtype=torch.float16)],
        device,
        outputs=("C", "D"),
        target=target,
    )


def test_copies_into_and_out_of_parts_of_tiles(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((40, 16), "float32"), C: T.Tensor((40, 16), "float32"),
              D: T.Tensor((8, 16), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((40, 16), "float32")
                part = T.alloc_fragment((8, 16), "float32")
                row = T.alloc_fragment((16,), "float32")
                T.clear(a)
                T.copy(A[3:11, :], part)
                T.copy(part, a[20:28, :])
                T.copy(A[1, :], row)
                T.copy(row, a[5, :])
                T.copy(a, C)
                T.copy(a[18:26, :], D[0:8, :])
        """,
        [rand(40, 16)],
        device,
        outputs=("C", "D"),
    )


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4])
def test_program_order_holds_under_pipelining(stages: int, device: str) -> None:
    agree(
        f"""
        def k(A: T.Tensor((8, 32), "float32"), C: T.Tensor((32,), "float32")):
            with T.Kernel(1, threads=32) as bx:
                S = T.alloc_shared((32,), "float32")
                acc = T.alloc_fragment((32,), "float32")
                T.clear(acc)
                T.fill(S, 100)
                for k in T.Pipelined(8, num_stages={stages}):
                    for i in T.Parallel(32):
                        acc[i] += S[i]
                    T.copy(A[k, :], S)
                T.copy(acc, C)
        """,
        [torch.arange(1.0, 9.0)[:, None].expand(8, 32).contiguous()],
        device,
    )


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "bfloat16"])
def test_atomic_addition_of_regions_and_elements(dtype: str, device: str) -> None:
    kind = getattr(torch, dtype)
    agree(
        f"""
        def k(A: T.Tensor((4, 20, 24), "{dtype}"), C: T.Tensor((20, 24), "{dtype}"),
              r: T.Tensor((24,), "{dtype}"), n: T.Tensor((1,), "int32")):
            with T.Kernel(4, threads=64) as bx:
                a = T.alloc_fragment((32, 24), "{dtype}")
                T.copy(A[bx, 0, 0], a)
                T.atomic_add(C[0, 0], a)
                for i, j in T.Parallel(32, 24):
                    if i < 20:
                        T.atomic_add(r[j], a[i, j])
                if T.get_thread_binding() == 0:
                    T.atomic_add(n[0], 1)
        """,
        [
            torch.randint(-3, 4, (4, 20, 24)).to(kind),
            torch.zeros(20, 24, dtype=kind),
            torch.zeros(24, dtype=kind),
            torch.zeros(1, dtype=torch.int32),
        ],
        device,
        outputs=(),
    )


def test_run_time_sizes(device: str) -> None:
    text = """
    block = 32
    def k(A: T.Tensor((m, n), "float32"), B: T.Tensor((n, m), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=64) as (bx, by):
            a = T.alloc_shared((block, block), "float32")
            b = T.alloc_shared((block, block), "float32")
            T.copy(A[by * block, bx * block], a)
            T.copy(B[bx * block, by * block], b)
            for i, j in T.Parallel(block, block):
                a[i, j] = a[i, j] + b[j, i] * n
            T.copy(a, C[by * block, bx * block])
    """
    for m, n in ((64, 32), (33, 70), (1, 1)):
        agree(text, [rand(m, n), rand(n, m)], device, dims={"m": ("A", 0), "n": ("A", 1)})


FUNCTIONS = (
    "exp exp2 exp10 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan asinh atanh "
    "sqrt rsqrt abs floor ceil round trunc nearbyint erf sigmoid"
).split()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_functions_of_one_number(dtype: str, device: str) -> None:
    kind = getattr(torch, dtype)
    lines = "\n".join(
        f"        for i in T.Parallel(64):\n            C[{row}, i] = T.{function}(a[i])"
        for row, function in enumerate(FUNCTIONS)
    )
    out = "float32" if dtype == "int32" else dtype
    text = (
        f'def k(A: T.Tensor((64,), "{dtype}"), C: T.Tensor(({len(FUNCTIONS)}, 64), "{out}")):\n'
        "    with T.Kernel(1, threads=64) as bx:\n"
        f'        a = T.alloc_fragment((64,), "{dtype}")\n'
        f"        T.copy(A, a)\n{lines}\n"
    )
    values = torch.rand(64, dtype=torch.float64) * 0.9 + 0.05
    array = torch.ones(64, dtype=kind) if dtype == "int32" else values.to(kind)
    if dtype == "int32":
        text = text.replace("T.asin(a[i])", "T.exp(a[i])").replace("T.atanh(a[i])", "T.exp(a[i])")
    tolerance = {"float16": 2e-3, "bfloat16": 1e-2, "float64": 1e-9}.get(dtype, 2e-6)
    agree(text, [array], device, tolerance=tolerance)


def test_safe_values_fill_what_is_out_of_bounds(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((60, 60), "float32"), C: T.Tensor((64, 64), "float32"),
              D: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                T.annotate_safe_value({A: -99})
                a = T.alloc_shared((64, 64), "float32")
                b = T.alloc_fragment((62, 62), "float32")
                s = T.alloc_fragment((62,), "float32")
                T.copy(A, b[0:60, 0:60])
                T.copy(A[0, 0], a)
                T.copy(A[0, 0], b)
                T.reduce_sum(b, s, dim=1)
                T.copy(a, C)
                T.copy(s, D[0])
                for i in T.Parallel(2):
                    D[62 + i] = A[61 + i, 0]
        """,
        [torch.ones(60, 60)],
        device,
        outputs=("C", "D"),
    )


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "int8"])
def test_rows_and_columns_are_picked_in_every_type(dtype: str, device: str) -> None:
    kind = getattr(torch, dtype)
    a = int8(16, 32) if dtype == "int8" else rand(16, 32).to(kind)
    agree(
        f"""
        def k(A: T.Tensor((16, 32), "{dtype}"), C: T.Tensor((16,), "{dtype}"),
              D: T.Tensor((32,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((16, 32), "{dtype}")
                col = T.alloc_fragment((16,), "{dtype}")
                row = T.alloc_fragment((32,), "float32")
                T.copy(A, a)
                T.copy(a[:, 5], col)
                T.copy(a[bx + 3, :], row)
                T.copy(col, C)
                T.copy(row, D)
        """,
        [a],
        device,
        outputs=("C", "D"),
        tolerance=1e-6,
    )


def test_parts_of_zero_padded_tiles_do_not_make_zero_padded_tiles(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((96,), "float32"), C: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                s = T.alloc_fragment((96,), "float32")
                t = T.alloc_fragment((48,), "float32")
                o = T.alloc_fragment((1,), "float32")
                T.copy(A, s)
                T.copy(s[0:48], t)
                T.reduce_sum(t, o, dim=0)
                T.copy(o, C)
        """,
        [torch.ones(96)],
        device,
    )


def test_parts_of_tiles_in_two_dimensions(device: str) -> None:
    agree(
        """
        def k(A: T.Tensor((12, 20), "float32"), C: T.Tensor((20, 40), "float32"),
              D: T.Tensor((12, 20), "float32"), E: T.Tensor((24,), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_fragment((20, 40), "float32")
                u = T.alloc_fragment((12, 20), "float32")
                w = T.alloc_fragment((24,), "float32")
                T.fill(t, 7)
                T.copy(A, t[5:17, 11:31])
                T.copy(t[5:17, 11:31], u)
                T.copy(t[6, 10:34], w)
                T.copy(t, C)
                T.copy(u, D)
                T.copy(w, E)
        """,
        [rand(12, 20)],
        device,
        outputs=("C", "D", "E"),
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_variable_is_filled_and_cleared(dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((4,), "float32"), C: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=32) as bx:
                x = T.alloc_var("{dtype}", 1)
                for k in T.serial(4):
                    if A[k] > 0:
                        T.fill(x, 3)
                    else:
                        T.clear(x)
                    C[k] = T.cast(x, "float32")
        """,
        [rand(4)],
        device,
    )
