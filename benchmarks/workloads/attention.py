"""Attention forward over 16384 tokens: dims 64 and 128, causal and full, layouts, shared keys."""

from collections.abc import Callable
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
    Workload,
    as_tile_program,
    configured,
)
from benchmarks.handwritten import attention as by_hand
from benchmarks.handwritten import attention_pointers as with_pointers
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.flash_attention import flash_attention
from tests.kernels.flash_attention_simple import flash_attention_simple
from tests.kernels.gqa_attention import gqa_attention
from tests.kernels.whole_operands import attention

TOKENS = 16384
HIDDEN = 2048
BLOCKS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
ROTATED = tuple({**config, "rotate": True} for config in BLOCKS)
# One loop in the program, with masks in each turn of it or only where they hide something.
SPLIT = tuple(
    {**config, "split_masks": True, **more} for config in BLOCKS for more in ({}, {"rotate": True})
)
# Consumers of one producer, in Gluon; each has rows of its own.
CONSUMERS = tuple(
    {
        "warp_specialize": consumers,
        "block_M": 64,
        "block_N": block_n,
        "num_stages": stages,
        "threads": 128,
    }
    for consumers, block_n, stages in ((2, 128, 2), (2, 64, 3), (2, 64, 4), (3, 64, 3), (3, 128, 2))
)


def attention_workload(dim: int, seq_len: int, is_causal: bool, layout: str) -> Workload:
    batch, heads = TOKENS // seq_len, HIDDEN // dim
    bshd = layout == "bshd"
    shape = (batch, seq_len, heads, dim) if bshd else (batch, heads, seq_len, dim)
    corners = {(0, 0), (batch // 2, heads // 2), (batch - 1, heads - 1)}

    def inputs() -> Inputs:
        return tuple(torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def some_heads(x: Tensor) -> Tensor:
        heads_first = x.transpose(1, 2) if bshd else x
        return torch.stack([heads_first[index] for index in sorted(corners)])

    def reference(inputs: Inputs) -> Tensor:
        q, k, v = (some_heads(x).float() for x in inputs)
        return exact_attention(q, k, v, is_causal)

    def tile_program(
        factory: Callable[..., Callable[..., Tensor]], inputs: Inputs, config: Config
    ) -> Call:
        sizes = (batch, heads, seq_len, dim)
        made = configured(factory, config)
        kernel = made(*sizes, is_causal, layout=layout, dtype="bfloat16")
        return partial(kernel, *inputs)

    def whole_operands(inputs: Inputs, config: Config) -> Call:
        return partial(attention, *inputs, "causal" if is_causal else None)

    def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, is_causal, layout, **config)

    def sdpa(backend: SDPBackend, inputs: Inputs, config: Config) -> Call:
        q, k, v = (x.transpose(1, 2) if bshd else x for x in inputs)

        def call() -> Tensor:
            with sdpa_kernel(backend):
                output = scaled_dot_product_attention(q, k, v, is_causal=is_causal)
            return output.transpose(1, 2) if bshd else output

        return call

    def tilelang(inputs: Inputs, config: Config) -> Call:
        factory = tilelang_version("flash_attention").flash_attention
        return tile_program(factory, inputs, config)

    length = f"{seq_len // 1024}k" + ("" if bshd else "-bhsd")
    return Workload(
        name=f"attention-d{dim}-{length}-{'causal' if is_causal else 'full'}",
        inputs=inputs,
        reference=reference,
        part=some_heads,
        contestants=(
            Contestant(
                "tile2triton",
                "tile2triton",
                partial(tile_program, flash_attention),
                (*BLOCKS, *ROTATED),
            ),
            Contestant(
                "tile2triton Gluon",
                "tile2triton",
                partial(tile_program, flash_attention),
                CONSUMERS,
            ),
            Contestant(
                "tile2triton single loop",
                "tile2triton",
                partial(tile_program, flash_attention_simple),
                BLOCKS,
            ),
            Contestant(
                "tile2triton single loop, split",
                "tile2triton",
                partial(tile_program, flash_attention_simple),
                SPLIT,
            ),
            *([] if bshd else [Contestant("tile2triton whole", "tile2triton", whole_operands)]),
            Contestant(
                "triton TMA", "triton", partial(hand, by_hand.attention_tma), by_hand.CONFIGS
            ),
            Contestant(
                "triton rotated",
                "triton",
                partial(hand, by_hand.attention_rotated),
                by_hand.ROTATED_CONFIGS,
            ),
            Contestant(
                "triton pointers",
                "triton",
                partial(hand, with_pointers.attention_pointers),
                with_pointers.CONFIGS,
            ),
            Contestant("cuDNN", "torch", partial(sdpa, SDPBackend.CUDNN_ATTENTION)),
            Contestant("FlashAttention-2", "torch", partial(sdpa, SDPBackend.FLASH_ATTENTION)),
            Contestant("tilelang", "tilelang", tilelang, BLOCKS),
        ),
        work=4.0 * batch * heads * seq_len**2 * dim * (0.5 if is_causal else 1.0),
        unit="TFLOP/s",
        tolerance=5e-3,
    )


def grouped_workload(dim: int, seq_len: int, is_causal: bool, group: int) -> Workload:
    """`group` heads share the keys and values of one."""
    batch, heads = TOKENS // seq_len, HIDDEN // dim

    def inputs() -> Inputs:
        return tuple(
            torch.randn((batch, seq_len, count, dim), device="cuda", dtype=torch.bfloat16)
            for count in (heads, heads // group, heads // group)
        )

    def last_head(x: Tensor) -> Tensor:
        return x[-1:, :, -1]

    def reference(inputs: Inputs) -> Tensor:
        q, k, v = (last_head(x).float() for x in inputs)
        return exact_attention(q, k, v, is_causal)

    def tile_program(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        options = {"dim": dim, "is_causal": is_causal, "dtype": "bfloat16"}
        return partial(configured(kernel, config), *inputs, **options)

    def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, is_causal, "bshd", **config)

    def sdpa(backend: SDPBackend, inputs: Inputs, config: Config) -> Call:
        q, k, v = (x.transpose(1, 2) for x in inputs)

        def call() -> Tensor:
            with sdpa_kernel(backend):
                output = scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
            return output.transpose(1, 2)

        return call

    def tilelang(inputs: Inputs, config: Config) -> Call:
        return tile_program(tilelang_version("gqa_attention").gqa_attention, inputs, config)

    rotated = partial(hand, by_hand.attention_rotated)
    return Workload(
        name=f"attention-gqa-d{dim}-{seq_len // 1024}k-{'causal' if is_causal else 'full'}",
        inputs=inputs,
        reference=reference,
        part=last_head,
        contestants=(
            Contestant(
                "tile2triton",
                "tile2triton",
                partial(tile_program, gqa_attention),
                (*BLOCKS, *ROTATED),
            ),
            Contestant(
                "tile2triton Gluon", "tile2triton", partial(tile_program, gqa_attention), CONSUMERS
            ),
            Contestant(
                "triton TMA", "triton", partial(hand, by_hand.attention_tma), by_hand.CONFIGS
            ),
            Contestant("triton rotated", "triton", rotated, by_hand.ROTATED_CONFIGS),
            Contestant("cuDNN", "torch", partial(sdpa, SDPBackend.CUDNN_ATTENTION)),
            Contestant("FlashAttention-2", "torch", partial(sdpa, SDPBackend.FLASH_ATTENTION)),
            Contestant("tilelang", "tilelang", tilelang, BLOCKS),
        ),
        work=4.0 * batch * heads * seq_len**2 * dim * (0.5 if is_causal else 1.0),
        unit="TFLOP/s",
        tolerance=5e-3,
    )


def exact_attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool, step: int = 2048) -> Tensor:
    """(heads, seq_len, dim) in fp32, a block of rows at a time to bound the memory."""
    columns = torch.arange(q.shape[1], device=q.device)
    output = torch.empty_like(q)
    for first in range(0, q.shape[1], step):
        scores = q[:, first : first + step] @ k.mT * q.shape[2] ** -0.5
        if is_causal:
            rows = columns[first : first + step]
            scores.masked_fill_(columns[None, :] > rows[:, None], -torch.inf)
        output[:, first : first + step] = torch.softmax(scores, dim=-1) @ v
    return output


WORKLOADS = (
    *(
        attention_workload(dim, seq_len, is_causal, "bshd")
        for dim in (128, 64)
        for seq_len in (1024, 4096, 16384)
        for is_causal in (False, True)
    ),
    *(grouped_workload(128, seq_len, True, group=4) for seq_len in (4096, 16384)),
    *(
        attention_workload(128, seq_len, is_causal, "bhsd")
        for seq_len in (4096, 16384)
        for is_causal in (False, True)
    ),
)
