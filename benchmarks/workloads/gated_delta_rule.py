"""The gated delta rule in chunks: batch 4, 4096 tokens, 16 heads of 128, keys of length one."""

from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import normalize

from benchmarks.contest import (
    Call,
    Config,
    Contestant,
    Inputs,
    Workload,
    as_tile_program,
    configured,
)
from benchmarks.handwritten import gated_delta_rule as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.values.gated_delta_rule import gated_delta_rule

BATCH, SEQ_LEN, HEADS, DIM = 4, 4096, 16, 128
CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)


def inputs() -> Inputs:
    shape = (BATCH, SEQ_LEN, HEADS, DIM)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    log2_decay = -0.1 * torch.rand(shape[:3], device="cuda")
    beta = torch.rand(shape[:3], device="cuda")
    return normalize(q, dim=-1), normalize(k, dim=-1), v, log2_decay, beta


def one_batch(x: Tensor) -> Tensor:
    return x[-1]


def reference(inputs: Inputs) -> Tensor:
    """The last sequence, step by step."""
    q, k, v, rates, beta = (one_batch(x).float() for x in inputs)
    decay = torch.exp2(rates)
    state = torch.zeros((HEADS, DIM, DIM), device=q.device)
    output = torch.empty_like(v)
    for t in range(SEQ_LEN):
        state *= decay[t, :, None, None]
        known = (k[t, :, None] @ state)[:, 0]
        state += k[t, :, :, None] * (beta[t, :, None] * (v[t] - known))[:, None]
        output[t] = (q[t, :, None] @ state)[:, 0]
    return output


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(gated_delta_rule, config), *inputs, dtype="bfloat16")


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.gated_delta_rule, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    kernel = tilelang_version("gated_delta_rule").gated_delta_rule
    return partial(kernel, *inputs, dtype="bfloat16", **config)


WORKLOADS = (
    Workload(
        name="gated-delta-rule",
        inputs=inputs,
        reference=reference,
        part=one_batch,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, CONFIGS),
            Contestant("triton", "triton", hand, by_hand.CONFIGS),
            Contestant("tilelang", "tilelang", tilelang, CONFIGS),
        ),
        work=4.0 * BATCH * SEQ_LEN * HEADS * DIM * torch.bfloat16.itemsize,
        unit="GB/s",
        tolerance=2e-2,
    ),
)
