"""A loop of a kernel as a graph: the operations of a turn, and what each needs of others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..sites import is_meant
from .anchors import KINDS, name_of
from .patching import Module


@dataclass(frozen=True)
class Need:
    """That an operation reads what another makes, in the same turn or, `later`, in the next."""

    maker: int
    reader: int
    later: bool


class Loop:
    """One `scf.for`; the operations of its body are known by their numbers."""

    def __init__(self, operation: Any, body: list[Any], inside: list[tuple[int, Any]]) -> None:
        self.operation = operation
        self.end = body.pop()
        assert self.end.get_name() == "scf.yield", "a loop ends with what it hands on"
        self.body = body
        self.inside = [(number, one) for number, one in inside if number < len(body)]

    def named(self, name: str) -> list[int]:
        """The loads and products of a variable."""
        return [
            number
            for number, one in enumerate(self.body)
            if one.get_num_results()
            and one.get_name() in KINDS
            and is_meant(name_of(one.get_result(0)), name)
        ]

    def needs(self) -> Iterator[Need]:
        """Everything that constrains the order of a turn, and of one turn and the next."""
        makers = {
            one.get_result(index).id(): number
            for number, one in enumerate(self.body)
            for index in range(one.get_num_results())
        }
        block = self.end.get_block()
        handed_on = {}
        for index in range(self.end.get_num_operands()):
            # The first argument of the body counts the turns.
            argument = block.get_argument(index + 1).id()
            handed_on[argument] = makers.get(self.end.get_operand(index).id())
        for reader, one in self.inside:
            for index in range(one.get_num_operands()):
                value = one.get_operand(index).id()
                if value in makers and makers[value] != reader:
                    yield Need(makers[value], reader, later=False)
                maker = handed_on.get(value)
                if maker is not None:
                    yield Need(maker, reader, later=True)


def loops_of(module: Module) -> list[Loop]:
    """The loops of a module, inner ones first."""
    operations: list[Any] = []
    module.walk(operations.append)
    owners: dict[int, int] = {}
    regions: list[int | None] = []
    for number, one in enumerate(operations):
        block = one.get_block()
        regions.append(None if block is None else block.get_parent().id())
        for index in range(one.get_num_regions()):
            owners[one.get_region(index).id()] = number
    found = []
    for loop in (one for one in operations if one.get_name() == "scf.for"):
        region = loop.get_region(0).id()
        body = [number for number, where in enumerate(regions) if where == region]
        places = {number: place for place, number in enumerate(body)}
        inside = []
        for number, one in enumerate(operations):
            around: int | None = number
            while around is not None and around not in places:
                where = regions[around]
                around = owners.get(where) if where is not None else None
            if around is not None:
                inside.append((places[around], one))
        found.append(Loop(loop, [operations[number] for number in body], inside))
    return found
