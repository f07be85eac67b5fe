"""The largest of each row: 8 of 256 numbers for 16384 tokens, 6 of 64 for 65536."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.contest import Call, Config, Contestant, Inputs, Output, Workload, as_tile_program
from benchmarks.handwritten import top_k as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels import token_programs
from tests.kernels.top_k import top_k

SIZES = {"top-k-256": (16384, 256, 8), "top-k-64": (65536, 64, 6)}


def inputs(tokens: int, columns: int) -> Inputs:
    """Rows without equal numbers, so that the columns are known."""
    order = torch.rand((tokens, columns), device="cuda").argsort(-1)
    return (order.float() / columns - 0.5,)


def both(output: Output) -> Tensor:
    """Values and columns."""
    return torch.stack([one.double() for one in output])


def reference(k: int, inputs: Inputs) -> Tensor:
    return both(torch.topk(inputs[0], k))


def tile_program(
    kernel: Callable[..., list[Tensor]], k: int, inputs: Inputs, config: Config
) -> Call:
    return partial(kernel, *inputs, k=k, **config)


def tilelang(k: int, inputs: Inputs, config: Config) -> Call:
    return tile_program(tilelang_version("top_k").top_k, k, inputs, config)


def called(kernel: Callable[..., Output], k: int, inputs: Inputs, config: Config) -> Call:
    return partial(kernel, *inputs, k, **config)


def torch_top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, columns = torch.topk(x, k)
    return values, columns


def workload(name: str, tokens: int, columns: int, k: int) -> Workload:
    hand = by_hand.configs(columns)
    ours = tuple(as_tile_program(config) for config in hand)
    return Workload(
        name=name,
        inputs=partial(inputs, tokens, columns),
        reference=partial(reference, k),
        part=both,
        contestants=(
            Contestant("tile2triton", "tile2triton", partial(tile_program, top_k, k), ours),
            Contestant(
                "tile2triton whole", "tile2triton", partial(called, token_programs.top_k, k)
            ),
            Contestant("triton turns", "triton", partial(called, by_hand.by_turns, k), hand),
            Contestant("triton bitonic", "triton", partial(called, by_hand.bitonic, k), hand),
            Contestant("torch", "torch", partial(called, torch_top_k, k)),
            Contestant("tilelang", "tilelang", partial(tilelang, k), ours),
        ),
        work=4.0 * tokens * columns + 8.0 * tokens * k,
        unit="GB/s",
        tolerance=1e-6,
        is_small=True,
    )


WORKLOADS = tuple(workload(name, *sizes) for name, sizes in SIZES.items())
