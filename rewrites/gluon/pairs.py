"""Which programs of a grid become the consumers of one producer, and what they share."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from rewrites.environment import environment_of
from rewrites.facts import Facts, Launch
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import dependents, every
from rewrites.gluon.rings import Load, leading_to, loads_of
from rewrites.gluon.turns_of_programs import is_shared
from rewrites.quote import copy_tree, expr, literal
from rewrites.ranges import range_of
from rewrites.tree import names_in


@dataclass
class Pairing:
    """Consumers stand along an axis of the grid, and have different values of a `variable`.

    `extent` is how many programs there are, as kernels write it; `dependent` is all that differs.
    """

    variable: str
    axis: int
    extent: ast.expr
    dependent: set[str]

    def shared_out(
        self, extents: Sequence[ast.expr], consumers: int, module: str
    ) -> list[ast.expr]:
        """A grid's extents where consumers share programs; `module` is what has `cdiv` there."""
        made = list(extents)
        whole = made[self.axis]
        made[self.axis] = expr(f"{module}.cdiv(n, c)", n=whole, c=literal(consumers))
        return made


@dataclass(frozen=True)
class Pairs:
    """The ways in which programs of a kernel may stand together."""

    kernel: ast.FunctionDef
    launch: Launch
    facts: Facts
    consumers: int

    def best(self, loops: list[ast.For]) -> Pairing:
        """The axis along which consumers share most of what the loops load."""
        found: dict[tuple[int, int], tuple[str, set[str]]] = {}
        loads = [load for loop in loops for load in loads_of(loop.body)]
        for variable, axis in _grid_variables(self.kernel).items():
            dependent = self.dependents(variable, axis)
            copies = [self.consumers if depends(load, dependent) else 1 for load in loads]
            moved = sum(
                count * self.elements(load) for count, load in zip(copies, loads, strict=True)
            )
            found[moved, -axis] = variable, dependent
        if not found:
            raise UnsuitedError("the grid has no axis along which consumers could stand")
        (_, axis), (variable, dependent) = min(found.items(), key=lambda item: item[0])
        return Pairing(variable, -axis, self.extent(-axis), dependent)

    def dependents(self, variable: str, axis: int) -> set[str]:
        """What differs between consumers that stand along an axis."""
        body = self.kernel.body
        reached = dependents(body, {variable})
        counts = Counter(one for statement in every(body) for one in _targets(statement))
        numbers = {
            one
            for statement in body
            for one in _targets(statement)
            if one in reached and counts[one] == 1 and one != variable
        }
        ranges = environment_of(self.facts).ranges
        shared = {
            one
            for one in numbers
            if is_shared(
                leading_to(body, {one}),
                one,
                axis,
                self.consumers,
                self.facts.constants,
                self.launch.grid,
                ranges,
            )
        }
        return dependents(body, {variable}, shared)

    def elements(self, load: Load) -> int:
        """How many elements a load brings."""
        tile = self.facts.tiles.get(load.name)
        if tile is None:
            raise UnsuitedError(f"`{load.name}` is no tile")
        return prod(tile.shape)

    def extent(self, axis: int) -> ast.expr:
        """How many programs stand along an axis, of sizes that kernels may be given."""
        extent = self.launch.grid[axis]
        found = range_of(extent, environment_of(self.facts).ranges)
        if found.low is not None and found.low == found.high:
            return ast.Constant(found.low)
        return in_kernel(extent, self.facts)


def in_kernel(extent: ast.expr, facts: Facts) -> ast.expr:
    """An extent of the grid, of sizes that kernels may be given."""
    made = copy_tree(extent)
    for node in ast.walk(made):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="triton") as module, attr="cdiv")):
                module.id = "gl"
            case ast.Call():
                raise UnsuitedError(f"`{ast.unparse(extent)}` has no form in a kernel")
    if not names_in(made) <= {*facts.dims, *facts.constants, "gl"}:
        raise UnsuitedError(f"how many programs `{ast.unparse(extent)}` are, no kernel knows")
    return made


def depends(load: Load, names: set[str]) -> bool:
    """Whether where a load reads depends on one of these names."""
    return any(names_in(one) & names for one in load.coordinates)


def _targets(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)]):
            yield target


def _grid_variables(kernel: ast.FunctionDef) -> dict[str, int]:
    """The variables that tell programs apart, and their axes."""
    found: dict[str, int] = {}
    for statement in kernel.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                text = ast.unparse(value)
                if text.startswith("tl.program_id("):
                    found[target] = int(text.removeprefix("tl.program_id(").removesuffix(")"))
            case ast.Assign(
                targets=[ast.Tuple(elts=targets)],
                value=ast.Call(func=ast.Attribute(attr="swizzle2d"), args=[*ids]),
            ):
                # The order of a grid changes the places of its programs, not of their number.
                for made, one in zip(targets, ids[:2], strict=True):
                    found[ast.unparse(made)] = found.pop(ast.unparse(one))
    return found
