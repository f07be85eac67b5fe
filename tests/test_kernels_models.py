"""Mamba-2's chunk kernels, latent attention and GEMMs of quantized weights against the oracles."""

from dataclasses import replace
from typing import Any

import pytest

from tests import oracles
from tests.kernel_case import Case
from tests.kernels.block_scaled_gemm import block_scaled_gemm
from tests.kernels.chunk_scan import chunk_scan
from tests.kernels.chunk_state import chunk_state
from tests.kernels.dequantized_gemm import dequantized_gemm
from tests.kernels.latent_attention import latent_attention
from tests.kernels.mla_decode import mla_decode
from tests.kernels.values import block_scaled_gemm as block_scaled_values
from tests.kernels.values import chunk_scan as scan_values
from tests.kernels.values import chunk_state as state_values
from tests.kernels.values import latent_attention as latent_values
from tile2triton import Schedule

BATCH, CHUNKS, CHUNK, HEADS, STATE = 2, 2, 32, 4, 32
# The whole of both chunks, and a last one that is cut off.
LENGTHS = (64, 53)


def scan_case(dtype: str, seq_len: int, groups: int, dim: int) -> Case:
    per_head = (BATCH, HEADS, CHUNKS, CHUNK)
    shapes = (
        (BATCH, CHUNKS, groups, CHUNK, CHUNK),
        (BATCH, seq_len, HEADS, dim),
        *(per_head, per_head),
        (BATCH, seq_len, groups, STATE),
        (BATCH, CHUNKS, HEADS, dim, STATE),
        (HEADS,),
    )
    return Case(
        f"scan-{dtype}-{seq_len}-{groups}-{dim}",
        chunk_scan,
        oracles.chunk_scan,
        shapes,
        dtype,
        dtypes={2: "float32", 3: "float32", 6: "float32"},
        parameters={"block_M": 16, "block_N": 16, "block_K": 16},
    )


def state_case(dtype: str, seq_len: int, groups: int, dim: int) -> Case:
    per_head = (BATCH, HEADS, CHUNKS, CHUNK)
    return Case(
        f"state-{dtype}-{seq_len}-{groups}-{dim}",
        chunk_state,
        oracles.chunk_state,
        ((BATCH, seq_len, groups, STATE), (BATCH, seq_len, HEADS, dim), per_head, per_head),
        dtype,
        dtypes={2: "float32", 3: "float32"},
        parameters={"block_M": 16, "block_N": 16, "block_K": 16},
    )


def dequantized_case(dtype: str, M: int, N: int, K: int, group: int) -> Case:
    return Case(
        f"int4-{dtype}-{M}x{N}x{K}-{group}",
        dequantized_gemm,
        oracles.dequantized_gemm,
        ((M, K), (N, K // 2), (N, K // group)),
        dtype,
        dtypes={1: "uint8"},
        parameters={"block_M": 32, "block_N": 32, "block_K": 32, "threads": 128},
    )


def block_scaled_case(M: int, N: int, K: int) -> Case:
    groups = -(-N // 128)
    return Case(
        f"fp8-{M}x{N}x{K}",
        block_scaled_gemm,
        oracles.block_scaled_gemm,
        ((M, K), (N, K), (K // 128, M), (groups, K // 128)),
        "float8_e4m3fn",
        dtypes={2: "float32", 3: "float32"},
        parameters={"block_M": 32, "block_N": 64, "threads": 128},
        tolerance="bfloat16",
    )


def latent_case(dtype: str, kv_len: int, heads: int, splits: int) -> Case:
    return Case(
        f"mla-{dtype}-{kv_len}-{heads}-{splits}",
        mla_decode,
        oracles.mla_decode,
        ((BATCH, heads, 32), (BATCH, heads, 16), (BATCH, kv_len, 32), (BATCH, kv_len, 16)),
        dtype,
        parameters={"dim": 32, "dim_rope": 16, "splits": splits, "block_H": 16, "block_N": 32},
    )


def split_case(parts: int, kernel: Any = latent_attention) -> Case:
    return Case(
        f"mla-split-{parts}",
        kernel if parts == 1 else kernel.scheduled(Schedule(split=parts)),
        oracles.mla_decode,
        ((BATCH, 24, 32), (BATCH, 24, 16), (BATCH, 75, 32), (BATCH, 75, 16)),
        parameters={"dim": 32, "dim_rope": 16, "block_H": 16, "block_N": 32},
    )


CASES = (
    split_case(1),
    split_case(4),
    latent_case("float16", 128, 32, 4),
    # Programs with nothing to do, and a ragged number of heads.
    latent_case("bfloat16", 75, 24, 8),
    *(
        case(dtype, seq_len, groups, dim)
        for case in (scan_case, state_case)
        for dtype, seq_len, groups, dim in (
            ("float16", LENGTHS[0], 1, 32),
            ("float16", LENGTHS[1], 2, 24),
            ("bfloat16", LENGTHS[1], 1, 32),
        )
    ),
    dequantized_case("float16", 64, 96, 128, 32),
    dequantized_case("float16", 50, 70, 128, 64),
    block_scaled_case(64, 256, 256),
    block_scaled_case(50, 200, 384),
    dequantized_case("bfloat16", 33, 64, 192, 96),
)


# The same algorithms with tiles as values.
VALUES = {
    chunk_scan: scan_values.chunk_scan,
    chunk_state: state_values.chunk_state,
    block_scaled_gemm: block_scaled_values.block_scaled_gemm,
}
CASES += tuple(
    replace(case, name=f"{case.name}-values", kernel=kernel)
    for case, kernel in (
        *((case, VALUES.get(case.kernel)) for case in CASES),
        *(
            (split_case(parts), split_case(parts, latent_values.latent_attention).kernel)
            for parts in (1, 4)
        ),
    )
    if kernel is not None
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case: Case) -> None:
    case.check(case.run_reference())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_kernel_equals_the_oracle(case: Case, device: str) -> None:
    case.check(case.run(device))
