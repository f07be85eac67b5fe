"""Which threads know of what others did: by their own order, and by the barriers they waited for.

Threads that are the same in all conditions are one bit of a set of `who`. Every access to shared
memory is a record of who knows of it: those that did it, and those that waited for a barrier at
which somebody arrived who knew of it. An access that meets an earlier one of which it does not know
is a race. A later access to the same place takes the place of an earlier one, of which it knows, so
that a loop's records repeat.
"""

from dataclasses import dataclass, replace

from rewrites.role_places import Touch

Barrier = tuple[str, int]


@dataclass(frozen=True)
class Record:
    """An access, or the end of a barrier's phase, and who knows of it."""

    what: Touch | tuple[Barrier, int]
    line: int
    known: int
    # Barriers at which those arrived who know of it, in the open phase and in complete ones.
    pending: frozenset[Barrier] = frozenset()
    carried: frozenset[Barrier] = frozenset()


Records = frozenset[Record]
# The last and the last but one phase of a barrier that is complete.
LAST, BEFORE = 0, 1


def race(records: Records, who: int, touch: Touch) -> Record | None:
    """An earlier access that meets this one, and of which none that does this one knows."""
    met = [
        record
        for record in records
        if isinstance(record.what, Touch) and not record.known & who and record.what.meets(touch)
    ]
    return min(met, key=lambda record: record.line) if met else None


def touched(
    records: Records, who: int, touch: Touch, line: int, landing: Barrier | None = None
) -> Records:
    """The records behind an access by `who`, of whom some know of all that it meets.

    A write that lands some time later is known to those who wait for the barrier `landing`.
    """
    unsettled = [
        record
        for record in records
        if isinstance(record.what, Touch) and record.what.meets(touch) and record.known & who != who
    ]
    if unsettled:
        # Between statements of the same threads on the same memory TileLang puts a barrier.
        records = met(records, who)
    if landing is None:
        made = Record(touch, line, who)
    else:
        made = Record(touch, line, 0, frozenset({landing}))
    return frozenset({record for record in records if not _replaces(touch, who, record)} | {made})


def met(records: Records, who: int) -> Records:
    """The records behind a barrier of all of `who`."""
    return frozenset(
        replace(record, known=record.known | who) if record.known & who else record
        for record in records
    )


def _replaces(touch: Touch, who: int, record: Record) -> bool:
    """Whether who knows of the new access knows of the old one, and what meets one meets both."""
    old = record.what
    if not isinstance(old, Touch) or record.known & who != who:
        return False
    is_same = (old.storage, old.name, old.spans) == (touch.storage, touch.name, touch.spans)
    if not is_same or old.is_atomic != touch.is_atomic:
        return False
    return touch.writes or not old.writes


def arrived(
    records: Records, who: int, barrier: Barrier, completes: bool, is_alone: bool
) -> Records:
    """The records behind an arrival; `is_alone` says that nobody else arrives at the barrier."""
    result = {
        replace(record, pending=record.pending | {barrier}) if record.known & who else record
        for record in records
    }
    if not completes:
        return frozenset(result)
    ended = set[Record]()
    for record in result:
        if record.what == (barrier, BEFORE):
            continue
        if record.what == (barrier, LAST):
            record = replace(record, what=(barrier, BEFORE))
        if barrier in record.pending:
            record = replace(
                record,
                pending=record.pending - {barrier},
                carried=record.carried | {barrier},
            )
        ended.add(record)
    known = who if is_alone else 0
    ended.add(Record((barrier, LAST), 0, known, frozenset(), frozenset({barrier})))
    return frozenset(ended)


def may_be_early(records: Records, who: int, barrier: Barrier) -> bool:
    """Whether some of `who` may arrive while the phase before is still open."""
    last = _phase(records, barrier, LAST)
    return last is not None and last.known & who != who


def waited(records: Records, who: int, barrier: Barrier) -> Records:
    """The records behind a wait that passes.

    A wait tells phases apart by their parity only. Who does not know that the last phase but one
    was complete may have passed before the last one was.
    """
    last, before = _phase(records, barrier, LAST), _phase(records, barrier, BEFORE)
    if last is None:
        return records
    is_sure = before is None or before.known & who == who or last.known & who == who
    if not is_sure:
        return records
    return frozenset(
        replace(record, known=record.known | who) if barrier in record.carried else record
        for record in records
    )


def _phase(records: Records, barrier: Barrier, which: int) -> Record | None:
    return next((record for record in records if record.what == (barrier, which)), None)
