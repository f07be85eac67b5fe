"""Targets as TileLang names them: "auto", "cuda", {"kind": "cuda", "arch": "sm_90a"}, `Target`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tile2triton import targets
from tile2triton.diagnostics import ArgumentError, Diagnostic

# What TileLang calls this machine's GPU, whichever it is.
AUTOMATIC = ("auto", "cuda", "hip", "rocm", "cutedsl", "nvrtc")
# The compute capability from which on Triton compiles.
OLDEST_CUDA = 75
GPU_KINDS = {"cuda": "cuda", "cutedsl": "cuda", "hip": "hip", "rocm": "hip"}


@dataclass(frozen=True)
class Kind:
    """What sort of device a target is."""

    name: str


@dataclass(frozen=True)
class _Described:
    kind: str
    arch: str | None


class Target:
    """A target as an object; `with target:` makes it what "auto" means."""

    _current: ClassVar[list[Target]] = []

    def __init__(self, target: Any = "cuda", host: Any = None) -> None:
        described = _described(target)
        self.kind = Kind(GPU_KINDS.get(described.kind, described.kind))
        self.arch = described.arch or _arch_of_this_machine(self.kind.name)
        self.attrs = {} if self.arch is None else {"arch": self.arch}
        self.host = host

    @classmethod
    def current(cls, allow_none: bool = True) -> Target | None:
        """The target of the innermost `with`, or None."""
        return cls._current[-1] if cls._current else None

    def __enter__(self) -> Self:
        self._current.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._current.pop()

    def __str__(self) -> str:
        return f"{self.kind.name} -arch={self.arch}" if self.arch else self.kind.name

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def target_name(target: Any) -> str | None:
    """The target by our name, or None for this machine's. Raises `ArgumentError` for no GPU."""
    if isinstance(target, str) and target in targets.BY_NAME:
        return target
    if target is None or target == "auto":
        current = Target.current()
        return None if current is None else target_name(current)
    if isinstance(target, str) and target.strip() in AUTOMATIC:
        return None
    described = _described(target)
    kind = GPU_KINDS.get(described.kind)
    if kind is None:
        raise _unknown(target, f"`{described.kind}` is no GPU that Triton compiles for")
    return _nearest(target, kind, described.arch)


def determine_target(target: Any = "auto", return_object: bool = False) -> Any:
    """The target that a choice means; "auto" is this machine's."""
    if target == "auto":
        target = Target.current() or kind_of_this_machine()
    made = target if isinstance(target, Target) else Target(target)
    return made if return_object else target


def target_is_cuda(target: Any) -> bool:
    """Whether it is a GPU of NVIDIA's."""
    return GPU_KINDS.get(_described(target).kind) == "cuda"


def target_is_hip(target: Any) -> bool:
    """Whether it is a GPU of AMD's."""
    return GPU_KINDS.get(_described(target).kind) == "hip"


def target_is_cdna(target: Any) -> bool:
    """Whether it is a data centre GPU of AMD's."""
    made = target if isinstance(target, Target) else Target(target)
    return target_is_hip(made) and (made.arch or "").startswith("gfx9")


def target_is_gfx950(target: Any) -> bool:
    """Whether it is AMD's MI350."""
    made = target if isinstance(target, Target) else Target(target)
    return target_is_hip(made) and (made.arch or "").startswith("gfx950")


def _described(target: Any) -> _Described:
    """Kind and architecture of any spelling."""
    if isinstance(target, Target):
        return _Described(target.kind.name, target.arch)
    if isinstance(target, Mapping):
        arch = target.get("arch") or target.get("mcpu")
        return _Described(str(target.get("kind")), None if arch is None else str(arch))
    if not isinstance(target, str):
        raise _unknown(target, "a target is a text, a dict or a Target")
    kind, *options = target.split() or [""]
    kind, _, arch = kind.partition(":")
    for option in options:
        key, _, value = option.lstrip("-").partition("=")
        if key in ("arch", "mcpu"):
            arch = value
    return _Described(kind, arch or None)


def _nearest(target: Any, kind: str, arch: str | None) -> str | None:
    """The row of the table that an architecture has the features of."""
    if arch is None:
        return None
    if kind == "hip":
        name = f"hip:{arch.split(':')[0]}"
        if name in targets.BY_NAME:
            return name
    else:
        version = re.fullmatch(r"(?:sm_?)?(\d+)[a-z]*", arch)
        rows = [row for row in targets.TARGETS if row.backend == "cuda"]
        if version and int(version[1]) >= OLDEST_CUDA:
            older = [row for row in rows if int(row.arch) <= int(version[1])]
            return (older or rows[:1])[-1].name
    raise _unknown(target, f"no GPU is known as `{arch}`")


def kind_of_this_machine() -> str:
    """Which maker's GPUs torch is built for."""
    torch = sys.modules.get("torch")
    return "hip" if torch is not None and getattr(torch.version, "hip", None) else "cuda"


def _arch_of_this_machine(kind: str) -> str | None:
    """The architecture as TileLang spells it, where torch sees such a GPU."""
    if kind not in ("cuda", "hip"):
        return None
    import torch

    # Torch is built for the GPUs of one maker, and says nothing of another's.
    if not torch.cuda.is_available() or kind != kind_of_this_machine():
        return "sm_90a" if kind == "cuda" else "gfx942"
    if kind == "hip":
        return str(torch.cuda.get_device_properties(0).gcnArchName).split(":")[0]
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def _unknown(target: Any, reason: str) -> ArgumentError:
    return ArgumentError(
        Diagnostic(
            "T2T503",
            f"`{target}` is no target: {reason}",
            hint=f'use "auto", or one of {", ".join(targets.BY_NAME)}',
        )
    )
