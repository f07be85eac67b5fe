"""Mamba-2's chunk scan and chunk state: batch 8, 4096 tokens in chunks of 256, 80 heads of 64."""

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
from benchmarks.handwritten import mamba2 as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.values.chunk_scan import chunk_scan
from tests.kernels.values.chunk_state import chunk_state

BATCH, SEQ_LEN, CHUNK, HEADS, DIM, STATE = 8, 4096, 256, 80, 64, 128
CHUNKS = SEQ_LEN // CHUNK
SIZES = {"batch": BATCH, "seq_len": SEQ_LEN, "chunks": CHUNKS, "chunk": CHUNK, "groups": 1}
SIZES |= {"heads": HEADS, "dim": DIM, "dim_state": STATE}


def half(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def steps() -> tuple[Tensor, Tensor]:
    """dt, and the running sums of dt A in each chunk."""
    dt = torch.rand(BATCH, HEADS, CHUNKS, CHUNK, device="cuda") * 0.1
    rates = -torch.rand(HEADS, 1, 1, device="cuda")
    return dt, (dt * rates).cumsum(-1)


def scan_inputs() -> Inputs:
    return (
        half(BATCH, CHUNKS, 1, CHUNK, CHUNK),
        half(BATCH, SEQ_LEN, HEADS, DIM),
        *steps(),
        half(BATCH, SEQ_LEN, 1, STATE),
        half(BATCH, CHUNKS, HEADS, DIM, STATE),
        torch.randn(HEADS, device="cuda"),
    )


def state_inputs() -> Inputs:
    return half(BATCH, SEQ_LEN, 1, STATE), half(BATCH, SEQ_LEN, HEADS, DIM), *steps()


def one_batch(output: Tensor) -> Tensor:
    return output[-1]


def scan_reference(inputs: Inputs) -> Tensor:
    cb, x, dt, sums, c, states = (one[-1].float() for one in inputs[:-1])
    rows = x.unflatten(0, (CHUNKS, CHUNK))
    # Heads, chunks, tokens that see and tokens that are seen.
    decay = (sums[..., :, None] - sums[..., None, :]).exp().tril()
    weights = cb[None, :, 0] * decay * dt[..., None, :]
    within = torch.einsum("hcmk,ckhp->cmhp", weights, rows)
    read = torch.einsum("cmn,chpn->cmhp", c[:, 0].unflatten(0, (CHUNKS, CHUNK)), states)
    before = read * sums.exp().permute(1, 2, 0)[..., None]
    return (within + before).flatten(0, 1) + inputs[-1][:, None] * x


def state_reference(inputs: Inputs) -> Tensor:
    b, x, dt, sums = (one[-1].float() for one in inputs)
    weights = (sums[..., -1:] - sums).exp() * dt
    rows, b = x.unflatten(0, (CHUNKS, CHUNK)), b[:, 0].unflatten(0, (CHUNKS, CHUNK))
    return torch.einsum("hck,ckhp,ckn->chpn", weights, rows, b)


def tile_program(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(configured(kernel, config), *inputs)


def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(kernel, *inputs, **config)


def tilelang(name: str, inputs: Inputs, config: Config) -> Call:
    return hand(getattr(tilelang_version(name), name), inputs, config)


def workload(
    name: str,
    kernel: Callable[..., Tensor],
    hand_written: Callable[..., Tensor],
    configs: tuple[Config, ...],
    inputs: Callable[[], Inputs],
    reference: Callable[[Inputs], Tensor],
    work: float,
) -> Workload:
    ours = tuple(as_tile_program(config) for config in configs)
    consumers = tuple({**one, "warp_specialize": 2} for one in ours)
    return Workload(
        name=name.replace("_", "-"),
        inputs=inputs,
        reference=reference,
        part=one_batch,
        contestants=(
            Contestant("tile2triton", "tile2triton", partial(tile_program, kernel), ours),
            Contestant(
                "tile2triton Gluon", "tile2triton", partial(tile_program, kernel), consumers
            ),
            Contestant("triton", "triton", partial(hand, hand_written), configs),
            Contestant("tilelang", "tilelang", partial(tilelang, name), ours),
        ),
        work=work,
        unit="TFLOP/s",
        tolerance=5e-3,
    )


TOKENS = 2.0 * BATCH * SEQ_LEN * HEADS * DIM
WORKLOADS = (
    workload(
        "chunk_scan",
        chunk_scan,
        by_hand.chunk_scan,
        by_hand.SCANS,
        scan_inputs,
        scan_reference,
        TOKENS * (CHUNK / 2 + STATE),
    ),
    workload(
        "chunk_state",
        chunk_state,
        by_hand.chunk_state,
        by_hand.STATES,
        state_inputs,
        state_reference,
        TOKENS * STATE,
    ),
)
