"""The function that a repeated launch runs, made as code so that it costs little."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .binaries import ARGUMENTS
from .surroundings import PREFIX, UNCHANGED


class Kind(enum.Enum):
    """What is passed for a parameter; each kind is told apart in a way of its own."""

    POINTER = enum.auto()
    DESCRIPTOR = enum.auto()
    INTEGER = enum.auto()
    # A float, a bool or None, of which Triton tells the type alone.
    OTHER = enum.auto()

    @classmethod
    def of(cls, value: Any) -> Kind:
        if isinstance(value, torch.Tensor):
            return cls.POINTER
        if type(value) is functools.partial:
            return cls.DESCRIPTOR
        return cls.INTEGER if type(value) is int else cls.OTHER

    def takes(self, value: Any) -> bool:
        """Whether the key of a launch says all of such a value that Triton tells apart."""
        if self is Kind.OTHER:
            return value is None or type(value) in (float, bool)
        return Kind.of(value) is self


def launch_text(
    kinds: Sequence[Kind], typed: Sequence[bool], constants: int, several_gpus: bool
) -> str:
    """`def launch(grid, arguments)`: look a binary up, and launch it.

    `typed` are arguments of a known type; there are so many `constants`. A `$` begins every name.
    """
    given = [f"$x{at}" for at in range(len(kinds))]
    maps = [f"$maps{at}" for at, kind in enumerate(kinds) if kind is Kind.DESCRIPTOR]
    named = [f"$constant{at}" for at in range(constants)]
    passed = _joined([*map(_passed, range(len(kinds)), kinds), *named])
    stream = f"$stream({'$device' if several_gpus else '0'})"
    lines = [
        f"def launch({_joined(['$grid', *given])}):",
        "    $key = $found = None",
        "    try:",
        *(f"        {line}" for at, kind in enumerate(kinds) for line in _read(at, kind)),
        f"        if {' and '.join((*UNCHANGED, *_on_gpu(kinds)))}:",
        *(["            $device = $current_device()"] if several_gpus else []),
        f"            $key = ({_joined(_key(kinds, typed, several_gpus))})",
        "            $found = $find($key)",
        "    except (AttributeError, RuntimeError, TypeError, ValueError):",
        "        pass",
        "    if $found is None:",
        f"        return $missed($key, $grid, {_joined(given)})",
        f"    {', '.join(('$run', '$head', *maps))} = $found",
        *(f"    {line}" for at, kind in enumerate(kinds) for line in _mapped(at, kind)),
        f"    $run(*$grid, *$ones[len($grid)], {stream}, *$head, {ARGUMENTS.format(passed)})",
    ]
    return "\n".join(lines).replace("$", PREFIX) + "\n"


def defined(text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function that the text defines; it sees what `scope` becomes later, too."""
    exec(compile(text, "<tile2triton launch>", "exec"), scope)
    return scope["launch"]  # type: ignore[no-any-return]


def _read(at: int, kind: Kind) -> list[str]:
    """Take out of an argument what is asked more than once."""
    if kind is Kind.POINTER:
        return [f"$p{at} = $x{at}.data_ptr()"]
    if kind is Kind.DESCRIPTOR:
        return [
            f"$base{at}, $shape{at}, $strides{at}, $block{at} = $x{at}.args",
            f"$p{at} = $base{at}.data_ptr()",
        ]
    return []


def _on_gpu(kinds: Sequence[Kind]) -> list[str]:
    """Triton itself refuses a tensor that is elsewhere, but not an address."""
    name = {Kind.POINTER: "x", Kind.DESCRIPTOR: "base"}
    return [f"${name[kind]}{at}.is_cuda" for at, kind in enumerate(kinds) if kind in name]


def _key(kinds: Sequence[Kind], typed: Sequence[bool], several_gpus: bool) -> list[str]:
    """What Triton compiles a kernel for, and what tells binaries of one kernel apart."""
    parts = ["$device"] if several_gpus else []
    pointers = []
    for at, kind in enumerate(kinds):
        match kind:
            case Kind.POINTER:
                if not typed[at]:
                    parts.append(f"$x{at}.dtype")
                pointers.append(f"$p{at}")
            case Kind.DESCRIPTOR:
                # Its address is always a multiple of 16.
                parts += [f"$base{at}.dtype", f"*$block{at}"]
            case Kind.INTEGER:
                small = f"$x{at} & 15 == 0 if 1 < $x{at} < 2147483648 else ($x{at},)"
                parts += [f"$x{at}.__class__", small]
            case Kind.OTHER:
                parts.append(f"$x{at}.__class__")
    if pointers:
        # In most launches all are multiples of 16, which one test says.
        each = _joined([f"{pointer} & 15 == 0" for pointer in pointers])
        parts.append(f"({each}) if ({' | '.join(pointers)}) & 15 else 0")
    return parts


def _mapped(at: int, kind: Kind) -> list[str]:
    """Find a descriptor as the GPU reads it, which depends on nothing but this key."""
    if kind is not Kind.DESCRIPTOR:
        return []
    return [
        f"$where{at} = ($p{at}, *$shape{at}, *$strides{at})",
        f"$map{at} = $maps{at}.get($where{at})",
        f"if $map{at} is None:",
        f"    $map{at} = $maps{at}.fill($where{at}, $x{at})",
    ]


def _passed(at: int, kind: Kind) -> str:
    names = {Kind.POINTER: f"$p{at}", Kind.DESCRIPTOR: f"*$map{at}"}
    return names.get(kind, f"$x{at}")


def _joined(items: Sequence[str]) -> str:
    """The inside of a tuple or of a call."""
    return "".join(f"{item}, " for item in items)
