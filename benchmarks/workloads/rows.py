"""Kernels bound by memory: softmax, norms, bias and GELU, and sums of rows."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.contest import Call, Config, Contestant, Inputs, Workload, as_tile_program
from benchmarks.handwritten import elementwise as elementwise_by_hand
from benchmarks.handwritten import reductions as reductions_by_hand
from benchmarks.handwritten import rows as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels import elementwise, norm, reductions, row_programs, softmax, whole_operands

DTYPE = torch.bfloat16
EPS = 1e-6
SQUARE = (8192, 8192)
WIDE = (1024, 65536)
WIDE_CONFIGS = tuple({"ROWS": 1, "num_warps": warps} for warps in (8, 16, 32))


def tile_program(
    kernel: Callable[..., Tensor], options: dict[str, float], inputs: Inputs, config: Config
) -> Call:
    return partial(kernel, *inputs, dtype="bfloat16", **options, **config)


def in_tilelang(
    file: str, name: str, options: dict[str, float], inputs: Inputs, config: Config
) -> Call:
    return tile_program(getattr(tilelang_version(file), name), options, inputs, config)


def plain(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(kernel, *inputs, **config)


def row_workload(
    name: str,
    kernel: Callable[..., Tensor],
    place: tuple[str, str],
    hand: Callable[..., Tensor],
    hand_configs: tuple[Config, ...],
    in_torch: Callable[..., Tensor],
    vectors: int,
    whole: Callable[..., Tensor] | None = None,
    shape: tuple[int, int] = SQUARE,
    passes: float = 2,
    more: tuple[Contestant, ...] = (),
    **options: float,
) -> Workload:
    """One read and one write of the matrix; `in_torch` is a contestant and, in fp32, the truth.

    `vectors` counts the further inputs, one number a column; `place` says the tile program's file
    and name, `whole` is the program on whole operands.
    """
    configs = tuple(as_tile_program(config) for config in hand_configs)

    def inputs() -> Inputs:
        matrix = torch.randn(shape, device="cuda", dtype=DTYPE)
        return matrix, *(torch.randn(shape[1], device="cuda", dtype=DTYPE) for _ in range(vectors))

    def reference(inputs: Inputs) -> Tensor:
        return in_torch(*(x.float() for x in inputs))

    ours = partial(tile_program, kernel, options)
    by_hand = partial(plain, partial(hand, **options))
    theirs = partial(in_tilelang, *place, options)
    on_whole = () if whole is None else (partial(plain, whole),)
    return Workload(
        name=name,
        inputs=inputs,
        reference=reference,
        contestants=(
            Contestant("tile2triton", "tile2triton", ours, configs),
            *(Contestant("tile2triton whole", "tile2triton", build) for build in on_whole),
            Contestant("triton", "triton", by_hand, hand_configs),
            *more,
            Contestant("torch", "torch", partial(plain, in_torch)),
            Contestant("tilelang", "tilelang", theirs, configs),
        ),
        work=passes * shape[0] * shape[1] * DTYPE.itemsize,
        unit="GB/s",
        tolerance=5e-3,
        is_small=True,
    )


def torch_softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=-1)


def torch_rms_norm(x: Tensor, w: Tensor) -> Tensor:
    return functional.rms_norm(x, x.shape[-1:], w, EPS)


def torch_layer_norm(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], w, bias, EPS)


def torch_bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return functional.gelu(x + bias)


def torch_row_sum(x: Tensor) -> Tensor:
    return x.sum(-1, dtype=torch.float32)


def online(inputs: Inputs, config: Config) -> Call:
    """A program that goes over each row twice."""
    (x,) = inputs
    return partial(softmax.softmax_online(*x.shape, dtype="bfloat16", **config), x)


def online_contestants() -> tuple[Contestant, ...]:
    hand = by_hand.ONLINE_CONFIGS
    pieces = {(config["BLOCK"], config["num_warps"]) for config in hand}
    ours = tuple({"block_N": size, "threads": 32 * warps} for size, warps in sorted(pieces))
    return (
        Contestant("tile2triton online", "tile2triton", online, ours),
        Contestant("triton online", "triton", partial(plain, by_hand.softmax_online), hand),
    )


WORKLOADS = (
    row_workload(
        "softmax",
        softmax.softmax,
        ("softmax", "softmax"),
        by_hand.softmax,
        by_hand.CONFIGS,
        torch_softmax,
        vectors=0,
        whole=whole_operands.softmax,
    ),
    row_workload(
        "softmax-wide",
        softmax.softmax,
        ("softmax", "softmax"),
        by_hand.softmax,
        WIDE_CONFIGS,
        torch_softmax,
        vectors=0,
        whole=whole_operands.softmax,
        shape=WIDE,
        more=online_contestants(),
    ),
    row_workload(
        "rms-norm",
        norm.rms_norm,
        ("norm", "rms_norm"),
        by_hand.rms_norm,
        by_hand.CONFIGS,
        torch_rms_norm,
        vectors=1,
        whole=row_programs.rms_norm,
        eps=EPS,
    ),
    row_workload(
        "layer-norm",
        norm.layer_norm,
        ("norm", "layer_norm"),
        by_hand.layer_norm,
        by_hand.CONFIGS,
        torch_layer_norm,
        vectors=2,
        whole=row_programs.layer_norm,
        eps=EPS,
    ),
    row_workload(
        "bias-gelu",
        elementwise.bias_gelu,
        ("elementwise", "bias_gelu"),
        elementwise_by_hand.bias_gelu,
        elementwise_by_hand.CONFIGS,
        torch_bias_gelu,
        vectors=1,
        whole=row_programs.bias_gelu,
    ),
    row_workload(
        "row-sum",
        reductions.row_sum,
        ("reductions", "row_sum"),
        reductions_by_hand.row_sum,
        reductions_by_hand.ROW_CONFIGS,
        torch_row_sum,
        vectors=0,
        whole=row_programs.row_sum,
        passes=1,
    ),
)
