"""Accesses to shared memory and their bank conflicts, as `tile2triton explain` tells of them."""

from dataclasses import dataclass
from functools import lru_cache

from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.predicted import Row, predicted


@dataclass(frozen=True)
class Access:
    """All accesses of one kind to a buffer, as often as one program makes them.

    `wavefronts` are trips to the banks, `ideal` those without conflicts; `reason` says why they are
    not simulated.
    """

    buffer: str
    operation: str
    instruction: str
    issues: int
    wavefronts: int
    ideal: int
    reason: str = ""

    @property
    def said(self) -> str:
        """Its conflicts, in words."""
        if self.reason:
            return f"not simulated: {self.reason}"
        trips = f"{self.wavefronts} wavefronts"
        if self.wavefronts == self.ideal:
            return f"{trips}, without conflicts"
        return f"{trips}, {self.wavefronts / self.ideal:.3g} times the best"


@dataclass(frozen=True)
class Simulation:
    """The accesses in a text of TTGIR, or the `problem` for which there are none."""

    rows: tuple[Row, ...] = ()
    problem: str = ""


@lru_cache(8)
def simulated(ttgir: str) -> Simulation:
    """What is simulated of TTGIR; kept for as long as a kernel's page and report are written."""
    try:
        return Simulation(tuple(predicted(ttgir)))
    except LayoutError as error:
        return Simulation(problem=error.diagnostics[0].message)


def accesses_of(ttgir: str) -> tuple[Access, ...]:
    """Simulated from TTGIR, in its order; a loop of unknown length counts as one turn.

    Nothing where the memory of the target is not known.
    """
    rows = [row for row in simulated(ttgir).rows if row.instruction or row.reason]
    keys = dict.fromkeys(map(_key, rows))
    return tuple(_summed([row for row in rows if _key(row) == key]) for key in keys)


def _key(row: Row) -> tuple[str, str, str, str]:
    return row.buffer, row.operation, row.instruction, row.reason


def _summed(rows: list[Row]) -> Access:
    times = [row.trips if row.depth and row.trips is not None else 1 for row in rows]
    figures = list(zip(rows, times, strict=True))
    return Access(
        buffer=rows[0].buffer,
        operation=rows[0].operation.partition(".")[2],
        instruction=rows[0].instruction,
        issues=sum(row.issues * count for row, count in figures),
        wavefronts=sum(row.simulated * count for row, count in figures),
        ideal=sum(row.ideal * count for row, count in figures),
        reason=rows[0].reason,
    )
