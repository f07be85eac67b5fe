"""GEMM 8192³, A·B and A·Bᵀ, of 16 rows, and a split-K GEMM that is deep and narrow."""

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
from benchmarks.handwritten import gemm as by_hand
from benchmarks.handwritten import split_k_gemm as split_by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels import whole_operands
from tests.kernels.gemm import gemm
from tests.kernels.split_k_gemm import split_k_gemm

SIZE = 8192
TILES = tuple(as_tile_program(config) for config in by_hand.CONFIGS)
PERSISTENT = tuple(
    {**as_tile_program(config), "persistent": True, "subtile": 1 + bool(config["SUBTILE"])}
    for config in by_hand.PERSISTENT_CONFIGS
)


def random_matrices(dtype: torch.dtype, left: tuple[int, int], right: tuple[int, int]) -> Inputs:
    return tuple(torch.randn(shape, device="cuda", dtype=dtype) for shape in (left, right))


def in_fp32(inputs: Inputs, transpose_b: bool = False) -> Tensor:
    a, b = (x.float() for x in inputs)
    return a @ (b.T if transpose_b else b)


def gemm_workload(name: str, dtype: torch.dtype, transpose_b: bool) -> Workload:
    type_name = str(dtype).removeprefix("torch.")

    def tile_program(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        types = {"dtype": type_name, "out_dtype": type_name}
        return partial(configured(kernel, config), *inputs, transpose_B=transpose_b, **types)

    def on_whole_operands(inputs: Inputs, config: Config) -> Call:
        return partial(whole_operands.gemm, *inputs, transpose_b)

    def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, transpose_b, **config)

    def torch_gemm(inputs: Inputs, config: Config) -> Call:
        a, b = inputs
        return partial(torch.matmul, a, b.T if transpose_b else b)

    def tilelang(inputs: Inputs, config: Config) -> Call:
        return tile_program(tilelang_version("gemm").gemm, inputs, config)

    return Workload(
        name=name,
        inputs=partial(random_matrices, dtype, (SIZE, SIZE), (SIZE, SIZE)),
        reference=partial(in_fp32, transpose_b=transpose_b),
        contestants=(
            Contestant(
                "tile2triton", "tile2triton", partial(tile_program, gemm), (*TILES, *PERSISTENT)
            ),
            Contestant("tile2triton whole", "tile2triton", on_whole_operands),
            Contestant(
                "triton pointers", "triton", partial(hand, by_hand.gemm_pointers), by_hand.CONFIGS
            ),
            Contestant("triton TMA", "triton", partial(hand, by_hand.gemm_tma), by_hand.CONFIGS),
            Contestant(
                "triton persistent",
                "triton",
                partial(hand, by_hand.gemm_persistent),
                by_hand.PERSISTENT_CONFIGS,
            ),
            Contestant("cuBLAS", "torch", torch_gemm),
            Contestant("tilelang", "tilelang", tilelang, TILES),
        ),
        work=2.0 * SIZE**3,
        unit="TFLOP/s",
        tolerance=5e-3,
    )


FEW_ROWS = tuple(
    {"BLOCK_M": 16, "BLOCK_N": n, "BLOCK_K": k, "num_warps": 4, "num_stages": stages}
    for n, k, stages in ((32, 256, 4), (64, 128, 5), (64, 256, 4), (128, 128, 4))
)


def few_rows_workload(rows: int, size: int) -> Workload:
    types = {"dtype": "bfloat16", "out_dtype": "bfloat16"}

    def tile_program(inputs: Inputs, config: Config) -> Call:
        return partial(configured(gemm, config), *inputs, transpose_B=True, **types)

    def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, True, GROUP_M=8, **config)

    def torch_gemm(inputs: Inputs, config: Config) -> Call:
        a, b = inputs
        return partial(torch.matmul, a, b.T)

    tiles = tuple(as_tile_program(config) for config in FEW_ROWS)
    shared_out = tuple({**tile, "split": parts} for parts in (2, 4, 8) for tile in tiles)
    return Workload(
        name=f"gemm-m{rows}-bf16",
        inputs=partial(random_matrices, torch.bfloat16, (rows, size), (size, size)),
        reference=partial(in_fp32, transpose_b=True),
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, (*tiles, *shared_out)),
            Contestant("triton pointers", "triton", partial(hand, by_hand.gemm_pointers), FEW_ROWS),
            Contestant("triton TMA", "triton", partial(hand, by_hand.gemm_tma), FEW_ROWS),
            Contestant("cuBLAS", "torch", torch_gemm),
        ),
        work=2.0 * size * (size + 2 * rows),
        unit="GB/s",
        tolerance=5e-3,
    )


def split_k_workload(M: int, N: int, K: int) -> Workload:
    def zeroed(kernel: Callable[..., object], inputs: Inputs, config: Config) -> Call:
        a, b = inputs
        c = torch.empty((M, N), device="cuda", dtype=torch.float32)

        def call() -> Tensor:
            kernel(a, b, c.zero_(), **config)
            return c

        return call

    def tile_program(kernel: Callable[..., object], inputs: Inputs, config: Config) -> Call:
        return zeroed(partial(kernel, dtype="bfloat16"), inputs, config)

    def torch_gemm(inputs: Inputs, config: Config) -> Call:
        return partial(torch.matmul, *inputs)

    configs = tuple(as_tile_program(config) for config in split_by_hand.CONFIGS)
    return Workload(
        name="split-k-gemm",
        inputs=partial(random_matrices, torch.bfloat16, (M, K), (K, N)),
        reference=in_fp32,
        contestants=(
            Contestant("tile2triton", "tile2triton", partial(tile_program, split_k_gemm), configs),
            Contestant(
                "triton TMA",
                "triton",
                partial(zeroed, split_by_hand.split_k_gemm),
                split_by_hand.CONFIGS,
            ),
            Contestant("cuBLAS", "torch", torch_gemm),
        ),
        work=2.0 * M * N * K,
        unit="TFLOP/s",
        tolerance=5e-3,
        is_repeatable=False,
    )


WORKLOADS = (
    gemm_workload("gemm-nn-bf16", torch.bfloat16, transpose_b=False),
    gemm_workload("gemm-nt-bf16", torch.bfloat16, transpose_b=True),
    gemm_workload("gemm-nn-fp16", torch.float16, transpose_b=False),
    gemm_workload("gemm-nt-fp16", torch.float16, transpose_b=True),
    few_rows_workload(16, SIZE),
    split_k_workload(512, 512, 65536),
)
