"""The function that a repeated launch runs, made as code so that it costs little."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .binaries import ARGUMENTS
from .surroundings import PREFIX, UNCHANGED
from .tree import Argument


class Kind(enum.Enum):
    """What is passed for a parameter; each kind is told apart in a way of its own."""

    POINTER = enum.auto()
    # A function that makes a descriptor, or the tensor of one that is known otherwise.
    DESCRIPTOR = enum.auto()
    FIXED_DESCRIPTOR = enum.auto()
    INTEGER = enum.auto()
    # A float, a bool or None, of which Triton tells the type alone.
    OTHER = enum.auto()

    @classmethod
    def of(cls, value: Any, argument: Argument) -> Kind:
        if isinstance(value, torch.Tensor):
            return cls.FIXED_DESCRIPTOR if argument.descriptor else cls.POINTER
        if type(value) is functools.partial:
            return cls.DESCRIPTOR
        return cls.INTEGER if type(value) is int else cls.OTHER

    def takes(self, value: Any, argument: Argument) -> bool:
        """Whether the key of a launch says all of such a value that Triton tells apart."""
        if self is Kind.OTHER:
            return value is None or type(value) in (float, bool)
        return Kind.of(value, argument) is self

    @property
    def is_descriptor(self) -> bool:
        return self in (Kind.DESCRIPTOR, Kind.FIXED_DESCRIPTOR)


def launch_text(
    kinds: Sequence[Kind], known: Sequence[Argument], constants: int, several_gpus: bool
) -> str:
    """`def launch(grid, arguments)`: look a binary up, and launch it.

    There are so many `constants` behind the arguments. A `$` begins every name.
    """
    given = [f"$x{at}" for at in range(len(kinds))]
    maps = [f"$maps{at}" for at, kind in enumerate(kinds) if kind.is_descriptor]
    named = [f"$constant{at}" for at in range(constants)]
    passed = _joined([*map(_passed, range(len(kinds)), kinds), *named])
    stream = f"$stream({'$device' if several_gpus else '0'})"
    lines = [
        f"def launch({_joined(['$grid', *given])}):",
        "    $key = $found = None",
        "    try:",
        *(f"        {line}" for at, kind in enumerate(kinds) for line in _read(at, kind)),
        f"        if {' and '.join((*UNCHANGED, *_on_gpu(kinds)))}:",
        *([f"            $device = {_device(kinds)}"] if several_gpus else []),
        f"            $key = ({_joined(_key(kinds, known, several_gpus))})",
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
    if kind in (Kind.POINTER, Kind.FIXED_DESCRIPTOR):
        return [f"$p{at} = $x{at}.data_ptr()"]
    if kind is Kind.DESCRIPTOR:
        return [
            f"$base{at}, $shape{at}, $strides{at}, $block{at} = $x{at}.args",
            f"$p{at} = $base{at}.data_ptr()",
        ]
    return []


def _tensors(kinds: Sequence[Kind]) -> list[str]:
    name = {Kind.POINTER: "$x", Kind.FIXED_DESCRIPTOR: "$x", Kind.DESCRIPTOR: "$base"}
    return [f"{name[kind]}{at}" for at, kind in enumerate(kinds) if kind in name]


def _on_gpu(kinds: Sequence[Kind]) -> list[str]:
    """Triton itself refuses a tensor that is elsewhere, but not an address."""
    return [f"{tensor}.is_cuda" for tensor in _tensors(kinds)]


def _device(kinds: Sequence[Kind]) -> str:
    """The launcher has made the GPU of its first tensor the current one, and compared the others.

    Asking torch for the current one takes five times as long.
    """
    tensors = _tensors(kinds)
    return f"{tensors[0]}.get_device()" if tensors else "$current_device()"


def _key(kinds: Sequence[Kind], known: Sequence[Argument], several_gpus: bool) -> list[str]:
    """What Triton compiles a kernel for, and what tells binaries of one kernel apart."""
    parts = ["$device"] if several_gpus else []
    pointers = []
    for at, kind in enumerate(kinds):
        match kind:
            case Kind.POINTER | Kind.FIXED_DESCRIPTOR:
                if not known[at].is_typed:
                    parts.append(f"$x{at}.dtype")
                if kind is Kind.POINTER:
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
    if not kind.is_descriptor:
        return []
    where = f"($p{at}, *$shape{at}, *$strides{at})" if kind is Kind.DESCRIPTOR else f"$p{at}"
    return [
        f"$where{at} = {where}",
        f"$map{at} = $maps{at}.get($where{at})",
        f"if $map{at} is None:",
        f"    $map{at} = $maps{at}.fill($where{at}, $x{at})",
    ]


def _passed(at: int, kind: Kind) -> str:
    if kind.is_descriptor:
        return f"*$map{at}"
    return f"$p{at}" if kind is Kind.POINTER else f"$x{at}"


def _joined(items: Sequence[str]) -> str:
    """The inside of a tuple or of a call."""
    return "".join(f"{item}, " for item in items)
