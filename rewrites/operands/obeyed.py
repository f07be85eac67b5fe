"""Refuse what a schedule says in vain: names a program does not have, and what cannot act."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.operands.places import Plan
from rewrites.operands.terms import Axis, subterms
from rewrites.schedule import Schedule

# What is done along an axis that has no tiles of its own.
_UNTILED = {
    "grid": "an index for each program",
    "whole": "all of it in one tile",
    "step": "index by index",
}


@dataclass(frozen=True)
class Said:
    """What a schedule says of a program, and what its extents are called there."""

    schedule: Schedule
    # The letter that an axis has in matrix products, or "".
    letters: Mapping[Axis, str]
    function: ast.AST
    # An extent of 1 is no axis, so that what is said of it cannot be told from a mistake.
    has_ones: bool

    @classmethod
    def of(cls, facts: Facts, letters: Mapping[Axis, str], function: ast.AST) -> "Said":
        extents = [extent for tensor in facts.tensors.values() for extent in tensor.shape]
        ones = [one for one in extents if isinstance(one, ast.Constant) and one.value == 1]
        return cls(facts.schedule, letters, function, bool(ones))

    def tile(self, axis: Axis) -> int | None:
        """The tile size that is said for an axis: by its name, or by its letter."""
        tiles = {name.lower(): size for name, size in self.schedule.tiles.items()}
        by_name = tiles.get(axis.size.name.lower())
        return tiles.get(self.letters[axis]) if by_name is None else by_name

    def axes(self, name: str) -> list[Axis]:
        """The axes that go by a name or letter."""
        names = {axis: (axis.size.name.lower(), letter) for axis, letter in self.letters.items()}
        return [axis for axis, own in names.items() if name.lower() in own]

    def refuse_unknown(self) -> None:
        """Tiles and splits are of extents that the program has."""
        said = {name: f"tiles.{name}" for name in self.schedule.tiles}
        said |= {name: f"splits.{name}" for name in self.schedule.splits}
        for name, key in said.items():
            if not name:
                raise refuse(
                    self.schedule.node(key, self.function),
                    "T2T942",
                    "T.split does not say which extent of this program is shared out",
                    (),
                    'name the extent over which it sums, such as T.split("k", 4)',
                )
            if not self.axes(name) and not self.has_ones:
                extents = [axis.size.name for axis in self.letters if axis.size.name]
                raise refuse(
                    self.schedule.node(key, self.function),
                    "T2T876",
                    f"the schedule says `{name}`, which is no extent of this program",
                    (f"extents: {', '.join(dict.fromkeys(extents))}",),
                    'name extents in annotations to be sure of their names: X: T.Tensor["M N"]',
                )

    def refuse_idle(self, plan: Plan) -> None:
        """Each annotation changes something here, or where extents are others."""
        for name, size in self.schedule.tiles.items():
            axes = self.axes(name)
            if axes and not any(_is_tiled(plan, axis, size) for axis in axes):
                raise self._idle(
                    f"tiles.{name}",
                    f"T.tile({name}={size})",
                    f"there are no tiles along `{name}`",
                    tuple(f"{one.size}: {_UNTILED[plan.places[one].role]}" for one in axes),
                )
        for key, annotation, why in self._idle_annotations(plan):
            raise self._idle(key, annotation, why)

    def _idle_annotations(self, plan: Plan) -> Iterator[tuple[str, str, str]]:
        found = subterms(*(output.term for output in plan.outputs))
        schedule = self.schedule
        has_loops = any(term.kind in ("reduce", "dot", "scan") for term in found)
        if schedule.num_stages is not None and not has_loops:
            why = "nothing is reduced or scanned, so that there is no loop"
            yield "num_stages", "T.pipeline", why
        if self.has_ones:
            return
        spread = [axis for axis, place in plan.places.items() if place.role in ("grid", "tile")]
        if schedule.swizzle is not None and len(spread) < 2:
            yield "swizzle", "T.swizzle", "the programs stand in one row"
        if schedule.programs is not None and not spread:
            yield "programs", "T.persistent", "one program computes all"
        dots = [term for term in found if term.kind == "dot"]
        are_chained = any(one in dots for dot in dots for one in subterms(*dot.operands))
        if schedule.recompute and not are_chained:
            yield "recompute", "T.recompute", "no matrix product takes the result of another one"

    def _idle(
        self, key: str, annotation: str, why: str, found: tuple[str, ...] = ()
    ) -> RewriteError:
        return refuse(
            self.schedule.node(key, self.function),
            "T2T840",
            f"{annotation} changes nothing in this program: {why}",
            found,
            "leave it out of the schedule of this kernel",
        )


def _is_tiled(plan: Plan, axis: Axis, size: int) -> bool:
    place = plan.places[axis]
    if place.role in ("tile", "stream"):
        return True
    # One index for each program is a tile of 1, and all of an extent one as large.
    return size == 1 if place.role == "grid" else place.role == "whole" and size >= axis.size.value
