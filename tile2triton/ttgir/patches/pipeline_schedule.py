"""In which turn and in which order the loads and products of a loop run: T.Pipelined's lists.

`{"stages": ("A_shared", 0, "C_local", 1), "orders": ("A_shared", 1, "C_local", 0)}` says for
variables by how many turns each runs behind the first, and in which order they stand in a turn.
What is computed for one of them, or of it, runs beside it.
"""

from typing import Any

from ..anchors import set_integer
from ..loops import Loop, loops_of
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect

# A stage, and a place in the order of a turn.
Place = tuple[int, int]
_WGMMA = "ttng.warp_group_dot"


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Behind Triton's own schedule, every operation of the loop gets another one."""
    wanted = _places(request)

    def run(module: Module, site: Site) -> None:
        loops = [loop for loop in loops_of(module) if any(map(loop.named, wanted))]
        if not loops:
            raise RefusedError("no loop of the kernel loads or multiplies what it names")
        for loop in loops:
            found = {name: loop.named(name) for name in wanted}
            expect(sum(map(bool, found.values())), len(wanted), "variables in the loop")
            given = {number: wanted[name] for name, some in found.items() for number in some}
            _set_schedule(module, loop, given, chip)

    return (Edit("after:add_schedule_loops", run),)


def _places(request: Request) -> dict[str, Place]:
    stages, orders = (_pairs(request.arguments.get(key)) for key in ("stages", "orders"))
    if not stages or stages.keys() != orders.keys():
        raise RefusedError("a schedule gives the same variables `stages` and `orders`")
    if min(stages.values()) < 0 or max(stages.values()) < 1:
        raise RefusedError("a schedule has a stage 0, and at least one behind it")
    return {name: (stages[name], orders[name]) for name in stages}


def _pairs(given: Any) -> dict[str, int]:
    """A flat tuple of names and numbers as a dict; empty where it is none."""
    if not isinstance(given, (tuple, list)) or len(given) % 2:
        return {}
    return dict(zip(given[::2], given[1::2], strict=True))


def _set_schedule(module: Module, loop: Loop, given: dict[int, Place], chip: Chip) -> None:
    for one in loop.body:
        if not one.get_num_results():
            raise RefusedError(f"Triton's bindings cannot give {one.get_name()} a stage")
    if not loop.operation.get_num_results():
        raise RefusedError("Triton's bindings reach no loop that hands nothing on")
    places = schedule(loop, given)
    last = max(stage for stage, _ in places)
    if chip.triton < (3, 7):
        early = (
            one.get_name()
            for one, (stage, _) in zip(loop.body, places, strict=True)
            if stage < last
        )
        if _WGMMA in early:
            raise RefusedError("Triton 3.6 takes wgmma in the last stage of a loop only")
    clusters = {order: index for index, order in enumerate(sorted({o for _, o in places}))}
    for one, (stage, order) in zip(loop.body, places, strict=True):
        set_integer(module, one, "loop.stage", stage)
        set_integer(module, one, "loop.cluster", clusters[order])
    set_integer(module, loop.operation, "tt.scheduled_max_stage", last)


def schedule(loop: Loop, given: dict[int, Place]) -> list[Place]:
    """A place for each operation of a loop's body, where some have one.

    Raises `RefusedError` where an operation would run before what it needs.
    """
    needs = list(loop.needs())
    places: dict[int, Place] = dict(given)
    now = [need for need in needs if not need.later]
    # What is read runs with the first that reads it, up to what has a place.
    for number in reversed(range(len(loop.body))):
        readers = [places[n.reader] for n in now if n.maker == number and n.reader in places]
        if number not in places and readers:
            places[number] = min(readers)
    # What only reads runs with the last that it reads.
    for number in range(len(loop.body)):
        makers = [places[n.maker] for n in now if n.reader == number and n.maker in places]
        if number not in places:
            places[number] = max(makers, default=max(given.values()))
    for need in needs:
        made, read = places[need.maker], places[need.reader]
        # What the next turn reads is needed one stage later.
        due = (read[0] + 1, read[1]) if need.later else read
        if made[0] > due[0] or (made[0] == due[0] and made[1] > due[1]):
            names = (loop.body[number].get_name() for number in (need.maker, need.reader))
            raise RefusedError("{} would run behind {}, which needs it".format(*names))
    return [places[number] for number in range(len(loop.body))]


PIPELINE_SCHEDULE = Kind(name="pipeline_schedule", arguments=("stages", "orders"), edits=edits)
