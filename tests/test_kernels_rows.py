"""Softmax, norms, sums and the largest of rows of every kind of width."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import oracles
from tests.kernel_case import Case
from tests.kernels.norm import layer_norm, rms_norm
from tests.kernels.reductions import copy, full_sum, row_sum
from tests.kernels.softmax import softmax, softmax_online
from tests.kernels.top_k import top_k
from tile2triton import transpile

# A width that is a power of two, one that is not, and rows that do not fill the last tile.
SIZES = {"dividing": (8, 128), "ragged": (7, 100)}
DTYPES = ("float16", "bfloat16", "float32")


def row_case(
    kernel: Callable[..., Any], oracle: Callable[..., Tensor], vectors: int, dtype: str, size: str
) -> Case:
    M, N = SIZES[size]
    name = f"{oracle.__name__}-{dtype}-{size}"
    shapes = ((M, N), *((N,) for _ in range(vectors)))
    return Case(name, kernel, oracle, shapes, dtype, parameters={"block_M": 4, "threads": 128})


def online_case(dtype: str, size: str) -> Case:
    M, N = SIZES[size]
    return Case(
        f"online-{dtype}-{size}",
        softmax_online,
        oracles.softmax,
        ((M, N),),
        dtype,
        sizes=(M, N),
        parameters={"block_M": 4, "block_N": 32, "threads": 128},
    )


def full_sum_case(dtype: str, length: int) -> Case:
    return Case(
        f"full_sum-{dtype}-{length}",
        full_sum,
        oracles.full_sum,
        ((length,),),
        dtype,
        parameters={"programs": 8, "block": 64, "threads": 128},
        tolerance="float32",
    )


CASES = tuple(
    case
    for dtype in DTYPES
    for size in SIZES
    for case in (
        row_case(softmax, oracles.softmax, 0, dtype, size),
        online_case(dtype, size),
        row_case(rms_norm, oracles.rms_norm, 1, dtype, size),
        row_case(layer_norm, oracles.layer_norm, 2, dtype, size),
    )
) + (
    *(row_case(row_sum, oracles.row_sum, 0, "bfloat16", size) for size in SIZES),
    row_case(copy, oracles.copy, 0, "bfloat16", "ragged"),
    # More than one turn of each program, and programs with nothing to do.
    *(full_sum_case("bfloat16", length) for length in (1024, 700, 100)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case: Case) -> None:
    case.check(case.run_reference())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_kernel_equals_the_oracle(case: Case, device: str) -> None:
    case.check(case.run(device))


@pytest.mark.usefixtures("poisoned")
def test_softmax_of_large_values_does_not_overflow(device: str) -> None:
    x = torch.tensor([[60000.0, 59999.0, -60000.0]], dtype=torch.float32, device=device)
    expected = oracles.softmax(x)
    found = softmax(x, dtype="float32").cpu().double()
    assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.usefixtures("poisoned")
def test_layer_norm_keeps_its_digits_under_a_large_mean(device: str) -> None:
    x = 1000 + torch.arange(48, dtype=torch.float32, device=device).reshape(1, 48) / 8
    one, zero = torch.ones(48, device=device), torch.zeros(48, device=device)
    found = layer_norm(x, one, zero, dtype="float32").cpu().double()
    assert torch.allclose(found, oracles.layer_norm(x, one, zero), atol=1e-3)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("M", "N", "k"), [(32, 64, 6), (13, 50, 8)])
def test_the_largest_come_first_and_of_equal_numbers_the_first(
    M: int, N: int, k: int, device: str
) -> None:
    # Few values, so that many are equal.
    x = torch.randint(-9, 9, (M, N), generator=torch.Generator().manual_seed(N)).float()
    values, columns = oracles.top_k(x, k)
    found = top_k(x.to(device), k=k, block_M=8)
    meant = transpile(top_k, x, k=k, block_M=8).reference(x)
    for ours in (found, [torch.from_numpy(one) for one in meant]):
        assert torch.equal(ours[0].cpu().double(), values)
        assert torch.equal(ours[1].cpu().long(), columns)
