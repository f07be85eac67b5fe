"""What is said of a kernel in Gluon, as rows of tables."""

from collections import Counter
from collections.abc import Iterator

from tile2triton.explaining.specialized import Memory, Partition, Specialized

Rows = list[tuple[str, ...]]

# Of the tables below, in their order.
HEADS = (
    ("who", "function", "warps", "registers of a thread"),
    ("function", "instructions"),
    ("memory", "what it is", "elements", "how many", "bytes", "layout"),
    ("name", "layout"),
    ("what", "line of the Triton", "how elements go"),
)


def specialized_tables(one: Specialized, warps: int) -> Iterator[tuple[str, Rows]]:
    """Titles and rows; `warps` are those of the launch, which the first partition has."""
    yield "partitions of warps", [_partition(each, warps) for each in one.partitions]
    runs = Counter(each.function for each in one.partitions)
    yield (
        "machine code of each function",
        [
            (_times(name, runs[name]), ", ".join(f"{n} {what}" for what, n in counts.items()))
            for name, counts in one.functions.items()
            if counts
        ],
    )
    yield "shared memory as it is allocated", [_memory(each) for each in one.memories]
    yield "layouts as they are written", list(one.layouts.items())
    yield "changes of layouts", list(_conversions(one))


def _partition(one: Partition, warps: int) -> tuple[str, ...]:
    count = one.warps or warps
    registers = f"{one.registers} asked" if one.registers else "what others leave"
    return one.role, one.function, f"{count} warp{'s' * (count > 1)}", registers


def _times(name: str, runs: int) -> str:
    return f"{name}, for {runs} partitions" if runs > 1 else name


def _memory(one: Memory) -> tuple[str, ...]:
    where = {"ring": " from", "loaded once": " from", "on its way out": " to"}.get(one.use, "")
    what = f"{one.use}{where} {one.tensor}".rstrip()
    if one.use == "barriers":
        what = f"barriers of {one.arrivals} arrival{'s' * (one.arrivals > 1)}"
    each = f"{one.slots} for each of {one.owners} consumers" if one.owners > 1 else f"{one.slots}"
    shape = "" if one.use == "barriers" else f"{one.element}[{', '.join(map(str, one.shape))}]"
    return one.variable, what, shape, each, f"{one.bytes} bytes", one.layout


def _conversions(one: Specialized) -> Iterator[tuple[str, ...]]:
    """A sum first, then those that the compiler keeps."""
    stored = sum(each.way == "through shared memory" for each in one.conversions)
    if one.written or one.conversions:
        counts = f"{one.written} written, {len(one.conversions)} kept"
        yield counts, "", f"{stored} through shared memory"
    for each in one.conversions:
        yield each.variable or "-", f"line {each.line}", each.way
