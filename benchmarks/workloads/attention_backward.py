"""Attention backward over 16384 tokens: 16 heads of 128, causal and full."""

from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.contest import (
    Call,
    Config,
    Contestant,
    Inputs,
    Output,
    Workload,
    as_tile_program,
    configured,
)
from benchmarks.handwritten import attention_backward as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.values.attention_backward import attention_backward

TOKENS, HEADS, DIM = 16384, 16, 128
CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
# Consumers of one producer, in Gluon, each with 64 keys or rows of Q.
CONSUMERS = tuple(
    {
        "warp_specialize": consumers,
        "block_M": block_m,
        "block_N": 64,
        "num_stages": stages,
        "threads": 128,
    }
    for consumers, block_m, stages in ((2, 64, 2), (2, 64, 3), (2, 32, 3), (1, 64, 2))
)


def inputs(seq_len: int, is_causal: bool) -> Inputs:
    """Q, K, V, O, dO and the log-sum-exp of each row."""
    shape = (TOKENS // seq_len, HEADS, seq_len, DIM)
    q, k, v, do = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    o, lse = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, is_causal)[:2]
    return q, k, v, o.contiguous(), do, lse.contiguous()


def last_head(output: Output) -> Tensor:
    return torch.stack([one[-1, -1] for one in output])


def reference(is_causal: bool, inputs: Inputs) -> Tensor:
    """The derivatives of the last head, in float32 throughout."""
    q, k, v, do = (inputs[at][-1, -1].float() for at in (0, 1, 2, 4))
    scores = q @ k.T * DIM**-0.5
    if is_causal:
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    weights = scores.softmax(-1)
    by_weights = do @ v.T
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    return torch.stack([by_scores @ k * DIM**-0.5, by_scores.T @ q * DIM**-0.5, weights.T @ do])


def tile_program(is_causal: bool, inputs: Inputs, config: Config) -> Call:
    kernel = configured(attention_backward, config)
    return partial(kernel, *inputs, is_causal=is_causal, dtype="bfloat16")


def hand(is_causal: bool, inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.attention_backward, *inputs, is_causal, **config)


def tilelang(is_causal: bool, inputs: Inputs, config: Config) -> Call:
    kernel = tilelang_version("attention_backward").attention_backward
    return partial(kernel, *inputs, is_causal=is_causal, dtype="bfloat16", **config)


def autograd(backend: SDPBackend, is_causal: bool, inputs: Inputs, config: Config) -> Call:
    operands = tuple(one.detach().requires_grad_() for one in inputs[:3])
    with sdpa_kernel(backend):
        o = scaled_dot_product_attention(*operands, is_causal=is_causal)
    return partial(torch.autograd.grad, o, operands, inputs[4], retain_graph=True)


def workload(seq_len: int, is_causal: bool) -> Workload:
    ours = partial(tile_program, is_causal)
    return Workload(
        name=f"attention-backward-{seq_len // 1024}k-{'causal' if is_causal else 'full'}",
        inputs=partial(inputs, seq_len, is_causal),
        reference=partial(reference, is_causal),
        part=last_head,
        contestants=(
            Contestant("tile2triton", "tile2triton", ours, CONFIGS),
            Contestant("tile2triton Gluon", "tile2triton", ours, CONSUMERS),
            Contestant("triton", "triton", partial(hand, is_causal), by_hand.CONFIGS),
            Contestant("cuDNN", "torch", partial(autograd, SDPBackend.CUDNN_ATTENTION, is_causal)),
            Contestant(
                "FlashAttention-2",
                "torch",
                partial(autograd, SDPBackend.FLASH_ATTENTION, is_causal),
            ),
            Contestant("tilelang", "tilelang", partial(tilelang, is_causal), CONFIGS),
        ),
        work=10.0 * TOKENS * HEADS * seq_len * DIM * (0.5 if is_causal else 1.0),
        unit="TFLOP/s",
        tolerance=1e-2,
    )


WORKLOADS = tuple(
    workload(seq_len, is_causal)
    for seq_len, is_causal in ((1024, True), (4096, True), (16384, True), (4096, False))
)
