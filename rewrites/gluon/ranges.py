"""How far loops go that share their rings, and how far they go for other consumers."""

import ast
import functools
import itertools
from dataclasses import dataclass, field

from rewrites.environment import environment_of
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import in_gluon
from rewrites.gluon.parts import Parts
from rewrites.gluon.rings import leading_to
from rewrites.gluon.turns_of_programs import bounds_of_programs
from rewrites.quote import expr, literal, name, stmts, substituted
from rewrites.tree import names_in


@dataclass
class Chain:
    """Loops each of which goes on where the one before stopped, over turns that all count alike."""

    parts: Parts
    loops: list[ast.For]
    # Whether the last loop stops last in every program.
    rises: bool = True
    _names: dict[int, dict[str, str]] = field(default_factory=dict)

    @property
    def ends(self) -> list[ast.expr]:
        """Where its loops stop."""
        return [_range(one)[1] for one in self.loops]

    @property
    def bounds(self) -> list[ast.expr]:
        """Where the first loop starts, and where each one stops, which is where the next starts."""
        return [_range(self.loops[0])[0], *self.ends]

    @property
    def differs(self) -> bool:
        """Whether consumers have different turns."""
        return any(names_in(one) & self.parts.dependent for one in self.bounds)

    @property
    def first(self) -> ast.expr:
        """The first turn that any consumer has."""
        return self._over_all("gl.minimum(a, b)", self.bounds[:1])

    @property
    def last(self) -> ast.expr:
        """Behind the last turn that any consumer has."""
        return self._over_all("gl.maximum(a, b)", self.ends[-1:] if self.rises else self.ends)

    def _over_all(self, template: str, bounds: list[ast.expr]) -> ast.expr:
        found: dict[str, ast.expr] = {}
        for one in bounds:
            is_own = bool(names_in(one) & self.parts.dependent)
            for part in range(self.parts.consumers if is_own else 1):
                made = in_gluon(substituted(one, self.names_of(part)))
                found.setdefault(ast.unparse(made), made)
        return functools.reduce(lambda a, b: expr(template, a=a, b=b), found.values())

    def names_of(self, part: int) -> dict[str, ast.expr | str]:
        """What the variables of one consumer are called where those of all are needed."""
        if part not in self._names:
            fresh = self.parts.names.fresh
            self._names[part] = {
                one: fresh(f"{one}_{part}") for one in sorted(self.parts.dependent)
            }
        return dict(self._names[part])

    def statements(self, needed: set[str], dependent: set[str]) -> list[ast.stmt]:
        """What sets these names, the `dependent` ones and the ends for each consumer."""
        wanted = set(needed) | dependent | set().union(*map(names_in, self.bounds))
        found = leading_to(self.parts.kernel.body, wanted)
        return [made for one in found for made in self.copies(one)]

    def copies(self, one: ast.Assign) -> list[ast.stmt]:
        """A statement for all consumers, or for each of them where they differ."""
        if names_in(one.targets[0]) & self.parts.dependent:
            made: list[ast.stmt] = []
            for part in range(self.parts.consumers):
                copy = substituted(one, self.names_of(part))
                made += self.paired(one, copy, literal(part))
            return made
        # What is the same for all of them follows from the first one's.
        copy = substituted(one, self.names_of(0) if self.parts.consumers > 1 else {})
        copy.value = in_gluon(copy.value)
        return [copy]

    def require_contiguous(self) -> None:
        """Let no loop start before the one in front of it: rings bring turns in their order."""
        if len(self.loops) == 1:
            return
        names = set().union(*map(names_in, self.bounds))
        facts = self.parts.facts
        for _, (start, *stops) in bounds_of_programs(
            leading_to(self.parts.kernel.body, names),
            self.bounds,
            facts.constants,
            self.parts.launch.grid,
            environment_of(facts).ranges,
        ):
            turns = sum(max(two - one, 0) for one, two in itertools.pairwise((start, *stops)))
            if turns != max(start, *stops) - start:
                raise UnsuitedError(f"its loops go from {start} to {', to '.join(map(str, stops))}")
            self.rises &= stops[-1] == max(start, *stops)

    def paired(self, one: ast.Assign, copy: ast.Assign, part: ast.expr) -> list[ast.stmt]:
        """A statement, after which a program's place in the grid is that of one consumer.

        The grid has one program for all of them.
        """
        copy.value = in_gluon(copy.value)
        pairing = self.parts.pairing
        if pairing is None or pairing.variable not in names_in(one.targets[0]):
            return [copy]
        count = literal(self.parts.consumers)
        (own,) = {
            made.id
            for before, made in zip(_names(one.targets[0]), _names(copy.targets[0]), strict=True)
            if before.id == pairing.variable
        }
        made: list[ast.stmt] = [copy]
        is_first = isinstance(part, ast.Constant) and part.value == 0
        template = "value * count" if is_first else "value * count + part"
        if isinstance(copy.targets[0], ast.Name):
            copy.value = expr(template, value=copy.value, count=count, part=part)
        else:
            value = expr(template, value=name(own), count=count, part=part)
            made += stmts("own = value", own=own, value=value)
        last: ast.expr | None = expr("extent - 1", extent=pairing.extent)
        match pairing.extent:
            case ast.Constant(value=int(extent)):
                last = literal(extent - 1) if extent % self.parts.consumers else None
        if last is not None:
            # Of the last programs, some compute the last tile again, and store the same.
            made += stmts("own = gl.minimum(own, last)", own=own, last=last)
        return made

    def passed(self, body: list[ast.stmt], turn: str, is_first: bool) -> list[ast.stmt]:
        """Let `body` give back the tiles of turns that only other consumers have.

        `turn` counts what this one has taken: before the first loop up to where it starts, behind
        the last loop up to where all have stopped.
        """
        if not self.differs or (is_first and not self._starts_apart()):
            return []
        stop = self.last
        if is_first:
            stop = expr("gl.minimum(a, b)", a=in_gluon(self.bounds[0]), b=stop)
        count = _difference(stop, self.first)
        header = expr("range(turn, count)", turn=turn, count=count)
        loop = ast.For(name(self.parts.names.fresh("left")), header, body, [])
        set_here = self.statements(set(), set()) if is_first or not self._starts_apart() else []
        return [*set_here, loop]

    def _starts_apart(self) -> bool:
        return bool(names_in(self.bounds[0]) & self.parts.dependent)


def chain_of(parts: Parts) -> Chain:
    """The loops of a kernel as one chain."""
    loops = parts.loops
    for one, two in itertools.pairwise(loops):
        if ast.dump(_range(one)[1]) != ast.dump(_range(two)[0]):
            raise UnsuitedError("its loops do not go on where the one before stopped")
    chain = Chain(parts, loops)
    chain.require_contiguous()
    return chain


def _difference(stop: ast.expr, start: ast.expr) -> ast.expr:
    if isinstance(start, ast.Constant) and start.value == 0:
        return stop
    return expr("stop - start", stop=stop, start=start)


def _range(loop: ast.For) -> tuple[ast.expr, ast.expr]:
    match loop.iter:
        case ast.Call(args=[stop]):
            return literal(0), stop
        case ast.Call(args=[start, stop]):
            return start, stop
    raise UnsuitedError("a loop does not count one by one")


def _names(tree: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
