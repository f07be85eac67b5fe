"""Configurations as kernels: transpiled, written to files, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tile2triton.diagnostics import TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.module_cache import write_module
from tile2triton.tune.configs import Config
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


@dataclass(frozen=True)
class Refused:
    """A configuration that makes no kernel."""

    index: int
    error: Exception


def candidates(
    configs: Iterable[Config], make: Make, first: int = 0
) -> Iterator[Candidate | Refused]:
    """Each configuration as a kernel, or why it makes none, as they come; `first` is its number.

    What Python raises in the user's own code, such as a failed assertion on tile sizes, refuses a
    configuration like our own errors do.
    """
    for index, config in enumerate(configs, first):
        try:
            kernel = make(config)
        except Exception as error:
            yield Refused(index, error)
        else:
            path = write_module(kernel.triton_source, kernel.name)
            yield Candidate(index, config, kernel, path, stored_tensors(kernel.program))


def said(error: Exception) -> str:
    """Why a configuration makes no kernel."""
    if isinstance(error, TileError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def same_reason(refusals: Iterable[Exception]) -> Exception | None:
    """What all of them say, if it is one thing; sizes in it may differ."""
    by_place = {_place(error): error for error in reversed(list(refusals))}
    return next(iter(by_place.values())) if len(by_place) == 1 else None


def _place(error: Exception) -> Hashable:
    """Equal for errors that are one mistake of the user's."""
    if isinstance(error, TileError):
        return tuple((it.code, it.filename, it.line, it.column) for it in error.diagnostics)
    return said(error)
