"""What a patch is: what an emitted module asks for, and what a file in `patches/` answers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..patch_targets import generation

# Triton's bindings are not typed.
Module = Any


class RefusedError(Exception):
    """A patch that cannot be applied; the message says why, for whoever wrote the hint."""


@dataclass(frozen=True)
class Request:
    """One patch that an emitted module asks for.

    `construct` is the hint as the user wrote it, empty for a patch that nobody asked for.
    """

    kind: str
    anchor: str
    arguments: Mapping[str, Any]
    construct: str = ""

    @property
    def identity(self) -> tuple[Any, ...]:
        """What decides about the machine code; `construct` does not."""
        return self.kind, self.anchor, sorted(self.arguments.items())

    @property
    def names(self) -> Iterator[str]:
        """The variables, and single loads and products of such, that it may speak of."""
        yield self.anchor
        for value in self.arguments.values():
            if isinstance(value, (tuple, list)):
                yield from (part for part in value if isinstance(part, str))

    def __str__(self) -> str:
        return self.construct or f"{self.kind} of `{self.anchor}`"


@dataclass(frozen=True)
class Chip:
    """What is compiled for: "cuda" or "hip", and 90 or "gfx942"; warps of a program; Triton."""

    backend: str
    arch: int | str
    num_warps: int
    num_stages: int
    triton: tuple[int, ...]

    @property
    def is_nvidia(self) -> bool:
        return self.backend == "cuda"

    @property
    def generation(self) -> int:
        return generation(self)

    def __str__(self) -> str:
        return f"sm_{self.arch}" if self.is_nvidia else str(self.arch)


@dataclass(frozen=True)
class Site:
    """Where a patch stands at its turn: the chip, and how often each variable is an operation.

    `operations` counts (kind, name): the loads and dots of each variable after `make_ttir`.
    `laid_out` has (name, kind of layout) of tiles that a patch has laid out as a hint asks for.
    """

    chip: Chip
    operations: Counter[tuple[str, str]]
    laid_out: set[tuple[str, str]] = field(default_factory=set)

    def count(self, kind: str, name: str) -> int:
        """How many operations "load" or "dot" the variable `name` is; refuses where it is none."""
        found = self.operations[kind, name]
        if not found:
            raise RefusedError(f"the kernel has no {kind} named `{name}` on {self.chip}")
        return found


@dataclass(frozen=True)
class Edit:
    """A step of a patch.

    `place` is "start:STAGE", "end:STAGE", "before:PASS" or "after:PASS"; `run` edits the module
    through Triton's bindings and returns None, or returns the text of another module. It raises
    `RefusedError` where the number of its matches is not what it must be.
    """

    place: str
    run: Callable[[Module, Site], str | None]


@dataclass(frozen=True)
class Step:
    """A pass that the stage adds: its short name, and how it is added."""

    name: str
    add: Callable[..., None]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclass(frozen=True)
class PassEdit:
    """A step of a patch that changes the passes of `make_ttgir`.

    `run` gets those of one pass manager after the other, and returns what is to run.
    """

    run: Callable[[list[Step], Site], list[Step]]


@dataclass(frozen=True)
class Kind:
    """A row of `PATCHES`: which edits a request means on a chip.

    `edits` is asked for the chips that `patch_targets` allows, and raises `RefusedError` where
    Triton has no such thing. `arguments` are the names of those that it takes.
    """

    name: str
    arguments: tuple[str, ...]
    edits: Callable[[Request, Chip], tuple[Edit | PassEdit, ...]]


def expect(found: int, wanted: int, what: str) -> None:
    """Refuse an edit whose matches are fewer or more than there are operations."""
    if found != wanted:
        raise RefusedError(f"found {found} of {wanted} {what}")
