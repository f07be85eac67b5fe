"""fp16 times 4-bit integers with a scale for each 128 of them: 16 and 4096 rows, 8192 x 8192."""

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
from benchmarks.handwritten import dequantized_gemm as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.dequantized_gemm import dequantized_gemm

N = K = 8192
GROUP = 128


def inputs(rows: int) -> Inputs:
    a = torch.randn(rows, K, device="cuda", dtype=torch.float16)
    w = torch.randint(256, (N, K // 2), device="cuda", dtype=torch.uint8)
    scales = torch.rand(N, K // GROUP, device="cuda", dtype=torch.float16) * 0.1
    return a, w, scales


def reference(inputs: Inputs) -> Tensor:
    a, w, scales = inputs
    numbers = torch.stack((w & 15, w >> 4), -1).flatten(1).float() - 8
    return a.float() @ (numbers * scales.float().repeat_interleave(GROUP, 1)).T


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(dequantized_gemm, config), *inputs)


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.dequantized_gemm, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    return partial(tilelang_version("dequantized_gemm").dequantized_gemm, *inputs, **config)


def workload(
    rows: int,
    configs: tuple[Config, ...],
    tiles: tuple[Config, ...],
    schedules: tuple[Config, ...] = ({},),
) -> Workload:
    plain = tuple(as_tile_program(tile) for tile in tiles)
    ours = tuple({**tile, **schedule} for schedule in schedules for tile in plain)
    return Workload(
        name=f"int4-gemm-m{rows}",
        inputs=partial(inputs, rows),
        reference=reference,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, ours),
            Contestant("triton", "triton", hand, configs),
            Contestant("tilelang", "tilelang", tilelang, plain),
        ),
        work=2.0 * rows * N * K,
        unit="TFLOP/s",
        tolerance=5e-3,
    )


# The unpacked factor stays in registers, and several programs share the contracted extent.
FEW_ROWS_SCHEDULES: tuple[Config, ...] = (
    {},
    {"swap_ab": True},
    {"swap_ab": True, "split": 2},
    {"swap_ab": True, "split": 4},
    {"swap_ab": True, "stream_k": 2 * 132},
)

WORKLOADS = (
    workload(16, by_hand.FEW_ROWS_CONFIGS, by_hand.FEW_ROWS, FEW_ROWS_SCHEDULES),
    workload(4096, by_hand.CONFIGS, by_hand.TILES),
)
