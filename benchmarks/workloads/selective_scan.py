"""Mamba-1's selective scan: batch 8, 2048 tokens, 4096 channels with a state of 16, and fewer."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

import tile2triton
from benchmarks.contest import Call, Config, Contestant, Inputs, Workload
from benchmarks.handwritten import selective_scan as by_hand
from tests.kernels.scan_programs import selective_scan

STATE = 16
TILES: tuple[Config, ...] = ({}, {"L": 16}, {"L": 32}, {"L": 64})
SIZES = {"": (8, 2048, 4096), "-small": (2, 4096, 2048)}


def inputs(batch: int, tokens: int, channels: int) -> Inputs:
    shape = (batch, tokens, channels)
    x = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    delta = torch.rand(shape, device="cuda").mul_(0.1).to(torch.bfloat16)
    rates = -torch.arange(1, STATE + 1, device="cuda", dtype=torch.float32)
    b, c = torch.randn((2, batch, tokens, STATE), device="cuda").to(torch.bfloat16)
    return x, delta, rates.repeat(channels, 1), b, c


def reference(inputs: Inputs) -> Tensor:
    """The last sequence, step by step."""
    x, delta, b, c = (one[-1].float() for one in (*inputs[:2], *inputs[3:]))
    rates = inputs[2]
    state = torch.zeros_like(rates)
    rows = []
    for t in range(x.shape[0]):
        decay = torch.exp(delta[t, :, None] * rates)
        state = decay * state + (delta[t] * x[t])[:, None] * b[t]
        rows.append(state @ c[t])
    return torch.stack(rows)


def one_sequence(y: Tensor) -> Tensor:
    return y[-1]


def tile_program(inputs: Inputs, config: Config) -> Call:
    # A tile size for the scanned extent asks for an associative scan.
    kernel = (
        selective_scan.scheduled(tile2triton.Schedule(tile=config)) if config else selective_scan
    )
    return partial(kernel, *inputs)


def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(kernel, *inputs, **config)


WORKLOADS = tuple(
    Workload(
        name=f"selective-scan{suffix}",
        inputs=partial(inputs, *sizes),
        reference=reference,
        part=one_sequence,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, TILES),
            Contestant(
                "triton-associative",
                "triton",
                partial(hand, by_hand.associative),
                by_hand.ASSOCIATIVE,
            ),
            Contestant(
                "triton-sequential",
                "triton",
                partial(hand, by_hand.sequential),
                by_hand.SEQUENTIAL,
            ),
        ),
        work=3.0 * sizes[0] * sizes[1] * sizes[2] * torch.bfloat16.itemsize,
        unit="GB/s",
        tolerance=1e-2,
    )
    for suffix, sizes in SIZES.items()
)
