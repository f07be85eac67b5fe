"""Causal linear attention in chunks: batch 4, 4096 tokens, 16 heads of 128."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.contest import (
    Call,
    Config,
    Contestant,
    Inputs,
    Workload,
    as_tile_program,
    configured,
)
from benchmarks.handwritten import linear_attention as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.linear_attention import linear_attention

BATCH, SEQ_LEN, HEADS, DIM = 4, 4096, 16, 128


def inputs() -> Inputs:
    shape = (BATCH, SEQ_LEN, HEADS, DIM)
    # Queries are scaled as a user would: without it the outputs leave the range of 16-bit floats.
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    return q * DIM**-0.5, k, v


def one_batch(x: Tensor) -> Tensor:
    return x[-1]


def reference(inputs: Inputs) -> Tensor:
    q, k, v = (one_batch(x).float().transpose(0, 1) for x in inputs)
    return ((q @ k.mT).tril() @ v).transpose(0, 1)


def tile_program(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(configured(kernel, config), *inputs, dtype="bfloat16")


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.linear_attention, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    kernel = tilelang_version("linear_attention").linear_attention
    return partial(kernel, *inputs, dtype="bfloat16", **config)


CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
# Consumers of one producer, in Gluon: they share queries and keys, and have columns of their own.
CONSUMERS = tuple(
    {**one, "warp_specialize": 2} for one in CONFIGS if one["chunk"] == 64 and one["threads"] == 128
)
WORKLOADS = (
    Workload(
        name="linear-attention",
        inputs=inputs,
        reference=reference,
        part=one_batch,
        contestants=(
            Contestant(
                "tile2triton", "tile2triton", partial(tile_program, linear_attention), CONFIGS
            ),
            Contestant(
                "tile2triton Gluon",
                "tile2triton",
                partial(tile_program, linear_attention),
                CONSUMERS,
            ),
            Contestant("triton", "triton", hand, by_hand.CONFIGS),
            Contestant("tilelang", "tilelang", tilelang, CONFIGS),
        ),
        work=4.0 * BATCH * SEQ_LEN * HEADS * DIM * torch.bfloat16.itemsize,
        unit="GB/s",
        tolerance=1e-2,
    ),
)
