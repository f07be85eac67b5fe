"""The gated delta rule in chunks against its steps in fp64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests import oracles
from tests.kernel_case import TOLERANCES
from tests.kernels.gated_delta_rule import gated_delta_rule
from tests.kernels.values import gated_delta_rule as on_values
from tile2triton import transpile

KERNELS = (gated_delta_rule, on_values.gated_delta_rule)
TILE = {"chunk": 16, "block_V": 32, "threads": 128}


def delta_rule_inputs(
    dtype: torch.dtype, batch: int, seq_len: int, heads: int, dim_k: int, dim_v: int
) -> tuple[Tensor, ...]:
    """Keys of length one, as models have them, and decays that halve the state in some steps."""
    generator = torch.Generator().manual_seed(seq_len)
    shape = (batch, seq_len, heads)
    q, k = (torch.randn(*shape, dim_k, generator=generator) for _ in range(2))
    v = torch.randn(*shape, dim_v, generator=generator)
    rates, beta = torch.rand(2, *shape, generator=generator)
    q, k = (torch.nn.functional.normalize(one, dim=-1).to(dtype) for one in (q, k))
    return q, k, v.to(dtype), -0.3 * rates, beta


def check(
    kernel: Any, given: tuple[Tensor, ...], device: str, dtype: str, slack: float = 1.5, **tile: int
) -> None:
    expected = oracles.gated_delta_rule(*given)
    options = {"dtype": dtype, **TILE, **tile}
    found = kernel(*(one.to(device) for one in given), **options).cpu().double()
    meant = transpile(kernel, *given, **options).reference(*given)
    norm = slack * TOLERANCES[dtype][0]
    for one in (found, torch.from_numpy(meant.astype("float64"))):
        assert (one - expected).norm() <= norm * expected.norm()


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("kernel", KERNELS, ids=("tiles", "values"))
@pytest.mark.parametrize(
    ("dtype", "seq_len", "tile"),
    [
        ("float16", 64, {}),
        ("float16", 43, {}),
        ("bfloat16", 75, {"chunk": 32}),
    ],
)
def test_chunks_equal_steps(
    kernel: Any, dtype: str, seq_len: int, tile: dict[str, int], device: str
) -> None:
    given = delta_rule_inputs(getattr(torch, dtype), 2, seq_len, 2, 32, 48)
    check(kernel, given, device, dtype, **tile)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("kernel", KERNELS, ids=("tiles", "values"))
def test_equal_keys_do_not_lose_digits(kernel: Any, device: str) -> None:
    """The powers of A have binomial coefficients then, which cancel; its inverse has ones."""
    q, k, v, _, _ = delta_rule_inputs(torch.float16, 1, 64, 1, 32, 32)
    keys = k[:, :1].expand_as(k).contiguous()
    given = (q, keys, v, torch.zeros(1, 64, 1), torch.ones(1, 64, 1))
    # What a state had for a key is taken from a value of about its size: that costs a digit.
    check(kernel, given, device, "float16", slack=4, chunk=64)
