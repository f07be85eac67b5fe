"""fp8 GEMM with scales of 1 x 128 and 128 x 128 elements: 8192 cubed and 4096 x 7168 x 2048."""

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
from benchmarks.handwritten import block_scaled_gemm as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.values.block_scaled_gemm import GROUP, block_scaled_gemm

SIZES = {"8k": (8192, 8192, 8192), "4096x7168x2048": (4096, 7168, 2048)}
CONFIGS = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
# Two consumers of one producer: one scales its product while the other one multiplies.
IN_GLUON = tuple(
    {
        "warp_specialize": 2,
        "block_M": 64,
        "block_N": 128,
        "num_stages": stages,
        "threads": 128,
        **({"persistent": True} if is_persistent else {}),
    }
    for stages, is_persistent in ((4, False), (4, True), (5, True), (6, False), (6, True))
)


def inputs(M: int, N: int, K: int) -> Inputs:
    a, b = (torch.randn(rows, K, device="cuda").to(torch.float8_e4m3fn) for rows in (M, N))
    a_scales = torch.rand(K // GROUP, M, device="cuda") + 0.5
    return a, b, a_scales, torch.rand(N // GROUP, K // GROUP, device="cuda") + 0.5


def reference(inputs: Inputs) -> Tensor:
    a, b, a_scales, b_scales = inputs
    left = a.float() * a_scales.T.repeat_interleave(GROUP, 1)
    right = b.float() * b_scales.repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
    return left @ right.T


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(block_scaled_gemm, config), *inputs)


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.block_scaled_gemm, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    return partial(tilelang_version("block_scaled_gemm").block_scaled_gemm, *inputs, **config)


WORKLOADS = tuple(
    Workload(
        name=f"fp8-block-scaled-{name}",
        inputs=partial(inputs, *sizes),
        reference=reference,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, CONFIGS),
            Contestant("tile2triton Gluon", "tile2triton", tile_program, IN_GLUON),
            Contestant("triton", "triton", hand, by_hand.CONFIGS),
            Contestant("tilelang", "tilelang", tilelang, CONFIGS),
        ),
        work=2.0 * sizes[0] * sizes[1] * sizes[2],
        unit="TFLOP/s",
        tolerance=5e-3,
        ceiling="8-bit",
    )
    for name, sizes in SIZES.items()
)
