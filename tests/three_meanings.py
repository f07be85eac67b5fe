"""Run a tile program written in canonical form by its three meanings and compare them."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tests.tile_program import parse_program
from tile2triton import pipeline, reference, runtime
from tile2triton.emit import emit

# Relative norm errors that rounding explains, by the type of the output.
TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 2e-6,
    torch.float16: 2e-3,
    torch.bfloat16: 1e-2,
}


@dataclass(frozen=True)
class Outcome:
    """What the reference and Triton computed, output by output."""

    reference: list[torch.Tensor]
    triton: list[torch.Tensor]
    text: str


def run_both(
    text: str,
    arrays: Sequence[torch.Tensor | int | float],
    device: str,
    outputs: Sequence[str] = ("C",),
    target: str = "cuda:90",
    dims: Mapping[str, tuple[str, int]] | None = None,
) -> Outcome:
    """The outputs (or, without outputs, the tensor arguments) of both meanings."""
    program = parse_program(text, outputs=outputs, dims=dims)
    emitted = emit(pipeline.lower(program, target), program.facts)
    launcher = runtime.load(emitted, program.facts.name)
    host = [a.clone() if isinstance(a, torch.Tensor) else a for a in arrays]
    there = [a.to(device).clone() if isinstance(a, torch.Tensor) else a for a in arrays]
    made = launcher(*there)
    expected = reference.run(parse_program(text, outputs=outputs, dims=dims), host)
    if not outputs:
        changed = [a for a in there if isinstance(a, torch.Tensor)]
        wanted: list[Any] = [a for a in host if isinstance(a, torch.Tensor)]
    else:
        changed = list(made) if isinstance(made, list) else [made]
        wanted = list(expected)
    return Outcome([as_torch(a) for a in wanted], [a.cpu() for a in changed], emitted)


def as_torch(array: Any) -> torch.Tensor:
    if isinstance(array, torch.Tensor):
        return array
    array = np.asarray(array)
    if array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return torch.from_numpy(array.astype(np.float32)).to(getattr(torch, array.dtype.name))
    return torch.from_numpy(np.ascontiguousarray(array))


def agree(
    text: str,
    arrays: Sequence[torch.Tensor | int | float],
    device: str,
    outputs: Sequence[str] = ("C",),
    target: str = "cuda:90",
    dims: Mapping[str, tuple[str, int]] | None = None,
    tolerance: float | None = None,
) -> Outcome:
    """Assert that Triton's result is the reference meaning's, NaN where it is NaN."""
    return compare(
        run_both(textwrap.dedent(text), arrays, device, outputs, target, dims), tolerance
    )


def compare(outcome: Outcome, tolerance: float | None = None) -> Outcome:
    """Assert that the two results are the same."""
    for wanted, got in zip(outcome.reference, outcome.triton, strict=True):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        a, b = wanted.to(torch.float64), got.to(torch.float64)
        assert torch.equal(a.isnan(), b.isnan()), f"NaN differs\n{outcome.text}"
        exact = tolerance is None and wanted.dtype not in TOLERANCE
        limit = 0.0 if exact else (tolerance or TOLERANCE[wanted.dtype])
        a, b = a.nan_to_num(), b.nan_to_num()
        error = float((a - b).norm() / a.norm().clamp_min(1e-30))
        assert error <= limit, f"relative error {error:.2e} > {limit}\n{outcome.text}\n{a}\n{b}"
    return outcome
