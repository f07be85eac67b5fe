"""GEMM of 1024³ to 8192³, A·B and A·Bᵀ, a few rows by much, and split-K, deep and narrow."""

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

# Two consumers of one producer; parts of a tile leave shared memory for a stage more.
IN_GLUON = tuple(
    {
        "warp_specialize": 2,
        "block_M": block_m,
        "block_N": block_n,
        "block_K": 64,
        "num_stages": stages,
        "threads": 128,
        **({"persistent": True, "subtile": parts} if parts else {}),
    }
    for block_m, block_n, stages, parts in (
        (64, 256, 3, 0),
        (64, 256, 3, 1),
        (64, 256, 3, 2),
        (64, 256, 4, 2),
        (64, 256, 4, 4),
        (128, 128, 4, 2),
    )
)


def random_matrices(dtype: torch.dtype, left: tuple[int, int], right: tuple[int, int]) -> Inputs:
    return tuple(torch.randn(shape, device="cuda", dtype=dtype) for shape in (left, right))


def in_fp32(inputs: Inputs, transpose_b: bool = False) -> Tensor:
    a, b = (x.float() for x in inputs)
    return a @ (b.T if transpose_b else b)


def gemm_workload(name: str, dtype: torch.dtype, transpose_b: bool, size: int) -> Workload:
    type_name = str(dtype).removeprefix("torch.")
    is_small = size <= 2048
    hand_configs = by_hand.SMALL_CONFIGS if is_small else by_hand.CONFIGS
    persistent_configs = () if is_small else by_hand.PERSISTENT_CONFIGS
    tiles = tuple(as_tile_program(config) for config in hand_configs)
    persistent = tuple(
        {**as_tile_program(config), "persistent": True, "subtile": 1 + bool(config["SUBTILE"])}
        for config in persistent_configs
    )

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

    on_all = partial(hand, by_hand.gemm_persistent)
    persistent_by_hand = Contestant("triton persistent", "triton", on_all, persistent_configs)
    return Workload(
        name=name,
        inputs=partial(random_matrices, dtype, (size, size), (size, size)),
        reference=partial(in_fp32, transpose_b=transpose_b),
        contestants=(
            Contestant(
                "tile2triton",
                "tile2triton",
                partial(tile_program, gemm),
                (*tiles, *persistent),
            ),
            *(
                []
                if is_small
                else [
                    Contestant(
                        "tile2triton Gluon", "tile2triton", partial(tile_program, gemm), IN_GLUON
                    )
                ]
            ),
            Contestant("tile2triton whole", "tile2triton", on_whole_operands),
            Contestant(
                "triton pointers", "triton", partial(hand, by_hand.gemm_pointers), hand_configs
            ),
            Contestant("triton TMA", "triton", partial(hand, by_hand.gemm_tma), hand_configs),
            *([persistent_by_hand] if persistent_configs else []),
            Contestant("cuBLAS", "torch", torch_gemm),
            Contestant("tilelang", "tilelang", tilelang, tiles),
        ),
        work=2.0 * size**3,
        unit="TFLOP/s",
        tolerance=5e-3,
        is_small=is_small,
    )


def few_rows_workload(rows: int, size: int) -> Workload:
    """What counts is how fast the matrix is read."""
    types = {"dtype": "bfloat16", "out_dtype": "bfloat16"}

    def tile_program(inputs: Inputs, config: Config) -> Call:
        return partial(configured(gemm, config), *inputs, transpose_B=True, **types)

    def hand(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, True, **config)

    def torch_gemm(inputs: Inputs, config: Config) -> Call:
        a, b = inputs
        return partial(torch.matmul, a, b.T)

    def tilelang(inputs: Inputs, config: Config) -> Call:
        kernel = tilelang_version("gemm").gemm
        return partial(kernel, *inputs, transpose_B=True, **types, **config)

    def parts_by_hand(inputs: Inputs, config: Config) -> Call:
        return partial(split_by_hand.few_rows_gemm, *inputs, **config)

    configs = by_hand.FEW_ROWS_CONFIGS
    pointers = partial(hand, by_hand.gemm_pointers)
    tiles = tuple(as_tile_program(config) for config in configs)
    # The few rows as the columns of the product's transpose.
    swapped = tuple({**tile, "swap_ab": True} for tile in tiles if tile["block_N"] >= 64)
    ways = ({"split": 2}, {"split": 4}, {"split": 8}, {"stream_k": 132}, {"stream_k": 2 * 132})
    shared_out = tuple({**tile, **way} for way in ways for tile in tiles)
    return Workload(
        name=f"gemm-m{rows}-bf16",
        inputs=partial(random_matrices, torch.bfloat16, (rows, size), (size, size)),
        reference=partial(in_fp32, transpose_b=True),
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, (*tiles, *swapped, *shared_out)),
            Contestant("triton pointers", "triton", pointers, configs),
            Contestant("triton TMA", "triton", partial(hand, by_hand.gemm_tma), configs),
            Contestant("triton split-K", "triton", parts_by_hand, split_by_hand.FEW_ROWS_CONFIGS),
            Contestant("cuBLAS", "torch", torch_gemm),
            Contestant("tilelang", "tilelang", tilelang, tiles),
        ),
        work=2.0 * size * (size + 2 * rows),
        unit="GB/s",
        tolerance=5e-3,
        is_small=True,
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


SIZES = {"": 8192, "-4k": 4096, "-2k": 2048, "-1k": 1024}
FORMS = {"nn-bf16": (torch.bfloat16, False), "nt-bf16": (torch.bfloat16, True)}
FORMS |= {"nn-fp16": (torch.float16, False), "nt-fp16": (torch.float16, True)}
WORKLOADS = (
    *(
        gemm_workload(f"gemm-{form}{suffix}", dtype, transpose_b, size)
        for form, (dtype, transpose_b) in FORMS.items()
        for suffix, size in SIZES.items()
    ),
    few_rows_workload(16, 8192),
    split_k_workload(512, 512, 65536),
)
