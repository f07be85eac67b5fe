"""How often accesses to shared memory wait for each other, without patches and with them."""

from collections.abc import Iterator

from tile2triton.explaining.accesses import simulated
from tile2triton.explaining.page.listings import line_id
from tile2triton.explaining.page.markup import Html, element
from tile2triton.explaining.page.tables import link, table
from tile2triton.layouts.predicted import Row

_HEAD = (
    *("buffer", "line of the TTGIR", "operation", "instruction", "how many"),
    *("wavefronts", "at best", "conflicts", "in a loop of"),
)


def conflict_tables(stock: str, patched: str, prefix: str) -> Iterator[Html]:
    """A table for each of two TTGIR texts; nothing for an empty one."""
    when = ", without patches" if patched else ""
    for key, text, said in (("stock", stock, when), ("patched", patched, ", with patches")):
        if text:
            yield _conflicts(f"Shared memory{said}", text, key, prefix)


def _conflicts(title: str, text: str, key: str, prefix: str) -> Html:
    made = simulated(text)
    if made.problem:
        return element("p", f"{title} is not simulated: {made.problem}.")
    return table(title, _HEAD, [_row(row, line_id(prefix, key, row.line)) for row in made.rows])


def _row(row: Row, place: str) -> tuple[str, ...]:
    trips = "" if row.depth == 0 else "unknown length" if row.trips is None else str(row.trips)
    figures = ("-", "-", "-", f"not simulated: {row.reason}")
    if not row.reason:
        extra = f"{row.conflicts} ({row.ways:.3g} times as long)" if row.conflicts else "none"
        figures = (str(row.issues), str(row.simulated), str(row.ideal), extra)
    where = link(str(row.line), place)
    return row.buffer, where, row.operation, row.instruction or "-", *figures, trips
