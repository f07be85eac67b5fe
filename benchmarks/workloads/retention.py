"""Retention in chunks: batch 4, 4096 tokens, 16 heads of 128, which decay as in the paper."""

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
from benchmarks.handwritten import retention as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.values.retention import retention

BATCH, SEQ_LEN, HEADS, DIM = 4, 4096, 16, 128
CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
# Consumers of one producer, in Gluon: they share queries and keys, and have columns of their own.
CONSUMERS = tuple(
    {**one, "warp_specialize": 2} for one in CONFIGS if one["chunk"] == 64 and one["threads"] == 128
)


def inputs() -> Inputs:
    shape = (BATCH, SEQ_LEN, HEADS, DIM)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    rate = torch.log2(1 - 2.0 ** (-5 - torch.arange(HEADS, device="cuda", dtype=torch.float32)))
    return q * DIM**-0.5, k, v, rate


def one_batch(x: Tensor) -> Tensor:
    return x[-1]


def reference(inputs: Inputs) -> Tensor:
    q, k, v = (one_batch(x).float().transpose(0, 1) for x in inputs[:3])
    steps = torch.arange(SEQ_LEN, device=q.device, dtype=torch.float32)
    decay = torch.exp2(inputs[3][:, None, None] * (steps[:, None] - steps).clamp(min=0)).tril()
    return ((q @ k.mT * decay) @ v).transpose(0, 1)


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(retention, config), *inputs, dtype="bfloat16")


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.retention, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    kernel = tilelang_version("retention").retention
    return partial(kernel, *inputs, dtype="bfloat16", **config)


WORKLOADS = (
    Workload(
        name="retention",
        inputs=inputs,
        reference=reference,
        part=one_batch,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, CONFIGS),
            Contestant("tile2triton Gluon", "tile2triton", tile_program, CONSUMERS),
            Contestant("triton", "triton", hand, by_hand.CONFIGS),
            Contestant("tilelang", "tilelang", tilelang, CONFIGS),
        ),
        work=4.0 * BATCH * SEQ_LEN * HEADS * DIM * torch.bfloat16.itemsize,
        unit="GB/s",
        tolerance=1e-2,
    ),
)
