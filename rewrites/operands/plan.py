"""How each axis of a program is run over: by the grid, in one tile, or in a loop over tiles."""

import ast
import dataclasses
import math

from rewrites.dtypes import BY_NAME
from rewrites.environment import next_power_of_two
from rewrites.errors import refuse
from rewrites.facts import Facts, has_producer
from rewrites.operands.fitting import Fitting
from rewrites.operands.obeyed import Said
from rewrites.operands.online import planned
from rewrites.operands.places import Output, Place, Plan, axes_of
from rewrites.operands.terms import Axis, Size, Term, reduced_axis, subterms
from rewrites.schedule import Schedule

# A row of so many elements is held on the chip; a longer one is run over in a loop.
WHOLE_ROW = 16384
# A tile without matrix products has about so many elements.
TILE = 2048
# Of an accumulator, a thread holds so many elements without spilling them.
ACCUMULATOR = 128
# A loop over rows that are held whole takes about so many elements at once.
ROOM = 4 * TILE
# Heads up to these sizes leave registers for two consumers of a producer, and for three.
SPECIALIZED, NARROW = 128, 64
# A dimension of a matrix that tensor cores multiply is held whole up to here.
WHOLE_MATRIX = 512


def _parted(outputs: list[Output]) -> set[Axis]:
    """The axes along which one tensor is stored to at several places, or by groups."""
    found = {axis for one in outputs for index in one.indices for axis in axes_of(index)[1:]}
    for one in outputs:
        for other in outputs:
            if other is not one and other.tensor == one.tensor:
                for index, same in zip(one.indices, other.indices, strict=True):
                    if index is not same:
                        found |= index.axes | same.axes
    return found


def _even(axis: Axis) -> int:
    """The greatest power of two that divides an extent."""
    return axis.size.value & -axis.size.value


def _covered(size: int, block: int) -> int:
    """How long the tiles are together that cover an extent."""
    return -(-size // block) * block


def plan_of(outputs: list[Output], facts: Facts, function: ast.AST) -> Plan:
    """A plan, by the schedule in the facts; an error where the program is no one kernel."""
    return _Planning(outputs, facts, function).made()


class _Planning:
    def __init__(self, outputs: list[Output], facts: Facts, function: ast.AST) -> None:
        self.function = function
        self.plan = Plan(outputs)
        self.found = subterms(*(output.term for output in outputs))
        self.reductions = [term for term in self.found if reduced_axis(term) is not None]
        self.dots = [term for term in self.reductions if term.kind == "dot"]
        self.axes = list(dict.fromkeys(axis for output in outputs for axis in output.axes))
        self.bound = list(
            dict.fromkeys(
                axis
                for term in self.reductions
                if (axis := reduced_axis(term)) is not None and axis not in self.axes
            )
        )
        # Axes of outputs over which something is reduced, too: the rows of a softmax.
        self.own = {axis for term in self.reductions if (axis := reduced_axis(term)) in self.axes}
        # Axes along which a tensor is stored to in parts: no tile may run over the end of one.
        self.exact = _parted(outputs)
        self.blocks: dict[Axis, int] = {}
        self.roles: dict[Axis, str] = {}
        self.facts = facts
        self.template = self._template()
        self.said = Said.of(facts, {one: self.letter(one) for one in self._all()}, function)
        self.schedule = facts.schedule.over(self.template)
        self.stages = self.schedule.num_stages or self.plan.num_stages

    def kind(self) -> str:
        """What sort of program it is, which chooses the defaults of its schedule."""
        chained = any(inner in self.dots for dot in self.dots for inner in subterms(*dot.operands))
        if chained:
            return "attention"
        if self.dots:
            return "gemm"
        return "rows" if self.reductions else "elementwise"

    def _template(self) -> Schedule:
        """What holds where nothing is said: for consumers and a producer, or for plain Triton."""
        kind, said = self.kind(), self.facts.schedule
        own = (said.tiles, said.splits, said.threads, said.num_stages, said.programs)
        may_be = self.facts.wants_gluon and self.facts.target == "cuda:90" and not any(own)
        if may_be and kind == "attention" and self._head_size() <= SPECIALIZED:
            kind += "_specialized" + ("_narrow" if self._head_size() <= NARROW else "")
        return self.facts.templates.get(kind, Schedule())

    def _head_size(self) -> int:
        """The longest of the inner products' contracted extents, and of the rows of results."""
        inner = [
            dot for dot in self.dots if not any(one in self.dots for one in subterms(*dot.operands))
        ]
        contracted = [axis for dot in inner if (axis := reduced_axis(dot)) is not None]
        return max(axis.size.value for axis in (*contracted, self.axes[-1]))

    def _all(self) -> list[Axis]:
        return [*self.axes, *self.bound]

    def made(self) -> Plan:
        self.said.refuse_unknown()
        roles = {**self._roles_of_outputs(), **self._roles_of_bound()}
        self._hold_rows(roles)
        self.roles = roles
        if not self.dots:
            self._tile_rows(roles)
        sizes = self._block_sizes(roles)
        if self.dots:
            self._fit(roles, sizes)
        for axis in self._ordered():
            self.plan.places[axis] = Place(roles[axis], sizes[axis])
        for axis, place in self.plan.places.items():
            if place.role == "stream":
                over = [term for term in self.reductions if reduced_axis(term) == axis]
                self.plan.loops[axis] = planned(axis, over)
        self._set_launch()
        self.said.refuse_idle(self.plan)
        return self.plan

    def _ordered(self) -> list[Axis]:
        """The axes of the outputs, and those of reductions where they stand in memory."""
        ordered = list(self.axes)
        loads = [term for term in self.found if term.kind == "load"]
        for axis in self.bound:
            behind = {
                other
                for load in loads
                for at, index in enumerate(load.operands)
                if axis in index.axes
                for later in load.operands[at + 1 :]
                for other in later.axes
            }
            places = [at for at, other in enumerate(ordered) if other in behind]
            ordered.insert(
                min(places, default=len(ordered)) if not self.dots else len(ordered), axis
            )
        return ordered

    def _roles_of_outputs(self) -> dict[Axis, str]:
        """Rows and columns of matrices are tiled; what is a batch has an index for each program."""
        matrix = [axis for axis in self.axes if self._side(axis) in ("left", "right")]
        if self.dots:
            tiled = []
            for side in ("left", "right"):
                own = [axis for axis in matrix if self._side(axis) == side]
                tiled += own[-1:]
        else:
            tiled = []
        roles = {axis: "tile" if axis in tiled else "grid" for axis in self.axes}
        for axis in matrix:
            # Another tile along an axis would compute again what does not depend on it.
            if any(axis not in dot.axes for dot in self.dots if self._is_used_along(dot, axis)):
                self._refuse_too_long(axis, WHOLE_MATRIX)
                roles[axis] = "whole" if axis.size.value <= WHOLE_MATRIX else "tile"
        return roles

    def _tile_rows(self, roles: dict[Axis, str]) -> None:
        """Give each program as many rows as make a tile, the innermost axes first."""
        room = TILE if self.schedule.width is None else self._threads() * self.schedule.width
        for axis in self.axes:
            if roles[axis] == "grid" and self._is_beside(axis) and self.said.tile(axis) is None:
                roles[axis] = "whole"
        for axis, role in roles.items():
            if role in ("whole", "stream"):
                most = self._longest(axis) if role == "stream" else TILE
                room //= min(next_power_of_two(axis.size.value), most)
        # Of the axes of one dimension, one is a tile's.
        outer = {
            axis
            for output in self.plan.outputs
            for index in output.indices
            for axis in axes_of(index)[:-1]
        }
        for axis in reversed(self.axes):
            is_said = self.said.tile(axis) is not None
            if roles[axis] != "grid" or (room <= 1 and not is_said) or axis in outer:
                continue
            block = min(room, next_power_of_two(axis.size.value))
            if axis in self.exact and axis.size.value <= room and not is_said:
                roles[axis] = "whole"
                room //= next_power_of_two(axis.size.value)
                continue
            if axis in self.exact:
                block = min(block, _even(axis))
            roles[axis] = "tile"
            self.blocks[axis] = block
            room = max(1, room // block)

    def _is_beside(self, axis: Axis) -> bool:
        """Whether sums along a short axis are made of others, which are the same all along it.

        So are the columns of what attention gives to one query: each with a program of its own
        would compute all scores again.
        """
        return axis.size.value <= WHOLE_MATRIX and any(
            reduced_axis(inner) is not None and axis not in inner.axes
            for term in self.reductions
            if axis in term.axes
            for inner in subterms(*term.operands)
        )

    def _hold_rows(self, roles: dict[Axis, str]) -> None:
        """Hold the axes whole over which what is stored is reduced, too, as far as they fit."""
        room = WHOLE_ROW
        for axis in reversed(self.axes):
            if axis not in self.own:
                continue
            length = next_power_of_two(axis.size.value)
            is_whole = length <= room and not self._is_cut(axis)
            roles[axis] = "whole" if is_whole else "stream"
            room = max(1, room // length)
        streamed = [axis for axis in self.axes if roles[axis] == "stream"]
        if len(streamed) > 1:
            raise refuse(
                self.function,
                "T2T838",
                "this program is no one kernel: it needs the elements along several long extents "
                "before it can store the first of them",
                tuple(f"an extent of {axis.size}" for axis in streamed),
                "return what is reduced from a kernel of its own, and hand it to a second one",
            )

    def _roles_of_bound(self) -> dict[Axis, str]:
        roles = {}
        for axis in self.bound:
            over = [term for term in self.reductions if reduced_axis(term) == axis]
            inside = {other for term in over for other in term.axes if other in self.bound}
            if inside and self.dots:
                roles[axis] = "whole"
                self._refuse_too_long(axis, WHOLE_MATRIX)
            elif any(term.kind == "dot" for term in over):
                roles[axis] = "stream"
            else:
                is_row = axis.size.value <= WHOLE_ROW and self._is_innermost(axis)
                roles[axis] = "whole" if is_row and not self._is_cut(axis) else "stream"
        return roles

    def _is_cut(self, axis: Axis) -> bool:
        """Whether a tile size is said for an extent, and there is more of it."""
        return (self.said.tile(axis) or axis.size.value) < axis.size.value

    def _is_innermost(self, axis: Axis) -> bool:
        """Whether what is loaded along an axis lies side by side, or there is little of it."""
        if axis.size.value <= 32:
            return True
        loads = [term for term in self.found if term.kind == "load" and axis in term.axes]
        return all(axis in load.operands[-1].axes for load in loads)

    def _is_used_along(self, dot: Term, axis: Axis) -> bool:
        """Whether what is computed from a dot has this axis."""
        return any(
            axis in output.term.axes and dot in subterms(output.term)
            for output in self.plan.outputs
        )

    def _side(self, axis: Axis) -> str:
        """On which side of the dots an axis of the output stands: "left", "right", "both", ""."""
        sides = {
            side
            for dot in self.dots
            for side, operand in zip(("left", "right"), dot.operands, strict=True)
            if axis in operand.axes
        }
        return "both" if len(sides) == 2 else next(iter(sides), "")

    def _block_sizes(self, roles: dict[Axis, str]) -> dict[Axis, Size]:
        sizes = {}
        names = iter(("block_M", "block_N", *(f"block_{letter}" for letter in "LHGB")))
        tiled = [axis for axis in self.axes if roles[axis] == "tile"]
        for axis in self.axes:
            if roles[axis] == "tile":
                name = next(names) if len(tiled) > 1 or self.dots or self.own else "block_N"
                most = 128 if self.dots else self.blocks[axis]
                sizes[axis] = Size(self._block(axis, most), name)
            elif roles[axis] == "stream":
                sizes[axis] = Size(self._block(axis, self._longest(axis)), "block_N")
            else:
                sizes[axis] = axis.size
        for axis in self.bound:
            if roles[axis] == "stream":
                is_dot = bool(self.dots)
                used = {size.name for size in sizes.values()}
                wanted = ("block_N", "block_K") if self._is_chained(axis) else ("block_K",)
                name = next((one for one in wanted if one not in used), f"block_{len(used)}")
                most = 64 if is_dot else self._longest(axis)
                sizes[axis] = Size(self._block(axis, most), name)
            else:
                sizes[axis] = self._whole_block(axis, {size.name for size in sizes.values()})
        return sizes

    def _whole_block(self, axis: Axis, used: set[str]) -> Size:
        """The tile of an axis that is held whole: as long as tensor cores want it at least."""
        is_contracted = any(reduced_axis(dot) == axis for dot in self.dots)
        if not is_contracted or next_power_of_two(axis.size.value) >= self._least():
            return axis.size
        name = next(one for one in ("block_K", "block_D", f"block_{len(used)}") if one not in used)
        return Size(self._least(), name)

    def _least(self) -> int:
        """How long the tiles of products are at least in each dimension."""
        sides = [side for dot in self.dots for side in dot.operands]
        return 32 if any(BY_NAME[side.dtype].bits == 8 for side in sides) else 16

    def _fit(self, roles: dict[Axis, str], sizes: dict[Axis, Size]) -> None:
        """Make default tiles shorter, and pipelines, that would not fit into the chip."""
        free = [axis for axis in self._all() if self.said.tile(axis) is None]
        said = self.said.schedule
        if said.threads is not None:
            self._fit_accumulators(roles, sizes, said.threads)
        fitting = Fitting(
            self.plan.outputs, roles, self.facts, lambda own: self._threads_of(roles, own)
        )
        is_free = said.num_stages is None
        self.stages = fitting.fitted(sizes, self.stages, free, is_free)

    def _fit_accumulators(
        self, roles: dict[Axis, str], sizes: dict[Axis, Size], threads: int
    ) -> None:
        """Halve default tiles whose accumulator would not fit into so few threads' registers."""
        tiled = [axis for axis in reversed(self.axes) if roles[axis] == "tile"]
        free = [axis for axis in tiled if self.said.tile(axis) is None]
        elements = math.prod(sizes[axis].value for axis in tiled)
        for axis in free:
            while elements > ACCUMULATOR * threads and sizes[axis].value > 64:
                sizes[axis] = dataclasses.replace(sizes[axis], value=sizes[axis].value // 2)
                elements //= 2

    def _threads_of(self, roles: dict[Axis, str], sizes: dict[Axis, Size]) -> int:
        """The threads of a program with products, for tiles of some sizes."""
        if self.said.schedule.threads is not None:
            return self.said.schedule.threads
        tiles = [dot.axes for dot in self.dots] + [frozenset(self.axes)]
        elements = max(
            math.prod(sizes[axis].value for axis in axes if roles[axis] not in ("grid", "step"))
            for axes in tiles
        )
        return min(self.template.threads or 256, max(128, elements // 64))

    def _longest(self, axis: Axis) -> int:
        """How many elements along an axis a loop without matrix products takes at once."""
        most = 4096 if self._is_innermost(axis) else 32
        beside = {
            other
            for term in self.found
            if term.kind == "load" and axis in term.axes
            for other in term.axes
            if self.roles.get(other) == "whole"
        }
        for other in beside:
            most //= max(1, next_power_of_two(other.size.value) * 32 // ROOM)
        return max(1, most)

    def _is_chained(self, axis: Axis) -> bool:
        """Whether the loop over the axis multiplies what it has computed."""
        return any(axis in term.axes for term in self.dots)

    def _block(self, axis: Axis, most: int) -> int:
        """The tile size along an extent: what is said, or the default if there is so much."""
        said = self.said.tile(axis)
        if axis in self.exact:
            return min(said or most, _even(axis))
        if said is not None:
            return said
        default = self.template.tiles.get(self.said.letters[axis])
        if default is not None and self.dots:
            most = default
            if axis in self.bound and self.kind() == "gemm":
                # The default is for elements of 16 bits.
                most = most * 16 // BY_NAME[self.dots[0].operands[0].dtype].bits
        least = self._least() if self.dots else 1
        longest = max(least, min(most, next_power_of_two(axis.size.value)))
        return self._covering(axis, longest) if self.dots and axis in self.axes else longest

    def _covering(self, axis: Axis, longest: int) -> int:
        """A tile size that covers an extent of less than two such tiles with little behind it."""
        size, shortest = axis.size.value, min(longest, 64)
        if size >= 2 * longest:
            return longest
        block = longest
        while block > shortest and 4 * size < 3 * _covered(size, block):
            block //= 2
        return block if _covered(size, block) < _covered(size, longest) else longest

    def letter(self, axis: Axis) -> str:
        """What an extent is to the matrix products: "m", "n" or "k"; without products, ""."""
        if not self.dots:
            return ""
        if axis in self.bound:
            return "n" if self.kind() == "attention" else "k"
        return {"left": "m", "right": "n"}.get(self._side(axis), "")

    def _splits(self) -> dict[Axis, int]:
        found: dict[Axis, int] = {}
        for name, parts in self.said.schedule.splits.items():
            axes = [axis for axis in self.said.axes(name) if axis in self.plan.loops]
            if not axes or axes[0] in self.axes:
                raise refuse(
                    self.said.schedule.node(f"splits.{name}", self.function),
                    "T2T878",
                    f"`{name}` cannot be split: no loop of this program sums over it",
                    (f"loops: {', '.join(axis.size.name for axis in self.plan.loops) or 'none'}",),
                    "split the extent that a matrix product contracts, or leave T.split out",
                )
            found[axes[0]] = parts
        if len(found) > 1:
            raise refuse(
                self.function,
                "T2T878",
                "only one extent of a program can be split",
                (f"T.split says {', '.join(f'`{name}`' for name in self.said.schedule.splits)}",),
                "leave one T.split",
            )
        return found

    def _threads(self) -> int:
        return self.schedule.threads or 128

    def _refuse_too_long(self, axis: Axis, most: int) -> None:
        if axis.size.value <= most or self.schedule.recompute:
            return
        raise refuse(
            self.function,
            "T2T810",
            f"this program is no one kernel: its tiles would hold all {axis.size} of an extent",
            (f"at most {most} fit",),
            "split it where one matrix product feeds the next: return the first from a kernel "
            "of its own",
        )

    def _set_launch(self) -> None:
        schedule, plan = self.schedule, self.plan
        if self.dots:
            sizes = {axis: place.block for axis, place in plan.places.items()}
            plan.threads = self._threads_of(self.roles, sizes)
        else:
            tiled = [axis for axis in self.axes if plan.places[axis].has_lanes]
            lanes = [plan.places[axis].block.value for axis in (*tiled, *self.bound)]
            plan.threads = min(512, max(128, next_power_of_two(math.prod(lanes)) // 16))
        plan.swizzle = self.said.schedule.swizzle
        if len([one for one in plan.places.values() if one.role == "tile"]) > 1:
            plan.swizzle = schedule.swizzle
        if schedule.programs is not None and not has_producer(self.facts):
            plan.programs = schedule.programs or self.facts.multiprocessors
        plan.splits = self._splits()
        plan.rotate = schedule.rotate
        plan.consumers = schedule.consumers
        plan.threads = self.said.schedule.threads or plan.threads
        plan.num_stages = self.stages
