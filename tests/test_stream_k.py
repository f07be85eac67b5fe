"""Kernels whose programs share all turns of all tiles equally, against the same without."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernel_case import Case
from tests.kernels import whole_operands
from tests.kernels.dequantized_gemm import dequantized_gemm
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tile2triton import Schedule, TileError, transpile

TILE = {"block_M": 32, "block_N": 32, "block_K": 32, "threads": 128}


def product(
    programs: int, M: int, N: int, K: int, dtype: str = "float16", **schedule: object
) -> Case:
    types = {"dtype": dtype, "out_dtype": "int32", "accum_dtype": "int32"}
    return Case(
        f"product-{programs}-{M}x{N}x{K}-{dtype}-{len(schedule)}",
        gemm.scheduled(Schedule(stream_k=programs, **schedule)),
        oracles.gemm,
        ((M, K), (K, N)),
        dtype=dtype,
        parameters={**TILE, **(types if dtype == "int8" else {})},
        tolerance="int32" if dtype == "int8" else "",
    )


CASES = (
    # One program; parts of several tiles, of one in several programs, and of none.
    product(1, 64, 70, 96),
    product(5, 100, 70, 150),
    product(7, 50, 33, 300),
    product(12, 96, 64, 64),
    product(50, 40, 40, 100),
    product(4, 130, 33, 96, "int8"),
    product(5, 100, 70, 150, swizzle=2, subtile=2),
    Case(
        "unpacked",
        dequantized_gemm.scheduled(Schedule(stream_k=3, swap_ab=True)),
        oracles.dequantized_gemm,
        ((16, 256), (64, 128), (64, 2)),
        dtypes={1: "uint8"},
        parameters={"block_M": 16, "block_N": 32, "block_K": 32, "threads": 128},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_every_turn_is_taken_once(case: Case, device: str) -> None:
    assert "programs = " in case.transpiled().triton_source
    case.check(case.run(device))


@tile2triton.kernel
@T.stream_k(5)
def rows(X, begin):
    """Sums, extremes and a count of rows, from a step on, of any number of rows and columns."""
    L, M, N = T.dynamic("L, M, N")
    X: T.Tensor((L, M, N), T.float32)
    begin: T.int32
    total = T.empty((L, M), T.float32)
    low = T.empty((L, M), T.float32)
    with T.Kernel(M, L, threads=32) as (y, z):
        x = T.alloc_fragment((16,), T.float32)
        sums = T.alloc_fragment((16,), T.float32)
        least = T.alloc_fragment((1,), T.float32)
        count = T.alloc_var(T.int32, 0)
        T.clear(sums)
        T.fill(least, 1000)
        for k in T.serial(begin, T.ceildiv(N, 16), 2):
            T.copy(X[z, y, k * 16], x)
            for i in T.Parallel(16):
                if k * 16 + i < N:
                    sums[i] += x[i]
            T.reduce_min(x, least, dim=0, clear=False)
            count += 1
        T.reduce_sum(sums, sums[0:1], dim=0)
        total[z, y] = sums[0] + count
        low[z, y] = least[0]
    return total, low


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(
    ("shape", "begin"), [((2, 3, 100), 0), ((1, 4, 90), 1), ((3, 1, 16), 1), ((2, 0, 10), 0)]
)
def test_sizes_of_the_launch_and_loops_without_turns(shape, begin, device) -> None:
    x = torch.randn(shape, device=device)
    wanted = rows.compile(x, begin).reference(x, begin)
    for one, two in zip(wanted, rows(x, begin), strict=True):
        torch.testing.assert_close(two.cpu(), torch.as_tensor(one), rtol=1e-5, atol=1e-5)
    assert ".to(tl.int64)" in rows.compile(x, begin).triton_source


@pytest.mark.usefixtures("poisoned")
def test_programs_on_whole_operands_have_it_too(device: str) -> None:
    a, b = (torch.randn(shape, device=device).half() for shape in ((150, 200), (200, 90)))
    tile = {"m": 32, "n": 32, "k": 32}
    kernel = whole_operands.gemm.scheduled(Schedule(stream_k=7, tile=tile))
    assert "programs = 7" in kernel.compile(a, b, False).triton_source
    found, wanted = kernel(a, b, False).double(), a.double() @ b.double()
    assert (found - wanted).norm() <= 1e-3 * wanted.norm()


@T.macro
def scaled(x, a, row, bound):
    for i in T.Parallel(16):
        a[i] = a[i] * 0.5 + x[i]


@T.macro
def started(x, a, row, bound):
    for i in T.Parallel(16):
        a[i] += x[i]


@pytest.mark.parametrize(
    ("step", "first", "differs", "why"),
    [
        (scaled, 0, False, "`a` is neither a sum nor a maximum"),
        (started, 1, False, "`a` does not begin with T.clear"),
        (started, 0, True, "`by`, which says how many turns there are"),
    ],
)
def test_what_has_no_equal_turns_is_refused(step, first, differs, why) -> None:
    @tile2triton.kernel
    @T.stream_k()
    def sums(X):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M, 16), T.float32)
        with T.Kernel(M, threads=32) as by:
            x = T.alloc_fragment((16,), T.float32)
            a = T.alloc_fragment((16,), T.float32)
            T.fill(a, first)
            for k in T.serial(by if differs else N // 16):
                T.copy(X[by, k * 16], x)
                step(x, a, by, N)
            T.copy(a, Y[by, 0])
        return Y

    with pytest.raises(TileError, match=r"T2T94[14]") as caught:
        transpile(sums, M=8, N=64)
    assert why in str(caught.value)


@pytest.mark.parametrize("other", [{"split": 2}, {"persistent": True}])
def test_one_way_to_share_out_is_said(other: dict[str, object]) -> None:
    with pytest.raises(TileError, match="T2T943"):
        transpile(gemm.scheduled(Schedule(stream_k=True, **other)), M=64, N=64, K=64)


def test_a_running_softmax_is_refused() -> None:
    kernel = flash_attention.scheduled(Schedule(stream_k=True))
    with pytest.raises(TileError, match="T2T944"):
        transpile(kernel, 1, 2, 512, 64)
