"""The element-wise kernels: any length, broadcasts of rows and columns, bias and GELU."""

import pytest
import torch

from tests import oracles
from tests.kernel_case import Case
from tests.kernels.elementwise import add, add_broadcast, bias_gelu

SIZES = {"dividing": (32, 128), "ragged": (19, 75)}
DTYPES = ("float16", "bfloat16", "float32")
TILE = {"block_M": 16, "block_N": 64, "threads": 128}


def broadcast_case(dtype: str, size: str) -> Case:
    M, N = SIZES[size]
    # Two sums, each rounded: in fp16 and bf16 that is a little more than one rounding.
    return Case(
        f"broadcast-{dtype}-{size}",
        add_broadcast,
        oracles.add_broadcast,
        ((M, N), (N,), (M,)),
        dtype,
        parameters=TILE,
    )


def gelu_case(dtype: str, size: str) -> Case:
    M, N = SIZES[size]
    name = f"gelu-{dtype}-{size}"
    return Case(name, bias_gelu, oracles.bias_gelu, ((M, N), (N,)), dtype, parameters=TILE)


def add_case(dtype: str, length: int) -> Case:
    shapes = ((length,), (length,))
    parameters = {"block": 64, "threads": 128}
    return Case(
        f"add-{dtype}-{length}", add, oracles.add, shapes, dtype, sizes=(), parameters=parameters
    )


CASES = (
    *(make(d, size) for make in (broadcast_case, gelu_case) for d in DTYPES for size in SIZES),
    *(add_case(dtype, length) for dtype in (*DTYPES, "int32") for length in (1, 64, 321)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case: Case) -> None:
    case.check(case.run_reference())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_kernel_equals_the_oracle(case: Case, device: str) -> None:
    case.check(case.run(device))


@pytest.mark.usefixtures("poisoned")
def test_one_compilation_serves_every_length(device: str) -> None:
    kernel = add(block=64)
    for length in (1, 63, 64, 65, 200):
        a = torch.arange(length, dtype=torch.float32, device=device)
        assert torch.equal(kernel(a, a), a + a)
