"""Kernels bound by memory, on 8192 x 8192: softmax, RMS norm, layer norm, bias and GELU."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.contest import Call, Config, Contestant, Inputs, Workload, as_tile_program
from benchmarks.handwritten import elementwise as elementwise_by_hand
from benchmarks.handwritten import rows as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels import elementwise, norm, softmax, whole_operands

SIZE = 8192
DTYPE = torch.bfloat16
EPS = 1e-6


def row_workload(
    name: str,
    kernel: Callable[..., Tensor],
    file: str,
    hand: Callable[..., Tensor],
    hand_configs: tuple[Config, ...],
    in_torch: Callable[..., Tensor],
    vectors: int,
    whole: Callable[..., Tensor] | None = None,
    **options: float,
) -> Workload:
    """One read and one write of the matrix; `in_torch` is a contestant and, in fp32, the truth.

    `vectors` counts the further inputs, one number a column; `file` is where the tile program is,
    `whole` the program on whole operands.
    """
    function = name.replace("-", "_")
    configs = tuple(as_tile_program(config) for config in hand_configs)

    def inputs() -> Inputs:
        matrix = torch.randn((SIZE, SIZE), device="cuda", dtype=DTYPE)
        return matrix, *(torch.randn(SIZE, device="cuda", dtype=DTYPE) for _ in range(vectors))

    def reference(inputs: Inputs) -> Tensor:
        return in_torch(*(x.float() for x in inputs))

    def tile_program(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
        return partial(kernel, *inputs, dtype="bfloat16", **options, **config)

    def on_whole_operands(inputs: Inputs, config: Config) -> Call:
        assert whole is not None
        return partial(whole, *inputs)

    def by_hand(inputs: Inputs, config: Config) -> Call:
        return partial(hand, *inputs, **options, **config)

    def by_torch(inputs: Inputs, config: Config) -> Call:
        return partial(in_torch, *inputs)

    def tilelang(inputs: Inputs, config: Config) -> Call:
        return tile_program(getattr(tilelang_version(file), function), inputs, config)

    return Workload(
        name=name,
        inputs=inputs,
        reference=reference,
        contestants=(
            Contestant("tile2triton", "tile2triton", partial(tile_program, kernel), configs),
            *([Contestant("tile2triton whole", "tile2triton", on_whole_operands)] if whole else []),
            Contestant("triton", "triton", by_hand, hand_configs),
            Contestant("torch", "torch", by_torch),
            Contestant("tilelang", "tilelang", tilelang, configs),
        ),
        work=2.0 * SIZE * SIZE * DTYPE.itemsize,
        unit="GB/s",
        tolerance=5e-3,
    )


def torch_softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=-1)


def torch_rms_norm(x: Tensor, w: Tensor) -> Tensor:
    return functional.rms_norm(x, (SIZE,), w, EPS)


def torch_layer_norm(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return functional.layer_norm(x, (SIZE,), w, bias, EPS)


def torch_bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return functional.gelu(x + bias)


WORKLOADS = (
    row_workload(
        "softmax",
        softmax.softmax,
        "softmax",
        by_hand.softmax,
        by_hand.CONFIGS,
        torch_softmax,
        vectors=0,
        whole=whole_operands.softmax,
    ),
    row_workload(
        "rms-norm",
        norm.rms_norm,
        "norm",
        by_hand.rms_norm,
        by_hand.CONFIGS,
        torch_rms_norm,
        vectors=1,
        eps=EPS,
    ),
    row_workload(
        "layer-norm",
        norm.layer_norm,
        "norm",
        by_hand.layer_norm,
        by_hand.CONFIGS,
        torch_layer_norm,
        vectors=2,
        eps=EPS,
    ),
    row_workload(
        "bias-gelu",
        elementwise.bias_gelu,
        "elementwise",
        elementwise_by_hand.bias_gelu,
        elementwise_by_hand.CONFIGS,
        torch_bias_gelu,
        vectors=1,
    ),
)
