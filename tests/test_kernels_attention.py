"""FlashAttention, decoding and linear attention: masks, layouts, ragged lengths."""

from typing import Any

import pytest
import torch

from tests import oracles
from tests.kernel_case import TOLERANCES, Case
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gqa_attention import gqa_attention
from tests.kernels.gqa_decode import gqa_decode
from tests.kernels.linear_attention import linear_attention
from tests.kernels.retention import retention
from tests.kernels.values import retention as on_values
from tile2triton import transpile

BATCH, HEADS, DIM = 2, 2, 32
# Key blocks of the size of the query blocks, half of it, and twice.
BLOCKS = ((32, 32), (32, 16), (16, 32))


def attention_case(
    dtype: str, seq_len: int, is_causal: bool, layout: str, blocks: tuple[int, int] = BLOCKS[0]
) -> Case:
    bshd = layout == "bshd"
    shape = (BATCH, seq_len, HEADS, DIM) if bshd else (BATCH, HEADS, seq_len, DIM)
    block_m, block_n = blocks
    return Case(
        f"{dtype}-{layout}-{seq_len}-{'causal' if is_causal else 'full'}-{block_m}x{block_n}",
        flash_attention,
        lambda q, k, v: oracles.flash_attention(q, k, v, is_causal, layout),
        (shape, shape, shape),
        dtype,
        sizes=(BATCH, HEADS, seq_len, DIM),
        parameters={
            "is_causal": is_causal,
            "layout": layout,
            "block_M": block_m,
            "block_N": block_n,
            "threads": 128,
        },
    )


def linear_case(dtype: str, seq_len: int) -> Case:
    keys, values = (BATCH, seq_len, HEADS, DIM), (BATCH, seq_len, HEADS, 48)
    return Case(
        f"linear-{dtype}-{seq_len}",
        linear_attention,
        oracles.linear_attention,
        (keys, keys, values),
        dtype,
        parameters={"chunk": 16, "block_V": 32, "threads": 128},
    )


def grouped_case(dtype: str, seq_len: int, is_causal: bool, kv_heads: int) -> Case:
    keys = (BATCH, seq_len, kv_heads, DIM)
    return Case(
        f"grouped-{dtype}-{seq_len}-{'causal' if is_causal else 'full'}",
        gqa_attention,
        lambda q, k, v: oracles.flash_attention(
            q, *(one.repeat_interleave(4 // kv_heads, 2) for one in (k, v)), is_causal
        ),
        ((BATCH, seq_len, 4, DIM), keys, keys),
        dtype,
        parameters={"dim": DIM, "is_causal": is_causal, "block_M": 32, "block_N": 16},
    )


def decode_case(dtype: str, kv_len: int, heads: int, kv_heads: int, splits: int) -> Case:
    cache = (BATCH, kv_len, kv_heads, DIM)
    return Case(
        f"decode-{dtype}-{kv_len}-{heads}-{kv_heads}-{splits}",
        gqa_decode,
        oracles.gqa_decode,
        ((BATCH, heads, DIM), cache, cache),
        dtype,
        parameters={"dim": DIM, "splits": splits, "block_N": 32, "threads": 128},
    )


CASES = (
    grouped_case("float16", 64, True, 2),
    grouped_case("float16", 75, False, 1),
    grouped_case("bfloat16", 43, True, 2),
    decode_case("float16", 128, 16, 2, 4),
    # Programs with nothing to do, heads that are no group, ragged lengths.
    decode_case("float16", 75, 6, 3, 8),
    decode_case("bfloat16", 101, 4, 4, 1),
    *(
        attention_case("float16", seq_len, is_causal, layout)
        for layout in ("bshd", "bhsd")
        for is_causal in (False, True)
        for seq_len in (64, 75)
    ),
    *(
        attention_case("float16", 75, is_causal, "bshd", blocks)
        for is_causal in (False, True)
        for blocks in BLOCKS[1:]
    ),
    *(attention_case("bfloat16", 75, is_causal, "bshd") for is_causal in (False, True)),
    # Shorter than one block.
    *(attention_case("float16", 5, is_causal, "bshd") for is_causal in (False, True)),
    *(linear_case(dtype, seq_len) for dtype in ("float16", "bfloat16") for seq_len in (48, 43)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case: Case) -> None:
    case.check(case.run_reference())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_kernel_equals_the_oracle(case: Case, device: str) -> None:
    case.check(case.run(device))


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("dtype", "seq_len"), [("float16", 48), ("float16", 43), ("bfloat16", 43)])
@pytest.mark.parametrize("kernel", [retention, on_values.retention], ids=("tiles", "values"))
def test_retention_equals_the_oracle(kernel: Any, dtype: str, seq_len: int, device: str) -> None:
    generator = torch.Generator().manual_seed(seq_len)
    shapes = ((BATCH, seq_len, HEADS, DIM),) * 2 + ((BATCH, seq_len, HEADS, 48),)
    kind = getattr(torch, dtype)
    given = [torch.randn(shape, generator=generator).to(kind) for shape in shapes]
    given.append(torch.tensor([-0.05, -0.7]))
    options = {"chunk": 16, "block_V": 32, "threads": 128, "dtype": dtype}
    found = kernel(*(one.to(device) for one in given), **options)
    meant = transpile(kernel, *given, **options).reference(*given)
    expected = oracles.retention(*given)
    norm, largest = TOLERANCES[dtype]
    for one in (found.cpu().double(), torch.from_numpy(meant.astype("float64"))):
        assert (one - expected).norm() <= norm * expected.norm()
        assert (one - expected).abs().max() <= largest * expected.abs().max()
