"""How long a schedule would take at best, and whether it can be at all, from the program alone.

A roofline over waves of programs: each of a multiprocessor's programs multiplies, computes and
moves tiles, of which only some happens at a time; the chip's memory bounds all. Such an estimate
orders schedules, so that those are tried first that may be fast. Neither bank conflicts nor
alignment, instructions for addresses and masks, nor what Triton makes of a loop are in it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.dtypes import bits
from tile2triton.schedule.hints import WARP
from tile2triton.targets import Target, target
from tile2triton.tune.counts import counted
from tile2triton.tune.space import Point, Space
from tile2triton.tune.work import Access, Product, Work

# Microseconds: until a load arrives, for a product to begin and be waited for, for a program to
# begin and end, and for a launch.
LATENCY, PRODUCT, START, LAUNCH = 0.7, 0.1, 1.0, 2.0
# What fits only if Triton keeps one tile fewer than warp groups need is tried last.
UNLIKELY = 2.0
# Registers of a thread for addresses and counters.
ADDRESSES = 24
# Units for exponentials and their kind are so many times fewer.
SPECIAL = 8
# Bytes of shared memory that a multiprocessor reads in a clock, on all of these chips.
SHARED_CLOCK = 128
# What mma.sync reaches of the peak where wgmma cannot be used.
WITHOUT_WGMMA = 0.6


@dataclass(frozen=True)
class Estimate:
    """What is expected of a schedule; `problem` says why it cannot be, or is empty.

    `beside` is how many programs share a multiprocessor.
    """

    milliseconds: float
    shared_memory: int
    registers: int
    beside: int
    problem: str = ""


@dataclass(frozen=True)
class Run:
    """How a program runs; `panel` is 0 where it is the program's own."""

    threads: int
    stages: int
    panel: int = 0
    is_persistent: bool = False
    parts: int = 1
    # Whether all programs have as much to do.
    is_even: bool = False


@dataclass(frozen=True)
class Ranked:
    """A point of a space with what is expected of it."""

    point: Point
    estimate: Estimate


def ranked(space: Space) -> list[Ranked]:
    """All points that can be, those first that are expected to be fastest.

    Of those that are alike, the nearest to the program as it is come first.
    """
    indices = [
        (knob.name, {value: at for at, value in enumerate(knob.values)}, knob.usual)
        for knob in space.knobs
    ]

    def key(one: Ranked) -> tuple[float, int]:
        """Three digits of the time, which has no more, and the steps from the program as it is."""
        steps = sum(abs(at[one.point[name]] - at[usual]) for name, at, usual in indices)
        return float(f"{one.estimate.milliseconds:.3g}"), steps

    # Sorting is stable, so that equals keep the order of the space.
    return sorted((one for one in judged(space) if not one.estimate.problem), key=key)


def judged(space: Space) -> Iterator[Ranked]:
    """Every point, in the space's order, with its estimate."""
    chip = target(space.subject.target)
    tiles = [knob for knob in space.knobs if knob.constant]

    @functools.cache
    def work(sizes: tuple[int, ...]) -> tuple[Work, ...]:
        constants = [knob.constant for knob in tiles]
        return counted(space.program, dict(zip(constants, sizes, strict=True)))

    @functools.cache
    def estimate(sizes: tuple[int, ...], run: Run) -> Estimate:
        return estimated(work(sizes), chip, run)

    for point in space.points():
        sizes = tuple(point[knob.name] for knob in tiles)
        yield Ranked(point, estimate(sizes, run_of(space, point)))


def run_of(space: Space, point: Point) -> Run:
    """What the model looks at of a point, beside the sizes of tiles."""
    splits = [point[knob.name] for knob in space.knobs if knob.annotation == "split"]
    return Run(
        threads=(point.get("warps") or space.warps) * WARP,
        stages=point.get("pipeline") or space.stages,
        panel=point.get("swizzle") or 0,
        is_persistent=bool(point.get("persistent")),
        parts=next((parts for parts in splits if parts), 1),
        is_even=bool(point.get("stream_k")),
    )


def estimated(launches: tuple[Work, ...], chip: Target, run: Run) -> Estimate:
    """What is expected of a program's launches, one after the other."""
    made = [_Launch(work, chip, run).estimate() for work in launches]
    return Estimate(
        sum(one.milliseconds for one in made),
        max(one.shared_memory for one in made),
        max(one.registers for one in made),
        min(one.beside for one in made),
        next((one.problem for one in made if one.problem), ""),
    )


class _Launch:
    """One launch under one schedule."""

    def __init__(self, work: Work, chip: Target, run: Run) -> None:
        self.work = work
        self.chip = chip
        self.threads = run.threads
        self.stages = run.stages
        self.panel = run.panel or work.panel
        self.is_persistent = run.is_persistent
        self.parts = run.parts
        self.is_even = run.is_even

    def estimate(self) -> Estimate:
        shared, registers = self.shared_memory(self._buffers()), self.registers()
        least = self.shared_memory(max(1, self.stages - 1))
        problem = self._problem(least)
        beside = self._beside(shared, registers)
        time = self._microseconds(beside) / 1000
        if shared >= self.chip.shared_memory:
            time *= UNLIKELY
        return Estimate(time, shared, registers, beside, problem)

    def shared_memory(self, buffers: int) -> int:
        """Bytes of a program with so many tiles of each stage."""
        work = self.work
        # What is stored takes the place of what was loaded.
        return max(work.kept + work.staged * buffers, work.stored if self.chip.has_tma else 0)

    def registers(self) -> int:
        """Words of a thread, as many as it would need; on Blackwell, sums are elsewhere."""
        return ADDRESSES + -(-self._words() // self.threads)

    def _words(self) -> int:
        has_tensor_memory = self.chip.tensor_memory and self.threads >= 4 * WARP
        return self.work.words - (self.work.sums if has_tensor_memory else 0)

    def _buffers(self) -> int:
        """Tiles of each stage: one fewer than stages, unless warp groups read them."""
        has_groups = self.chip.name in ("cuda:90", "cuda:100")
        return max(1, self.stages if has_groups and self.stages > 1 else self.stages - 1)

    def _problem(self, least: int) -> str:
        room = self.chip.shared_memory
        if least >= room:
            return f"needs {least // 1024} KiB of shared memory; there are {room // 1024}"
        has_room = min(self.chip.peaks.thread_registers, self.chip.peaks.registers // self.threads)
        if self.chip.tensor_memory and self.work.sums > self.chip.tensor_memory * 128:
            return f"sums of {self.work.sums} words do not fit into tensor memory"
        sums = ADDRESSES + -(-self.work.sums // self.threads)
        if not self.chip.tensor_memory and sums > has_room:
            return f"sums need {sums} registers of each thread; there are {has_room}"
        return ""

    def _beside(self, shared: int, registers: int) -> int:
        peaks = self.chip.peaks
        own = min(registers, peaks.thread_registers)
        counts = [peaks.threads // self.threads, peaks.registers // (own * self.threads)]
        if shared:
            counts.append(self.chip.shared_memory // shared)
        return max(1, min(counts))

    def _microseconds(self, beside: int) -> float:
        chip, work = self.chip, self.work
        programs = work.programs * self.parts
        beside = min(beside, -(-programs // chip.multiprocessors))
        busy, alone = self._program(beside)
        slots = chip.multiprocessors * beside
        waves, rest = divmod(programs, slots)
        if self.is_even:
            shares = programs / chip.multiprocessors
            alone, busy, waves, rest = alone * shares, busy * shares, 1, 0
        start = 0.0 if self.is_persistent else START
        time = START + waves * max(beside * busy, alone + start)
        if rest:
            time += max(-(-rest // chip.multiprocessors) * busy, alone + start)
        moved = sum(self._from_memory(access, slots) for access in work.accesses)
        bound = moved / chip.peaks.memory / 1e6
        # A second kernel combines what was shared out.
        combine = LAUNCH if self.parts > 1 or self.is_even else 0.0
        return max(time, bound) + LAUNCH + combine

    def _program(self, beside: int) -> tuple[float, float]:
        """Microseconds that a program keeps its multiprocessor busy, and that it takes alone."""
        chip, work = self.chip, self.work
        part = 1 / self.parts
        share = chip.multiprocessors
        products = sum(map(self._product, work.products)) * part
        vectors = (work.lanes + SPECIAL * work.specials) * 2 * part
        vectors *= share / chip.peaks.vector / 1e6 * self._spilling()
        moving = work.moved * part * share / chip.peaks.cache / 1e6
        # Another program multiplies while this one computes.
        overlap = min(products, vectors) / 2 if beside > 1 else 0.0
        computing = products + vectors - overlap
        turns = work.turns * part
        busy = max(computing, moving)
        if not turns:
            return busy, computing + moving + LATENCY
        if self.stages == 1:
            return busy, computing + moving + turns * (LATENCY + PRODUCT)
        # A load that is issued so many turns ahead arrives in time, or is waited for.
        turn = busy / turns + PRODUCT * bool(work.products)
        return busy, turns * max(turn, LATENCY / (self.stages - 1)) + LATENCY

    def _product(self, product: Product) -> float:
        chip = self.chip
        rows, columns, contracted = product.rows, product.columns, product.contracted
        rate = chip.peaks.matrix_units(product.dtype) / chip.multiprocessors * 1e6
        if chip.name == "cuda:90" and (rows < 64 or self.threads < 4 * WARP):
            rate *= WITHOUT_WGMMA
        multiplying = 2 * max(rows, 16) * max(columns, 16) * contracted / rate
        # Each 64 rows read the second factor once more, each 256 columns the first one.
        read = contracted * (math.ceil(rows / 64) * columns + math.ceil(columns / 256) * rows)
        reading = read * bits(product.dtype) / 8 / (SHARED_CLOCK * chip.peaks.clock * 1e3)
        return max(multiplying, reading) * product.times

    def _spilling(self) -> float:
        """How much longer everything takes where registers do not suffice."""
        peaks = self.chip.peaks
        room = min(peaks.thread_registers, peaks.registers // self.threads)
        return 1.0 + 2.0 * max(0.0, self.registers() / room - 1.0)

    def _from_memory(self, access: Access, slots: int) -> float:
        """Bytes that memory delivers or takes: the cache serves what programs of a wave share."""
        moved = access.moved * self.work.programs
        if access.is_store or access.tensor_bytes <= self.chip.peaks.cache_bytes / 2:
            return min(moved, access.tensor_bytes)
        distinct = math.prod(
            count for at, count in enumerate(self._covered(slots)) if at in access.dimensions
        )
        waves = max(1.0, self.work.programs / slots)
        return min(moved, max(min(moved, access.tensor_bytes), waves * distinct * access.moved))

    def _covered(self, slots: int) -> list[int]:
        """How many indices of each dimension of the grid are in one wave."""
        grid, left = self.work.grid, max(1, slots)
        covered = []
        if self.panel and len(grid) > 1:
            rows = min(grid[1], self.panel, left)
            columns = min(grid[0], -(-left // rows))
            covered = [columns, rows]
            left = max(1, left // (rows * columns))
        for extent in grid[len(covered) :]:
            covered.append(min(extent, left))
            left = max(1, -(-left // extent))
        return covered
