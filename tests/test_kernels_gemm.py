"""GEMM, GEMM + ReLU and split-K GEMM against the oracle, for every operand type."""

import pytest
import torch

from tests import oracles
from tests.kernel_case import Case
from tests.kernels.gemm import gemm
from tests.kernels.gemm_relu import gemm_relu
from tests.kernels.split_k_gemm import split_k_gemm

SIZES = {"dividing": (64, 96, 64), "ragged": (70, 51, 72)}
TILE = {"block_M": 32, "block_N": 32, "block_K": 32, "threads": 128}
# Operands, result, accumulator, and by what the result is judged.
TYPES = (
    ("float16", "float16", "float32", "float16"),
    ("bfloat16", "bfloat16", "float32", "bfloat16"),
    ("float32", "float32", "float32", "tf32"),
    ("int8", "int32", "int32", "int32"),
    ("float8_e4m3fn", "float16", "float32", "float16"),
    ("float8_e5m2", "float16", "float32", "float16"),
)


def gemm_case(size: str, types: tuple[str, str, str, str], transpose_b: bool) -> Case:
    M, N, K = SIZES[size]
    dtype, out_dtype, accum_dtype, tolerance = types
    return Case(
        f"{dtype}-{'nt' if transpose_b else 'nn'}-{size}",
        gemm,
        lambda a, b: oracles.gemm(a, b, transpose_b),
        ((M, K), (N, K) if transpose_b else (K, N)),
        dtype,
        parameters={
            "transpose_B": transpose_b,
            "out_dtype": out_dtype,
            "accum_dtype": accum_dtype,
            **TILE,
        },
        tolerance=tolerance,
    )


def gemm_relu_case(size: str) -> Case:
    M, N, K = SIZES[size]
    shapes = ((M, K), (K, N))
    parameters = {**TILE, "num_stages": 2}
    return Case(
        f"relu-{size}", gemm_relu, oracles.gemm_relu, shapes, sizes=(M, N, K), parameters=parameters
    )


def split_k_case(size: str, split_k: int) -> Case:
    M, N, _ = SIZES[size]
    K = 200
    return Case(
        f"split-{split_k}-{size}",
        split_k_gemm,
        lambda a, b, c: oracles.gemm(a, b) + oracles.exact(c),
        ((M, K), (K, N), (M, N)),
        parameters={"split_k": split_k, **TILE},
        dtypes={2: "float32"},
        # The products of fp16 are exact in fp32, and so is the order of a few sums almost.
        tolerance="float32",
    )


CASES = (
    *(gemm_case(s, types, b) for s in SIZES for types in TYPES for b in (False, True)),
    *(gemm_relu_case(size) for size in SIZES),
    *(split_k_case(size, split_k) for size in SIZES for split_k in (1, 3)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case: Case) -> None:
    case.check(case.run_reference())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_kernel_equals_the_oracle(case: Case, device: str) -> None:
    case.check(case.run(device))


@pytest.mark.usefixtures("poisoned")
def test_split_k_adds_to_what_the_caller_gives(device: str) -> None:
    a, b = (
        torch.ones((32, 64), dtype=torch.float16, device=device),
        torch.ones((64, 32), dtype=torch.float16, device=device),
    )
    c = torch.full((32, 32), 5.0, device=device)
    split_k_gemm(a, b, c, split_k=2, **TILE)
    assert torch.equal(c.cpu(), torch.full((32, 32), 69.0))
