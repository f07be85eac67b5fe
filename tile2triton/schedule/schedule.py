"""`tile2triton.Schedule`: annotations that are composed, named, shared and chosen by the chip."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rewrites import schedule as plain
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import here
from tile2triton.schedule.files import placed_in, read_file, written
from tile2triton.schedule.hints import BY_NAME, Hint, WrongHintError
from tile2triton.targets import BY_NAME as TARGETS

# Where a function that is not yet a kernel keeps what is said of it.
_ATTRIBUTE = "__tile2triton_schedule__"
# Annotations that a file gives as `true`.
_SWITCHES = (
    "recompute",
    "persistent",
    "stream_k",
    "swap_ab",
    "rotate",
    "split_masks",
    "direct_to_lds",
)


class Schedule:
    """Annotations under one name: a decorator, an argument of a kernel, or a file.

    `Schedule(tile={"m": 128, "n": 256}, warps=8, pipeline=3)` holds what `T.tile`, `T.warps` and
    `T.pipeline` say; a dict gives several arguments, a tuple those of T.split. `first | second` is
    both, where the second wins. `schedule.on("hip:gfx942", warps=4)` says something else for one
    chip. Raises `TileError` at the user's line for what no annotation takes.
    """

    def __init__(self, name: str = "", **annotations: Any) -> None:
        if not isinstance(name, str):
            raise failure(
                "T2T870",
                f"the name of a schedule is text, not {name!r}",
                hint='write Schedule("gemm", warps=4), or leave it out',
            )
        self.name = name
        self._said: dict[str, Any] = {}
        self._entries: dict[str, Any] = {}
        self._targets: dict[str, Schedule] = {}
        self._nodes: dict[str, ast.AST] = {}
        for key, value in annotations.items():
            self._add(key, value)

    def on(self, target: str, **annotations: Any) -> Schedule:
        """The schedule with other annotations for one chip."""
        if target not in TARGETS:
            raise failure(
                "T2T873",
                f"`{target}` is no chip that schedules know",
                hint=f"use one of {', '.join(TARGETS)}",
            )
        made = self | Schedule()
        made._targets[target] = made._targets.get(target, Schedule()) | Schedule(**annotations)
        return made

    def __or__(self, other: Schedule) -> Schedule:
        as_schedule(other)
        made = Schedule(other.name or self.name)
        made._said = {**self._said, **other._said}
        made._entries = _merged(self._entries, other._entries)
        made._nodes = {**self._nodes, **other._nodes}
        for target in dict.fromkeys((*self._targets, *other._targets)):
            one, two = (side._targets.get(target, Schedule()) for side in (self, other))
            made._targets[target] = one | two
        return made

    def for_target(self, target: str) -> plain.Schedule:
        """What holds on one chip, as the rewrites take it."""
        own = self._targets.get(target)
        entries = self._entries if own is None else _merged(self._entries, own._entries)
        nodes = self._nodes if own is None else {**self._nodes, **own._nodes}
        return plain.Schedule(**entries, nodes=nodes)

    @property
    def tiles(self) -> dict[str, int]:
        """The sizes that T.tile gives, by name."""
        found: dict[str, int] = self._entries.get("tiles", {})
        return found

    def __call__(self, function: Any) -> Any:
        """Annotate a function, below @tile2triton.kernel."""
        return _annotated(function, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return self._entries == other._entries and self._targets == other._targets

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        parts = [repr(self.name)] if self.name else []
        parts += [f"{key}={value!r}" for key, value in self._said.items()]
        shown = f"Schedule({', '.join(parts)})"
        for target, own in self._targets.items():
            inner = ", ".join(f"{key}={value!r}" for key, value in own._said.items())
            shown += f".on({target!r}, {inner})"
        return shown

    def write(self, path: str | Path) -> Path:
        """Write a file that `read` reads: TOML, or JSON where the name ends in `.json`."""
        path = Path(path)
        path.write_text(written(self.as_dict(), path), encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: str | Path) -> Schedule:
        """The schedule that a file holds. Raises `TileError` for one that holds none."""
        path = Path(path)
        with placed_in(path):
            return cls.from_dict(read_file(path), str(path))

    def as_dict(self) -> dict[str, Any]:
        """The name, the annotations, and those for each chip."""
        made: dict[str, Any] = {"name": self.name} if self.name else {}
        made.update(self._said)
        made.update({target: own.as_dict() for target, own in self._targets.items()})
        return made

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], source: str = "this schedule") -> Schedule:
        """The schedule that `as_dict` gave."""
        own = {key: value for key, value in given.items() if key not in TARGETS}
        name = own.pop("name", "")
        for key in own:
            if key not in BY_NAME:
                raise failure(
                    "T2T874",
                    f"`{key}` in {source} is neither an annotation nor a chip",
                    hint=f"annotations: {', '.join(BY_NAME)}; chips: {', '.join(TARGETS)}",
                )
        made = cls(name, **own)
        for target in TARGETS:
            if target in given:
                made = made.on(target, **given[target])
        return made

    def _add(self, key: str, value: Any) -> None:
        hint = BY_NAME.get(key)
        if hint is None:
            raise failure(
                "T2T874",
                f"there is no annotation `{key}`",
                hint=f"use one of {', '.join(BY_NAME)}",
            )
        if isinstance(value, list):
            # As files hold them.
            value = tuple(value)
        arguments: tuple[Any, ...] = ()
        keywords: Mapping[str, Any] = {}
        if isinstance(value, Mapping):
            keywords = value
        elif key in _SWITCHES and value is True:
            pass
        elif key == "split":
            arguments = value if isinstance(value, tuple) else (value,)
        else:
            arguments = (value,)
        entries = read_hint(hint, arguments, keywords)
        _refuse_twice(hint, self, entries)
        self._put(hint, value, entries)

    def _put(self, hint: Hint, said: Any, entries: dict[str, Any]) -> None:
        self._said[hint.name] = said
        self._entries = _merged(self._entries, entries)
        node = ast.Pass()
        here().put(node)
        for key, value in entries.items():
            parts = [f"{key}.{name}" for name in value] if isinstance(value, dict) else [key]
            self._nodes.update(dict.fromkeys(parts, node))


def read_hint(
    hint: Hint, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The entries that an annotation makes; its own error where it is written wrong."""
    try:
        inspect.signature(hint.surface).bind(*arguments, **keywords)
        return hint.read(*arguments, **keywords)
    except TypeError as error:
        raise failure(
            "T2T870",
            f"T.{hint.name}: {error}",
            hint=f"its signature is T.{hint.name}{inspect.signature(hint.surface)}",
        ) from None
    except WrongHintError as wrong:
        raise failure("T2T870", f"T.{hint.name}: {wrong.message}", hint=wrong.hint) from None


def annotation(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The decorator that `T.<name>(…)` is."""
    hint = BY_NAME[name]
    entries = read_hint(hint, arguments, keywords)

    def annotate(function: Any) -> Any:
        before = scheduled(function)
        if before is not None:
            _refuse_twice(hint, before, entries)
        made = Schedule()
        made._put(hint, _said(arguments, keywords), entries)
        return _annotated(function, made)

    return annotate


def _said(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The arguments as a schedule's file holds them."""
    if keywords:
        return dict(keywords)
    return arguments[0] if len(arguments) == 1 else arguments or True


def as_schedule(value: Any) -> Schedule:
    """The schedule; an error for what is none."""
    if isinstance(value, Schedule):
        return value
    shown = repr(value)
    raise failure(
        "T2T872",
        f"`{shown if len(shown) <= 60 else type(value).__name__}` is no schedule",
        hint='write tile2triton.Schedule(tile={"m": 64}, warps=4), or Schedule.read(path) for a '
        "file's",
    )


def rescheduled(said: Schedule | None, schedule: Schedule) -> Schedule:
    """What was said before, and on top of it another schedule."""
    own = as_schedule(schedule)
    return own if said is None else said | own


def beside(said: Schedule | None, schedule: Schedule | None) -> Schedule | None:
    """What annotations say and what a kernel's `schedule` says, neither of which wins."""
    if said is None or schedule is None:
        return schedule if said is None else said
    for name, (one, two) in _clashes(said, schedule._entries):
        if one != two:
            raise failure(
                "T2T871",
                f"the schedule says {name} = {two}, where an annotation says {one}",
                found=(repr(said), repr(schedule)),
                hint="say it once; kernel.scheduled(schedule) is the same kernel run otherwise",
            )
    return said | schedule


def _clashes(before: Schedule, entries: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """What is said twice: its name, and both values; extents have names in any case."""
    for key, value in entries.items():
        known = before._entries.get(key)
        if isinstance(value, dict):
            own = {name.lower(): size for name, size in (known or {}).items()}
            for name, size in value.items():
                if name.lower() in own:
                    yield name, (own[name.lower()], size)
        elif known is not None:
            yield key, (known, value)


def _refuse_twice(hint: Hint, before: Schedule, entries: dict[str, Any]) -> None:
    """Annotations stand in any order, so that none may say what another one says otherwise."""
    for name, (one, two) in _clashes(before, entries):
        if one != two or hint.name in before._said:
            raise failure(
                "T2T871",
                f"T.{hint.name} says {name} = {two}, where another annotation says {one}",
                found=(repr(before),),
                hint="say it once",
            )


def scheduled(function: Any) -> Schedule | None:
    """What annotations say of a function that is not yet a kernel."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Schedule) else None


def _annotated(function: Any, schedule: Schedule) -> Any:
    if not inspect.isfunction(function):
        raise failure(
            "T2T872",
            f"a schedule stands above a function, not above `{function!r}`"[:120],
            hint="write it below @tile2triton.kernel, or kernel.scheduled(schedule)",
        )
    before = scheduled(function)
    setattr(function, _ATTRIBUTE, schedule if before is None else before | schedule)
    return function


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both, where the second wins; what is by the names of extents is joined."""
    made = dict(first)
    for key, value in second.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = {**made[key], **value} if both else value
    return made
