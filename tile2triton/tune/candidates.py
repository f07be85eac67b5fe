"""Configurations as kernels: transpiled, written to files, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tile2triton.diagnostics import TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.module_cache import write_module
from tile2triton.tune.configs import Config
from tile2triton.tune.report import Row
from tile2triton.tune.stored_tensors import Stored, stored_tensors

# Makes the kernel of a configuration.
Make = Callable[[Config], CompiledKernel]


@dataclass(frozen=True)
class Candidate:
    """A configuration that makes a kernel."""

    index: int
    config: Config
    kernel: CompiledKernel
    path: Path
    stored: Stored


def candidates(
    configs: Iterable[Config], make: Make, progress: Callable[[], object]
) -> tuple[list[Candidate], dict[int, Row]]:
    """The configurations that make kernels, and rows by number for those that do not.

    What Python raises in the user's own code, such as a failed assertion on tile sizes, refuses a
    configuration like our own errors do.
    """
    made: list[Candidate] = []
    rows: dict[int, Row] = {}
    for index, config in enumerate(configs):
        try:
            kernel = make(config)
        except Exception as error:
            rows[index] = Row(config, "refused", reason=said(error))
        else:
            path = write_module(kernel.triton_source, kernel.name)
            made.append(Candidate(index, config, kernel, path, stored_tensors(kernel.program)))
        progress()
    return made, rows


def said(error: Exception) -> str:
    """Why a configuration makes no kernel."""
    if isinstance(error, TileError):
        return str(error)
    return f"{type(error).__name__}: {error}"
