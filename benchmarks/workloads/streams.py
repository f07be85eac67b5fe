"""What memory allows: add, copy and the sum of 8192 x 8192 numbers."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.contest import Call, Config, Contestant, Inputs, Workload, whole
from benchmarks.handwritten import elementwise as by_hand
from benchmarks.handwritten import reductions as sums_by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels import elementwise, reductions, row_programs
from tile2triton import Schedule

SIZE = 8192
DTYPE = torch.bfloat16
BLOCKS = tuple(
    {"block": config["BLOCK"], "threads": 32 * config["num_warps"]}
    for config in by_hand.FLAT_CONFIGS
)
TILES = tuple(
    {"block_M": rows, "block_N": columns, "threads": threads}
    for rows, columns, threads in (
        (1, 1024, 128),
        (1, 4096, 128),
        (2, 2048, 128),
        (4, 1024, 128),
        (4, 1024, 256),
        (8, 1024, 256),
    )
)
SUMS = tuple(
    {
        "programs": config["PROGRAMS"],
        "block": config["BLOCK"],
        "threads": 32 * config["num_warps"],
        "num_stages": config["STAGES"],
    }
    for config in sums_by_hand.FULL_CONFIGS
)


PARTS = tuple(
    {"programs": programs, "block": block, "warps": warps}
    for programs, block, warps in (
        (64, 16384, 16),
        (128, 16384, 16),
        (128, 8192, 8),
        (256, 8192, 8),
        (256, 8192, 16),
        (512, 8192, 8),
    )
)


def numbers(count: int, shape: tuple[int, ...]) -> Inputs:
    return tuple(torch.randn(shape, device="cuda", dtype=DTYPE) for _ in range(count))


def plain(kernel: Callable[..., Tensor], inputs: Inputs, config: Config) -> Call:
    return partial(kernel, *inputs, **config)


def added(module: str, inputs: Inputs, config: Config) -> Call:
    """The tile program's sizes are arguments of a factory."""
    factory = elementwise.add if module == "tile2triton" else tilelang_version("elementwise").add
    return partial(factory(dtype="bfloat16", **config), *inputs)


def in_tilelang(name: str, inputs: Inputs, config: Config) -> Call:
    kernel = getattr(tilelang_version("reductions"), name)
    return partial(kernel, *inputs, dtype="bfloat16", **config)


def workload(
    name: str,
    inputs: Callable[[], Inputs],
    in_torch: Callable[..., Tensor],
    contestants: tuple[Contestant, ...],
    passes: int,
    tolerance: float = 5e-3,
    part: Callable[..., Tensor] = whole,
) -> Workload:
    return Workload(
        name=name,
        inputs=inputs,
        reference=lambda inputs: in_torch(*(one.float() for one in inputs)),
        contestants=(*contestants, Contestant("torch", "torch", partial(plain, in_torch))),
        work=float(passes * SIZE * SIZE * DTYPE.itemsize),
        unit="GB/s",
        tolerance=tolerance,
        part=part,
        is_small=True,
    )


def shared_out(inputs: Inputs, config: Config) -> Call:
    """The program on whole operands, whose schedule shares the numbers out."""
    schedule = Schedule(
        split=("N", config["programs"]), tile={"N": config["block"]}, warps=config["warps"]
    )
    return partial(row_programs.full_sum.scheduled(schedule), *inputs)


def total(x: Tensor) -> Tensor:
    return x.sum(dtype=torch.float32)


WORKLOADS = (
    workload(
        "add",
        partial(numbers, 2, (SIZE * SIZE,)),
        torch.add,
        (
            Contestant("tile2triton", "tile2triton", partial(added, "tile2triton"), BLOCKS),
            Contestant("triton", "triton", partial(plain, by_hand.add), by_hand.FLAT_CONFIGS),
            Contestant("tilelang", "tilelang", partial(added, "tilelang"), BLOCKS),
        ),
        passes=3,
    ),
    workload(
        "copy",
        partial(numbers, 1, (SIZE, SIZE)),
        torch.clone,
        (
            Contestant(
                "tile2triton",
                "tile2triton",
                partial(plain, partial(reductions.copy, dtype="bfloat16")),
                TILES,
            ),
            Contestant("triton", "triton", partial(plain, by_hand.copy), by_hand.FLAT_CONFIGS),
            Contestant("tilelang", "tilelang", partial(in_tilelang, "copy"), TILES),
        ),
        passes=2,
    ),
    workload(
        "full-sum",
        # Around one, since a sum of numbers of either sign is nearly nothing.
        lambda: tuple(one.abs_() for one in numbers(1, (SIZE * SIZE,))),
        total,
        (
            Contestant(
                "tile2triton",
                "tile2triton",
                partial(plain, partial(reductions.full_sum, dtype="bfloat16")),
                SUMS,
            ),
            Contestant("tile2triton whole", "tile2triton", shared_out, PARTS),
            Contestant(
                "triton", "triton", partial(plain, sums_by_hand.full_sum), sums_by_hand.FULL_CONFIGS
            ),
            Contestant("tilelang", "tilelang", partial(in_tilelang, "full_sum"), SUMS),
        ),
        passes=1,
        tolerance=1e-4,
        part=torch.squeeze,
    ),
)
