"""Accesses to shared memory and their bank conflicts, as `tile2triton explain` tells of them."""

from dataclasses import dataclass

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


def accesses_of(ttgir: str) -> tuple[Access, ...]:
    """Simulated from TTGIR, in its order; a loop of unknown length counts as one turn.

    Nothing where the memory of the target is not known.
    """
    try:
        rows = [row for row in predicted(ttgir) if row.instruction or row.reason]
    except LayoutError:
        return ()
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
