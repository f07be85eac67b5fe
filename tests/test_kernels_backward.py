"""The backward pass of attention against automatic derivatives in fp64."""

from typing import Any

import pytest
import torch

from tests import oracles
from tests.kernel_case import TOLERANCES
from tests.kernels.attention_backward import attention_backward
from tests.kernels.values import attention_backward as on_values
from tile2triton import transpile

TILE = {"dim": 32, "block_M": 16, "block_N": 32, "threads": 128}
CASES = [
    ("float16", 64, False),
    ("float16", 75, True),
    ("bfloat16", 75, False),
    ("bfloat16", 43, True),
]


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(
    "kernel", [attention_backward, on_values.attention_backward], ids=("tiles", "values")
)
@pytest.mark.parametrize(("dtype", "seq_len", "is_causal"), CASES)
def test_derivatives(kernel: Any, dtype: str, seq_len: int, is_causal: bool, device: str) -> None:
    generator = torch.Generator().manual_seed(seq_len)
    kind = getattr(torch, dtype)
    q, k, v, do = (torch.randn(2, 2, seq_len, 32, generator=generator).to(kind) for _ in range(4))
    o, lse, expected = oracles.attention_backward(q, k, v, do, is_causal)
    given = (q, k, v, o.to(kind), do, lse.float())
    options = {"is_causal": is_causal, "dtype": dtype, **TILE}
    found = kernel(*(one.to(device) for one in given), **options)
    reference = transpile(kernel, *given, **options).reference(*given)
    norm, largest = TOLERANCES[dtype]
    for ours, meant, right in zip(found, reference, expected, strict=True):
        for one in (ours.cpu().double(), torch.from_numpy(meant.astype("float64"))):
            difference = one - right
            assert difference.norm() <= norm * right.norm()
            assert difference.abs().max() <= largest * right.abs().max()
