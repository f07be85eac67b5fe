"""How the axes of a program with scans are run over: columns by the grid, a scan in a loop.

Each program is a warp that has some columns, and goes along what is scanned index by index; where a
column has a state, in short tiles, whose indices and states lie in few threads.
"""

import ast

from rewrites.dtypes import BY_NAME
from rewrites.environment import next_power_of_two
from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.operands.obeyed import Said
from rewrites.operands.places import Output, Place, Plan
from rewrites.operands.plan import TILE, WHOLE_ROW
from rewrites.operands.terms import Axis, Size, Term, how_scanned, reduced_axis, subterms
from rewrites.schedule import Schedule

# The threads of a warp, each of which has a column.
WARP = 32
# A program has so many columns of 16 bits.
COLUMNS = 64
# Of a state, a thread holds so many elements.
STATE = 64
# Of a tile of states, a thread holds so many elements, for so many indices at most.
TILE_OF_STATES = 128
LONGEST = 16
# So many programs for each multiprocessor make it busy.
PROGRAMS = 4
# Tiles of states are loaded so far ahead.
STAGES = 3
# From so many warps on, a GPU is busy, and a thread may have several columns.
MANY_WARPS = 8192
# At most so many elements are reduced for each column.
WHOLE = 4096


def has_scans(outputs: list[Output]) -> bool:
    return any(term.kind == "scan" for term in subterms(*(output.term for output in outputs)))


def plan_scans(outputs: list[Output], facts: Facts, function: ast.AST) -> Plan:
    """A plan; an error where the program is no one kernel."""
    return _Planning(outputs, facts, function).made()


class _Planning:
    def __init__(self, outputs: list[Output], facts: Facts, function: ast.AST) -> None:
        self.schedule = facts.schedule
        self.multiprocessors = facts.multiprocessors
        self.function = function
        self.plan = Plan(outputs)
        self.found = subterms(*(output.term for output in outputs))
        self.scans = [term for term in self.found if term.kind == "scan"]
        self.scanned = dict.fromkeys(how_scanned(term)[1] for term in self.scans)
        own = dict.fromkeys(axis for output in outputs for axis in output.axes)
        reduced = dict.fromkeys(axis for term in self.found if (axis := reduced_axis(term)))
        self.whole = [axis for axis in {**reduced} if axis not in self.scanned]
        self.columns = [one for one in own if one not in self.scanned and one not in reduced]

        self.template = facts.templates.get("scans", Schedule())
        letters = dict.fromkeys((*self.columns, *self.scanned, *self.whole), "")
        letters |= dict.fromkeys(self.columns[-1:], "c") | dict.fromkeys(self.scanned, "t")
        self.said = Said.of(facts, letters, function)

    def made(self) -> Plan:
        self._check()
        self.plan.scanned = set(self.scanned)
        if self._are_rows():
            self._rows()
        elif self._are_states_of_columns():
            self._states()
        elif self._are_tiles():
            self._tiles()
        else:
            self._steps()
        self.plan.swizzle = self.schedule.swizzle
        if self.schedule.programs is not None:
            self.plan.programs = self.schedule.programs or self.multiprocessors
        self.plan.rotate = self.schedule.rotate
        self.said.refuse_idle(self.plan)
        return self.plan

    def _steps(self) -> None:
        """Columns for each program, index by index."""
        columns = {
            axis: Place("tile", block) if block.value > 1 else Place("grid", axis.size)
            for axis, block in self._blocks().items()
        }
        whole = {axis: Place("whole", axis.size) for axis in self.whole}
        # Triton lays the threads of a warp along the last dimension, where each is to have a
        # column; but a tile of all of it that is loaded brings a layout of its own.
        is_laid_out = any(map(self._is_loaded_once, self.found))
        self.plan.places = {**columns, **whole} if is_laid_out else {**whole, **columns}
        for axis in self.scanned:
            self.plan.places[axis] = Place("step", axis.size)

    def _is_loaded_once(self, term: Term) -> bool:
        """Whether a term is a tile of columns and what is reduced, loaded before the loop."""
        return (
            term.kind == "load"
            and not self.scanned.keys() & term.axes
            and not term.axes.isdisjoint(self.columns)
            and not term.axes.isdisjoint(self.whole)
        )

    def _are_rows(self) -> bool:
        """Whether what is scanned lies side by side, and a tile holds all of it."""
        for term in self.scans:
            how, axis = how_scanned(term)
            loads = [one for one in subterms(term) if one.kind == "load" and axis in one.axes]
            is_inner = loads and all(axis in load.operands[-1].axes for load in loads)
            if how not in ("sum", "max") or not is_inner or axis.size.value > WHOLE_ROW:
                return False
        return not self.whole and not any(map(self.said.tile, self.scanned))

    def _are_states_of_columns(self) -> bool:
        """Whether each column has a recurrence of a state, and columns lie side by side."""
        are_linear = all(how_scanned(term)[0] == "linear" for term in self.scans)
        is_one = len(self.scanned) == 1 and bool(self.whole) and bool(self.columns)
        return is_one and are_linear and self._are_columns_inner() and self._state() <= STATE

    def _state(self) -> int:
        """The elements that are reduced for each column at each index."""
        state = 1
        for axis in self.whole:
            state *= next_power_of_two(axis.size.value)
        return state

    def _states(self) -> None:
        """Short tiles of columns, whose states a thread has for some indices in registers.

        Triton lays threads along the last dimension of what it makes by broadcasting, so that the
        columns come last: what is scanned and reduced is then in one thread. Few columns have
        several threads each.
        """
        threads = self.schedule.threads or self.template.threads or WARP
        (axis,) = self.scanned
        inner = self.columns[-1]
        share = TILE_OF_STATES * threads // self._state()
        asked = self.said.tile(axis)
        block = self.said.tile(inner) or self._columns_of(threads, share // (asked or 2))
        length = asked or max(1, min(LONGEST, share // block, next_power_of_two(axis.size.value)))
        places = {one: Place("grid", one.size) for one in self.columns[:-1]}
        places[axis] = Place("stream", Size(length, f"block_{axis.size.name or 'L'}"))
        places |= {one: Place("whole", one.size) for one in self.whole}
        places[inner] = Place("grid", inner.size) if block == 1 else _tile(inner, block)
        self.plan.places = places
        self.plan.threads = threads
        self.plan.num_stages = self.schedule.num_stages or STAGES

    def _columns_of(self, threads: int, most: int) -> int:
        """How many columns a program has: one for each thread, or less for enough programs."""
        columns = 1
        for axis in self.columns:
            columns *= axis.size.value
        block = min(threads, most)
        while block > threads // 4 and columns // block < PROGRAMS * self.multiprocessors:
            block //= 2
        return max(1, min(block, next_power_of_two(self.columns[-1].size.value)))

    def _are_tiles(self) -> bool:
        """Whether a tile of what is scanned is loaded at once, and scanned in registers."""
        loads = [term for term in self.found if term.kind == "load"]
        along = [load for load in loads if self.scanned.keys() & load.axes]
        are_inner = along and all(self.scanned.keys() & load.operands[-1].axes for load in along)
        return bool(are_inner) or any(map(self.said.tile, self.scanned))

    def _tiles(self) -> None:
        """Tiles of what is scanned, and so many columns that they are of a usual size."""
        room = self._room()
        for axis in self.whole:
            room = max(1, room // next_power_of_two(axis.size.value))
        scanned: dict[Axis, Place] = {}
        for axis in self.scanned:
            most = min(room, self.template.tiles.get("t", room))
            block = self.said.tile(axis) or min(most, next_power_of_two(axis.size.value))
            scanned[axis] = Place("stream", Size(block, f"block_{axis.size.name or 'L'}"))
        room = max(1, room // max(place.block.value for place in scanned.values()))
        columns: dict[Axis, Place] = {}
        for axis in reversed(self.columns):
            block = self.said.tile(axis) or min(room, next_power_of_two(axis.size.value))
            room = max(1, room // block)
            columns[axis] = Place("grid", axis.size) if block == 1 else _tile(axis, block)
        whole = {axis: Place("whole", axis.size) for axis in self.whole}
        # Where the columns lie side by side, a tile has them last, as it is loaded.
        last = self.columns[-1:] if self._are_columns_inner() else []
        ordered = [axis for axis in self.columns if axis not in last]
        places = {**columns, **scanned, **whole}
        order = [*ordered, *self.scanned, *self.whole, *last]
        self.plan.places = {axis: places[axis] for axis in order}
        self.plan.threads = self.schedule.threads or 128
        self.plan.num_stages = self.schedule.num_stages or 2

    def _room(self) -> int:
        """The elements of a tile: so many for each thread, where the schedule says so."""
        width = self.schedule.width
        return TILE if width is None else (self.schedule.threads or 128) * width

    def _are_columns_inner(self) -> bool:
        """Whether what is loaded along the last of the columns lies side by side."""
        return any(
            term.kind == "load" and not term.operands[-1].axes.isdisjoint(self.columns[-1:])
            for term in self.found
        )

    def _rows(self) -> None:
        """Several rows for each program, scanned in registers."""
        length = max(next_power_of_two(axis.size.value) for axis in self.scanned)
        room = max(1, self._room() // length)
        blocks: dict[Axis, Place] = {}
        for axis in reversed(self.columns):
            block = self.said.tile(axis) or min(room, next_power_of_two(axis.size.value))
            room = max(1, room // block)
            blocks[axis] = Place("grid", axis.size) if block == 1 else _tile(axis, block)
        self.plan.places = {axis: blocks[axis] for axis in self.columns}
        for axis in self.scanned:
            self.plan.places[axis] = Place("whole", axis.size)
        threads = min(512, max(128, next_power_of_two(length) // 16))
        self.plan.threads = self.schedule.threads or threads

    def _bytes(self) -> int:
        """The size of the smallest elements that are loaded at each index."""
        sizes = [
            BY_NAME[term.dtype].bits // 8
            for term in self.found
            if term.kind == "load"
            and self.scanned.keys() & term.axes
            and not term.axes.isdisjoint(self.columns)
        ]
        return max(1, min(sizes, default=4))

    def _check(self) -> None:
        self.said.refuse_unknown()
        for name in self.schedule.splits:
            raise refuse(
                self.schedule.node(f"splits.{name}", self.function),
                "T2T878",
                f"`{name}` cannot be split: a program has the values of a scan one after the other",
                (f"scanned: {', '.join(str(axis.size) for axis in self.scanned)}",),
                "leave T.split out, or return what is summed from a kernel without scans",
            )
        for term in self.scans:
            inside = [how_scanned(one)[1] for one in subterms(term) if one.kind == "scan"]
            if len(set(inside)) > 1:
                self._refuse(term, "it scans what is scanned along another axis")
        for output in self.plan.outputs:
            found = [how_scanned(one)[1] for one in subterms(output.term) if one.kind == "scan"]
            if len(set(found)) > 1:
                self._refuse(output.term, "it needs scans along several axes at once")
        for term in self.found:
            if term.kind == "dot" and (self.scanned.keys() & term.axes or self._has_scan(term)):
                self._refuse(term, "it has both a matrix product and a scan along its rows")
            axis = reduced_axis(term)
            if axis in self.whole and axis.size.value > WHOLE:
                self._refuse(term, f"it reduces {axis.size} elements at each index of a scan")

    def _has_scan(self, term: Term) -> bool:
        return any(one.kind == "scan" for one in subterms(*term.operands))

    def _refuse(self, term: Term, why: str) -> None:
        raise refuse(
            term.node or self.function,
            "T2T851",
            f"this program is no one kernel: {why}",
            hint="return what is scanned from a kernel of its own",
        )

    def _blocks(self) -> dict[Axis, Size]:
        """How many indices of each axis of the columns a program has, and its threads."""
        columns = 1
        for axis in self.columns:
            columns *= axis.size.value
        state = 1
        for axis in self.whole:
            state *= next_power_of_two(axis.size.value)
        # Loads of 4 bytes and more are copied ahead of time. Still more columns a thread make
        # wider loads, where that leaves enough warps.
        width = self.schedule.width
        threads = self.template.threads or WARP
        usual = self.template.tiles.get("c", COLUMNS)
        room = max(threads, usual * 2 // self._bytes()) if width is None else threads * width
        while width is None and state == 1 and room < 2 * usual:
            if columns <= 2 * room * MANY_WARPS:
                break
            room *= 2
        blocks: dict[Axis, Size] = {}
        for axis in reversed(self.columns):
            value = self.said.tile(axis) or min(room, next_power_of_two(axis.size.value))
            blocks[axis] = _tile(axis, value).block
            room = max(1, room // value)
        elements = state
        for block in blocks.values():
            elements *= block.value
        threads = max(threads, min(1024, next_power_of_two(elements) // STATE))
        self.plan.threads = self.schedule.threads or threads
        self.plan.num_stages = self.schedule.num_stages or self.template.num_stages or 1
        return {axis: blocks[axis] for axis in self.columns}


def _tile(axis: Axis, block: int) -> Place:
    """A tile of an extent, under a name that says of which."""
    return Place("tile", Size(block, f"block_{axis.size.name or 'N'}"))
