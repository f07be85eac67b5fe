"""`tile2triton bench`: a kernel beside another function that computes the same, on this machine."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tile2triton.commands.kernels import (
    UsageError,
    UserError,
    compiled,
    import_file,
    in_words,
    kernels_in,
    settings_of,
    split_place,
    suggestion,
)
from tile2triton.diagnostics import TileError
from tile2triton.repeats import moving, results_of

ROUNDS = 3
REPEATS = 20
# The most by which results may differ, relative to their norm, by their type.
TOLERANCES = {"float64": 1e-10, "float32": 2e-3, "float16": 5e-3, "bfloat16": 2e-2}
NARROW = 6e-2


@dataclass
class Contestant:
    """A function of some inputs, and what was found; `moved` counts runs with other bits."""

    name: str
    function: Callable[..., Any]
    inputs: Sequence[Any]
    moved: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def results(self) -> list[Any]:
        """What it returns of fresh inputs, and then these as it leaves them."""
        own = [one.clone() for one in self.inputs]
        returned = self.function(*own)
        if returned is None:
            return own
        return [*results_of(returned), *own]

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


def bench(place: str, against: str, sets: Sequence[str], out: str | None) -> int:
    """1 if the results differ from each other, or from run to run."""
    if out is not None and not Path(out).resolve().parent.is_dir():
        raise UsageError(f"there is no folder {Path(out).parent} for --json")
    found = kernels_in(place)
    if len(found) != 1:
        raise UsageError(
            f"{place} has {', '.join(found)}: name one, as in {place}:{next(iter(found))}"
        )
    ((name, source),) = found.items()
    kernel = compiled(name, source, settings_of(sets), None)
    other_name, other = _function(against, name)

    import torch

    from tile2triton.supply import parameters, supply

    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = supply(parameters(kernel.program.facts), device=device)
    ours = Contestant(name, kernel, inputs)
    theirs = Contestant(Path(against).name, other, inputs)
    error, tolerance = _compared(ours, theirs, other_name, against)
    contestants = (ours, theirs)
    for one in contestants:
        one.moved = moving(one.results, REPEATS)
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
        for one in contestants:
            one.milliseconds.append(_time(one))
    print(_table(contestants, error, tolerance, device))
    if out is not None:
        Path(out).write_text(json.dumps(_report(contestants, error, device), indent=1) + "\n")
    return int(error > tolerance or any(one.moved for one in contestants))


def _function(against: str, name: str) -> tuple[str, Callable[..., Any]]:
    """The function of `FILE:FUNCTION`, or of a file the one that is called like the kernel."""
    path, wanted = split_place(against)
    module = import_file(path)
    named = {key: value for key, value in vars(module).items() if _is_own(value, module)}
    chosen = wanted or name
    if chosen not in named:
        raise UsageError(
            f"{path} has no function `{chosen}`{suggestion(chosen, named)}: write FILE.py:FUNCTION"
        )
    return chosen, named[chosen]


def _is_own(value: Any, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _compared(
    ours: Contestant, theirs: Contestant, function: str, against: str
) -> tuple[float, float]:
    """How far the results are apart where that is most for their types, and how far they may be.

    Distances are in the Frobenius norm, relative to ours.
    """
    found = ours.results()
    try:
        other = theirs.results()
    except Exception as error:
        if isinstance(error, TileError):
            raise
        raise UserError(f"{against}: {function} failed: {in_words(error)}") from error
    described = [[_described(one) for one in outputs] for outputs in (found, other)]
    if described[0] != described[1]:
        pairs = itertools.zip_longest(*described, fillvalue="nothing")
        first = next((a, b) for a, b in pairs if a != b)
        raise UserError(
            f"{against}: {function} gives {first[1]} where {ours.name} gives {first[0]}"
        )
    apart = [(_difference(a, b), _tolerance(a)) for a, b in zip(found, other, strict=True)]
    return max(apart, key=lambda one: (one[0] > one[1], one[0]), default=(0.0, 0.0))


def _described(output: Any) -> str:
    """The type and shape of a tensor; of anything else, what it is."""
    import torch

    if not isinstance(output, torch.Tensor) or output.layout != torch.strided:
        return f"a {type(output).__name__} that is no plain tensor"
    return f"{str(output.dtype).removeprefix('torch.')}{list(output.shape)}"


def _difference(found: Any, other: Any) -> float:
    import torch

    a, b = found.double(), other.double().to(found.device)
    both = torch.isfinite(a) & torch.isfinite(b)
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    if not bool((both | same).all()):
        return float("inf")
    scale = float(a[both].norm()) or 1.0
    apart = float((a[both] - b[both]).norm()) / scale
    # Long integers may differ by what float64 does not hold.
    is_same = found.is_floating_point() or torch.equal(found, other.to(found.device))
    return apart if is_same else max(apart, sys.float_info.epsilon)


def _time(one: Contestant) -> float:
    from tile2triton.measure import do_bench

    own = [tensor.clone() for tensor in one.inputs]
    time = do_bench(lambda: one.function(*own), return_mode="median")
    assert isinstance(time, float), "one number is asked for"
    return time


def _tolerance(output: Any) -> float:
    kind = str(output.dtype).removeprefix("torch.")
    return TOLERANCES.get(kind, NARROW) if "float" in kind else 0.0


def _table(contestants: Sequence[Contestant], error: float, tolerance: float, device: str) -> str:
    theirs = contestants[1]
    width = max(len(one.name) for one in contestants)
    lines = []
    for one in contestants:
        ratio = theirs.median / one.median
        said = f"{one.moved} of {REPEATS} runs differ" if one.moved else "the same bits each time"
        lines.append(f"{one.name:{width}}  {one.median:10.4f} ms  speed {ratio:6.3f}  {said}")
    verdict = "agree" if error <= tolerance else "DIFFER"
    lines.append(f"results {verdict}: {error:.1e} of their norm apart, {tolerance:.0e} may be")
    if device == "cpu":
        lines.append("no GPU is here: the kernel ran in the interpreter, whose times say nothing")
    return "\n".join(lines)


def _report(contestants: Sequence[Contestant], error: float, device: str) -> dict[str, Any]:
    rows = [
        {"name": one.name, "milliseconds": one.milliseconds, "moved": one.moved}
        for one in contestants
    ]
    return {"device": device, "difference": error, "contestants": rows}
