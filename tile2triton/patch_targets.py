"""Which chips each kind of patch is for, and why others are not: foreseen, and seen to."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

DIRECT_TO_LDS = ("gfx942", "gfx950")


class Chip(Protocol):
    """What is compiled for: "cuda" or "hip", and 90 or "gfx942"."""

    @property
    def backend(self) -> str: ...

    @property
    def arch(self) -> int | str: ...


def generation(chip: Chip) -> int:
    """8 for sm_80, 10 for sm_100; 0 for AMD's chips."""
    return chip.arch // 10 if isinstance(chip.arch, int) else 0


def refusal(kind: str, chip: Chip, arguments: Mapping[str, Any]) -> str:
    """Why a chip does not take a patch of that kind; "" where it can be tried."""
    return _RULES[kind](chip, arguments) if kind in _RULES else ""


def _on_nvidia(reason: str) -> "_Rule":
    return lambda chip, arguments: "" if chip.backend == "cuda" else reason


def _before_blackwell(reason: str) -> "_Rule":
    return lambda chip, arguments: reason if generation(chip) >= 10 else ""


def _on_hopper(reason: str) -> "_Rule":
    return lambda chip, arguments: "" if generation(chip) == 9 else reason


def _pipeline_schedule(chip: Chip, arguments: Mapping[str, Any]) -> str:
    if chip.backend != "cuda":
        return "Triton makes its own schedule of a loop on AMD: num_stages is all"
    return "Triton makes its own schedule of tcgen05 products" if generation(chip) >= 10 else ""


def _mfma_shape(chip: Chip, arguments: Mapping[str, Any]) -> str:
    return "NVIDIA's matrix instructions have sizes of their own" if chip.backend == "cuda" else ""


def _direct_to_lds(chip: Chip, arguments: Mapping[str, Any]) -> str:
    if chip.backend == "cuda":
        return "loads that run ahead are asynchronous copies by themselves"
    return "" if chip.arch in DIRECT_TO_LDS else f"it is for {' and '.join(DIRECT_TO_LDS)} only"


def _inferred_layouts(chip: Chip, arguments: Mapping[str, Any]) -> str:
    is_bound = generation(chip) >= 9
    return "matrix units and TMA from Hopper on read layouts of their own" if is_bound else ""


def _shared_layout(chip: Chip, arguments: Mapping[str, Any]) -> str:
    kind = arguments.get("kind")
    if chip.backend == "cuda" and kind == "padded":
        return "NVIDIA's asynchronous copies and ldmatrix take no padded rows"
    if generation(chip) >= 9 and kind in ("linear", "none"):
        return "matrix units from Hopper on read rows swizzled by 32, 64 or 128 bytes only"
    if chip.backend != "cuda" and kind in ("linear", "swizzled"):
        return "on AMD, Triton swizzles by its own pattern, or pads"
    return ""


_Rule = Callable[[Chip, Mapping[str, Any]], str]
_RULES: Mapping[str, _Rule] = {
    "load_latency": _on_nvidia("Triton gives all loads of a loop the same number of stages on AMD"),
    "async_outside_loop": _on_nvidia("outside of loops, Triton loads through registers on AMD"),
    "pipeline_schedule": _pipeline_schedule,
    "gemm_warps": _before_blackwell("one thread starts tcgen05 products for the whole program"),
    "mma_version": _on_hopper("only Hopper has matrix instructions of two kinds that Triton makes"),
    "turned_operand": _on_hopper("products read operands as they lie but on Hopper"),
    "mfma_shape": _mfma_shape,
    "direct_to_lds": _direct_to_lds,
    "inferred_layouts": _inferred_layouts,
    "shared_layout": _shared_layout,
}
