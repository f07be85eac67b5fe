"""Arithmetic with named roundings, counts of bits, and the fast forms of functions."""

import numpy as np
import pytest
import torch

from tests.test_lowering_atomics import random
from tests.three_meanings import agree

MODES = ["rn", "rz", "ru", "rd"]


def awkward(count: int, dtype: str, seed: int) -> torch.Tensor:
    """Numbers whose results are not exact, of many sizes, with zeros, infinities and NaN."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(count, generator=generator, dtype=torch.float64)
    values *= 2.0 ** torch.randint(-30, 30, (count,), generator=generator)
    values[::17] = 0
    values[5::31] = torch.inf
    values[7::43] = torch.nan
    return values.to(getattr(torch, dtype))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_rounded_in_the_direction_that_is_named(mode, dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((200,), "{dtype}"), B: T.Tensor((200,), "{dtype}"),
              C: T.Tensor((200,), "{dtype}"), D: T.Tensor((7, 200), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(200):
                    D[0, i] = T.ieee_add(A[i], B[i], rounding_mode="{mode}")
                    D[1, i] = T.ieee_sub(A[i], B[i], rounding_mode="{mode}")
                    D[2, i] = T.ieee_mul(A[i], B[i], rounding_mode="{mode}")
                    D[3, i] = T.ieee_fdiv(A[i], B[i], rounding_mode="{mode}")
                    D[4, i] = T.ieee_fmaf(A[i], B[i], C[i], rounding_mode="{mode}")
                    D[5, i] = T.ieee_frcp(A[i], rounding_mode="{mode}")
                    D[6, i] = T.ieee_fsqrt(T.abs(A[i]), rounding_mode="{mode}")
        """,
        [awkward(200, dtype, seed) for seed in (1, 2, 3)],
        device,
        outputs=("D",),
        # Not one number may differ.
        tolerance=1e-300,
    )


def test_directions_enclose_the_exact_result(device):
    outcome = agree(
        """
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((2, 64), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(64):
                    C[0, i] = T.ieee_fdiv(A[i], 3.0, rounding_mode="rd")
                    C[1, i] = T.ieee_fdiv(A[i], 3.0, rounding_mode="ru")
        """,
        [random((64,), "float32")],
        device,
    )
    low, high = outcome.triton[0].numpy()
    exact = random((64,), "float32").to(torch.float64).numpy() / 3
    assert (low <= exact).all() and (exact <= high).all()
    is_exact = low.astype(np.float64) == exact
    assert (np.where(is_exact, low, np.nextafter(low, np.float32(np.inf))) == high).all()


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_bits_are_counted_in_the_width_of_the_type(dtype, target, device):
    torch_dtype = getattr(torch, dtype)
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, 0, 1, 2, 3, 8, 96, 100, 127, limits.max // 3]
    values += [-value for value in values[3:10]] if limits.min else []
    array = torch.from_numpy(np.array(values, dtype)).to(torch_dtype)
    agree(
        f"""
        def k(A: T.Tensor(({len(values)},), "{dtype}"), C: T.Tensor(({len(values)},), "{dtype}"),
              D: T.Tensor((2, {len(values)}), "int32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel({len(values)}):
                    C[i] = T.popcount(A[i])
                    D[0, i] = T.clz(A[i])
                    D[1, i] = T.__ffs(A[i])
        """,
        [array],
        device,
        outputs=("C", "D"),
        target=target,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_fast_forms_mean_the_functions(dtype, device):
    positive = random((100,), dtype).abs() + 0.1
    agree(
        f"""
        def k(A: T.Tensor((100,), "{dtype}"), C: T.Tensor((9, 100), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(100):
                    C[0, i] = T.__exp(A[i])
                    C[1, i] = T.__exp10(A[i])
                    C[2, i] = T.__log(A[i])
                    C[3, i] = T.__log2(A[i])
                    C[4, i] = T.__log10(A[i])
                    C[5, i] = T.__sin(A[i])
                    C[6, i] = T.__cos(A[i])
                    C[7, i] = T.__tan(A[i])
                    C[8, i] = T.fast_rcp(A[i])
        """,
        [positive],
        device,
        tolerance={"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "float64": 1e-12}[dtype],
    )


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_reciprocal_root_is_right_to_a_rounding(target, device):
    agree(
        """
        def k(A: T.Tensor((100,), "float32"), C: T.Tensor((100,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(100):
                    C[i] = T.ieee_frsqrt(A[i])
        """,
        [random((100,), "float32").abs() + 0.01],
        device,
        target=target,
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_of_ten_are_those_of_ten_on_amd_too(dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((100,), "{dtype}"), C: T.Tensor((100,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(100):
                    C[i] = T.exp10(A[i])
        """,
        [random((100,), dtype)],
        device,
        target="hip:gfx942",
    )


def test_neighbours_and_powers_of_two(device):
    agree(
        """
        def k(A: T.Tensor((50,), "float32"), N: T.Tensor((50,), "int32"),
              C: T.Tensor((2, 50), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(50):
                    C[0, i] = T.nextafter(A[i], 0.0)
                    C[1, i] = T.ldexp(A[i], N[i])
        """,
        [random((50,), "float32"), torch.arange(-25, 25, dtype=torch.int32)],
        device,
        tolerance=1e-300,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64"])
def test_bounds_that_are_literals_leave_the_type_of_the_other_operand(dtype, device):
    """The functions of Triton 3.6 would make 32-bit numbers of both, where 0.1 is another."""
    low = "0.1" if "float" in dtype else "3"
    outcome = agree(
        f"""
        def k(A: T.Tensor((16, 16), "{dtype}"), B: T.Tensor((16, 16), "{dtype}"),
              C: T.Tensor((16, 16), "float32"), D: T.Tensor((16, 16), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((16, 16), "{dtype}")
                T.copy(A, a)
                for t in T.serial(3):
                    for i, j in T.Parallel(16, 16):
                        a[i, j] = T.min(T.max(a[i, j] + a[i, j], {low}), 7) * a[i, j]
                for i, j in T.Parallel(16, 16):
                    D[i, j] = T.clamp(a[i, j], -{low}, 5) + B[i, j]
                    C[i, j] = T.cast(T.max(A[i, j], {low}) * T.min({low}, B[i, j]), "float32")
        """,
        [random((16, 16), dtype), random((16, 16), dtype, 1)],
        device,
        outputs=("C", "D"),
    )
    if dtype == "float16":
        assert ".to(tl.float16)" in outcome.text
