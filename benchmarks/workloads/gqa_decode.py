"""Decoding one token with 32 heads of 128 for 8 of keys and values: few and long, and many."""

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
from benchmarks.handwritten import gqa_decode as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.decode_attention import decode_attention
from tests.kernels.gqa_decode import gqa_decode

HEADS, KV_HEADS, DIM = 32, 8, 128
SIZES = {"b1-8k": (1, 8192), "b16-8k": (16, 8192), "b64-4k": (64, 4096), "b1-128k": (1, 131072)}
CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
# The same numbers of parts, of a program that says nothing of them.
SHARED_OUT = tuple(
    {("split" if name == "splits" else name): value for name, value in config.items()}
    for config in CONFIGS
)


def inputs(batch: int, kv_len: int) -> Inputs:
    half = {"device": "cuda", "dtype": torch.float16}
    q = torch.randn(batch, HEADS, DIM, **half)
    k, v = (torch.randn(batch, kv_len, KV_HEADS, DIM, **half) for _ in range(2))
    return q, k, v


def reference(inputs: Inputs) -> Tensor:
    q, k, v = (one[-1].float() for one in inputs)
    k, v = (one.repeat_interleave(HEADS // KV_HEADS, 1) for one in (k, v))
    weights = (torch.einsum("hd,nhd->hn", q, k) * DIM**-0.5).softmax(-1)
    return torch.einsum("hn,nhd->hd", weights, v)


def one_sequence(output: Tensor) -> Tensor:
    return output[-1]


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(gqa_decode, config), *inputs)


def shared_out(inputs: Inputs, config: Config) -> Call:
    return partial(configured(decode_attention, config), *inputs)


def hand(tma: bool, inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.gqa_decode, *inputs, TMA=tma, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    # Each of its warps needs rows of its own.
    return partial(tilelang_version("gqa_decode").gqa_decode, *inputs, block_H=64, **config)


def torch_attention(inputs: Inputs, config: Config) -> Call:
    q, k, v = inputs
    operands = (q[:, :, None], k.transpose(1, 2), v.transpose(1, 2))
    attend = partial(torch.nn.functional.scaled_dot_product_attention, *operands, enable_gqa=True)
    return lambda: attend()[:, :, 0]


WORKLOADS = tuple(
    Workload(
        name=f"gqa-decode-{name}",
        inputs=partial(inputs, batch, kv_len),
        reference=reference,
        part=one_sequence,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, CONFIGS),
            Contestant("tile2triton split", "tile2triton", shared_out, SHARED_OUT),
            Contestant("triton pointers", "triton", partial(hand, False), by_hand.CONFIGS),
            Contestant("triton TMA", "triton", partial(hand, True), by_hand.CONFIGS),
            Contestant("torch", "torch", torch_attention),
            Contestant("tilelang", "tilelang", tilelang, CONFIGS),
        ),
        work=2.0 * batch * kv_len * KV_HEADS * DIM * torch.float16.itemsize,
        unit="GB/s",
        tolerance=5e-3,
        is_small=True,
    )
    for name, (batch, kv_len) in SIZES.items()
)
