"""The space of schedules that a program can have, derived from the program and the target.

Which constants are sizes of tiles, whether there are loops with stages, and which choices change
anything, is asked of the program itself: a schedule that it refuses, or that makes the same Triton,
is not in the space. What annotations say already, and what arguments give, stays as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.facts import Program
from rewrites.threads import THREAD_OPERATORS
from rewrites.tree import function_of, walk
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.schedule import Schedule
from tile2triton.schedule.hints import WARP
from tile2triton.targets import target
from tile2triton.tune.subject import Subject, sized_program
from tile2triton.tune.tile_sizes import TileSize, programs_of, tile_sizes

WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4, 5)
PARTS = (2, 4, 8, 16)
# With more waves of programs, the last one, which may leave most of a chip idle, counts for little.
WAVES = 8

# What says otherwise than T.stream_k which program computes what.
_OTHER_WAYS = ("persistent", "split")

# The value of each knob by its name; None leaves the program's own.
Point = Mapping[str, Any]


@dataclass(frozen=True)
class Knob:
    """One thing to choose.

    `annotation` is the schedule's, `key` the extent that a tile or a split is of (empty where the
    program has one), and `constant` the program's constant that holds a tile's size. `usual` is
    what the program has by itself.
    """

    annotation: str
    values: tuple[Any, ...]
    usual: Any
    key: str = ""
    constant: str = ""

    @property
    def name(self) -> str:
        return f"{self.annotation}.{self.key}" if self.key else self.annotation


@dataclass(frozen=True)
class Space:
    """What may be chosen of a program, and the program as it is by itself."""

    subject: Subject
    program: Program
    knobs: tuple[Knob, ...]
    # What the program has where these are no knobs.
    warps: int
    stages: int

    def __len__(self) -> int:
        ways = [knob for knob in self.knobs if knob.annotation in ("stream_k", *_OTHER_WAYS)]
        rest = [len(knob.values) for knob in self.knobs if knob not in ways]
        points = itertools.product(*(knob.values for knob in ways))
        names = [knob.name for knob in ways]
        one_way = [point for point in points if _is_one_way(dict(zip(names, point, strict=True)))]
        return len(one_way) * math.prod(rest)

    @property
    def usual(self) -> Point:
        """The point that the program is at by itself."""
        return {knob.name: knob.usual for knob in self.knobs}

    def points(self) -> Iterator[Point]:
        """All of them, in an order that is the same every time; the usual one comes first."""
        usual = self.usual
        yield usual
        names = [knob.name for knob in self.knobs]
        for values in itertools.product(*(knob.values for knob in self.knobs)):
            point = dict(zip(names, values, strict=True))
            if point != usual and _is_one_way(point):
                yield point

    def schedule(self, point: Point) -> Schedule:
        """A point as a schedule. The usual one says nothing."""
        if point == self.usual:
            return Schedule()
        said: dict[str, Any] = {}
        for knob in self.knobs:
            value = point[knob.name]
            if value is None:
                continue
            if knob.annotation == "tile":
                said.setdefault("tile", {})[knob.key] = value
            elif knob.annotation == "split":
                said["split"] = (knob.key, value) if knob.key else value
            else:
                said[knob.annotation] = value
        return Schedule(**said)


def _is_one_way(point: Point) -> bool:
    """Whether not two choices say which program computes what."""
    others = [value for key, value in point.items() if key.partition(".")[0] in _OTHER_WAYS]
    return not (point.get("stream_k") and any(others))


def space_of(subject: Subject) -> Space:
    """The space of a program. Raises `TileError` where the program itself is wrong."""
    kernel = subject.made()
    program = sized_program(kernel)
    tiles = tuple(_tiles(subject, program))
    knobs = [*tiles, *_warps(subject, kernel, program), *_stages(subject, program)]
    knobs += _choices(subject, kernel, program)
    warps = max(_warps_of(subject, kernel), default=4)
    stages = max(stages_of(program), default=1)
    return Space(subject, program, tuple(knobs), warps, stages)


def _tiles(subject: Subject, program: Program) -> Iterator[Knob]:
    for size in tile_sizes(program):
        key = size.constant if subject.is_open(size.constant) else ""
        if isinstance(subject.kernel, OperandKernel):
            key = _extent_of(subject, program, size)
        is_said = key.lower() in {name.lower() for name in subject.said.tiles}
        if key and not is_said and len(size.values) > 1:
            yield Knob("tile", size.values, size.usual, key, size.constant)


def _extent_of(subject: Subject, program: Program, size: TileSize) -> str:
    """What T.tile calls the extent of a tile's size: the name under which only that one changes."""
    other = next((one for one in reversed(size.values) if one < size.usual), size.values[-1])
    letters: list[str] = [size.constant.rpartition("_")[2].lower(), *"mnktc"]
    extents: list[str] = [one for one in program.facts.constants if one != size.constant]
    for key in dict.fromkeys((*letters, *extents)):
        # Where a size is said, other defaults may hold than where none is.
        said = [_made(subject, Schedule(tile={key: one})) for one in (size.usual, other)]
        usual, made = (one and sized_program(one).facts.constants for one in said)
        if usual and made == {**usual, size.constant: other}:
            return key
    return ""


def _warps(subject: Subject, kernel: CompiledKernel, program: Program) -> Iterator[Knob]:
    """A block's warps, where no statement asks which thread it is in."""
    facts = program.facts
    asked = {getattr(node, "attr", "") for node in walk(function_of(program.tree))}
    if subject.said.threads is not None or facts.barriers or asked & {*THREAD_OPERATORS}:
        return
    usual = _warps_of(subject, kernel)
    if len(usual) == 1:
        width = target(subject.target).warp_size // WARP
        values = {one * width for one in WARPS if one * width <= 1024 // WARP // 2}
        yield Knob("warps", tuple(sorted(values | usual)), usual.pop())


def _warps_of(subject: Subject, kernel: CompiledKernel) -> set[int]:
    """The warps of its launches, which a schedule counts as 32 threads on every chip."""
    width = target(subject.target).warp_size // WARP
    return {launch.num_warps * width for launch in kernel.lowered_facts.launches}


def _stages(subject: Subject, program: Program) -> Iterator[Knob]:
    usual = set(stages_of(program))
    if subject.said.num_stages is None and len(usual) == 1:
        yield Knob("pipeline", tuple(sorted({*STAGES, *usual})), usual.pop())


def stages_of(program: Program) -> list[int]:
    """The stages of each loop that has some."""
    found = []
    for node in walk(function_of(program.tree)):
        if getattr(getattr(node, "func", None), "attr", "") != "Pipelined":
            continue
        given = {word.arg: word.value for word in getattr(node, "keywords", ())}
        value = getattr(given.get("num_stages"), "value", None)
        found.append(max(value, 1) if isinstance(value, int) else 1)
    return found


def _choices(subject: Subject, kernel: CompiledKernel, program: Program) -> Iterator[Knob]:
    """What is chosen beside sizes, as far as the program is another one with it."""
    said = subject.said
    if said.swizzle is None:
        yield from _acting(subject, kernel, "swizzle", (4, 8, 16))
    if said.programs is None:
        yield from _acting(subject, kernel, "persistent", (True,))
    waves = programs_of(program) / target(subject.target).multiprocessors
    if said.stream is None and said.programs is None and not said.splits and waves < WAVES:
        yield from _acting(subject, kernel, "stream_k", (True,))
    if said.subtiles is None and target(subject.target).has_tma:
        yield from _acting(subject, kernel, "subtile", (2,))
    if not said.swap_ab:
        yield from _acting(subject, kernel, "swap_ab", (True,))
    if not said.rotate:
        yield from _acting(subject, kernel, "rotate", (True,))
    if said.split_masks is None:
        yield from _acting(subject, kernel, "split_masks", (True,))
    if said.consumers is None and subject.target == "cuda:90":
        yield from _acting(subject, kernel, "warp_specialize", (2, 3))
    if not said.splits:
        yield from _splits(subject, kernel, program)


def _acting(
    subject: Subject, kernel: CompiledKernel, annotation: str, values: tuple[Any, ...]
) -> Iterator[Knob]:
    """The values of an annotation with which the Triton is another one."""
    acting = []
    for value in values:
        made = _made(subject, Schedule(**{annotation: value}))
        if made is not None and made.triton_source != kernel.triton_source:
            acting.append(value)
    if acting:
        yield Knob(annotation, (None, *acting), None)


def _splits(subject: Subject, kernel: CompiledKernel, program: Program) -> Iterator[Knob]:
    """Extents that loops sum over, where the programs of the grid leave multiprocessors idle."""
    if programs_of(program) >= 2 * target(subject.target).multiprocessors:
        return
    for key in ("k", "n", "t") if isinstance(subject.kernel, OperandKernel) else ("",):
        made = _made(subject, Schedule(split=(key, 2) if key else 2))
        if made is not None and made.triton_source != kernel.triton_source:
            yield Knob("split", (None, *PARTS), None, key)
            return


def _made(subject: Subject, schedule: Schedule) -> CompiledKernel | None:
    """The kernel under a schedule; None where the program refuses it.

    What Python raises in the user's own code, such as a failed assertion on sizes, refuses too.
    """
    try:
        return subject.made(schedule)
    except Exception:
        return None
