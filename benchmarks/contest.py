"""What is measured: a workload, and the contestants that compute it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from tile2triton import Schedule
from tile2triton.schedule.hints import BY_NAME

Inputs = tuple[Tensor, ...]
Config = dict[str, int]
Output = Tensor | tuple[Tensor, ...] | list[Tensor]
# The call to measure, which returns the output.
Call = Callable[[], Output]
# Makes the call for the inputs and one configuration.
Build = Callable[[Inputs, Config], Call]


def whole(output: Output) -> Tensor:
    assert isinstance(output, Tensor)
    return output


@dataclass(frozen=True)
class Contestant:
    """One way to compute a workload. `kind` is "tile2triton", "triton", "torch" or "tilelang"."""

    name: str
    kind: str
    build: Build
    configs: tuple[Config, ...] = ({},)


@dataclass(frozen=True)
class Workload:
    """Inputs on the GPU, the reference, and who competes.

    `work` is the number of operations or bytes of one call, `unit` what it is shown in. The
    reference may cover a part of the output only: `part` takes the same part of a contestant's.
    `tolerance` bounds the relative error in the Frobenius norm. `ceiling` is what bounds the rate:
    a type of factors, or memory (`roofline.py`); sums in any order are not `is_repeatable`. What
    `is_small` may take longer to launch than to run: it is measured in a CUDA graph, too.
    """

    name: str
    inputs: Callable[[], Inputs]
    reference: Callable[[Inputs], Tensor]
    contestants: tuple[Contestant, ...]
    work: float
    unit: str  # "TFLOP/s" or "GB/s"
    tolerance: float
    part: Callable[..., Tensor] = whole
    ceiling: str = ""
    is_repeatable: bool = True
    is_small: bool = False

    @property
    def bound(self) -> str:
        return self.ceiling or ("16-bit" if self.unit == "TFLOP/s" else "memory")

    def rate(self, milliseconds: float) -> float:
        return self.work / (milliseconds * 1e-3) / (1e12 if self.unit == "TFLOP/s" else 1e9)


def relative_error(output: Tensor, expected: Tensor) -> float:
    """The norm of the difference over the norm of what was expected."""
    difference = output.double() - expected.double()
    return float(difference.norm() / expected.double().norm())


def as_tile_program(config: Config) -> Config:
    """A hand-written kernel's configuration in the words of the tile programs."""
    words = {"BLOCK_M": "block_M", "BLOCK_N": "block_N", "BLOCK_K": "block_K", "ROWS": "block_M"}
    words |= {"CHUNK": "chunk", "BLOCK_V": "block_V", "SPLIT_K": "split_k", "SPLITS": "splits"}
    words["BLOCK_H"] = "block_H"
    result = {
        words.get(name, name): value
        for name, value in config.items()
        if name not in ("GROUP_M", "SUBTILE")
    }
    result["threads"] = 32 * result.pop("num_warps")
    return result


def configured(kernel: Any, config: Config) -> Callable[..., Tensor]:
    """A tile program with a configuration: annotations of a schedule, and its own parameters."""
    schedule = {key: value for key, value in config.items() if key in BY_NAME}
    rest = {key: value for key, value in config.items() if key not in schedule}
    if schedule:
        kernel = kernel.scheduled(Schedule(**schedule))
    return partial(kernel, **rest)
