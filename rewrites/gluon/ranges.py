"""How far loops go that share their rings, and how far they go for other consumers."""

import ast
import functools
import itertools
from dataclasses import dataclass

from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import in_gluon
from rewrites.gluon.parts import Parts
from rewrites.quote import copy_tree, expr, literal, name, stmts, substituted
from rewrites.tree import names_in


@dataclass
class Chain:
    """Loops each of which goes on where the one before stopped, over turns that all count alike."""

    parts: Parts
    loops: list[ast.For]

    @property
    def start(self) -> ast.expr:
        return _range(self.loops[0])[0]

    @property
    def stop(self) -> ast.expr:
        return _range(self.loops[-1])[1]

    @property
    def differs(self) -> bool:
        """Whether consumers go to different ends."""
        return bool(names_in(self.stop) & self.parts.dependent)

    @property
    def last_stop(self) -> ast.expr:
        """Where the last consumer stops."""
        if not self.differs:
            return self.stop
        ends = [substituted(self.stop, self.names_of(part)) for part in range(self.parts.consumers)]
        return functools.reduce(lambda a, b: expr("gl.maximum(a, b)", a=a, b=b), ends)

    def names_of(self, part: int) -> dict[str, ast.expr | str]:
        """What the variables of one consumer are called where those of all are needed."""
        return {one: f"{one}_{part}" for one in self.parts.dependent}

    def statements(self, needed: set[str], dependent: set[str]) -> list[ast.stmt]:
        """What sets these names, the `dependent` ones and the ends for each consumer."""
        for_all = set(dependent)
        if self.differs:
            for_all |= names_in(self.stop) & self.parts.dependent
        wanted = set(needed) | for_all | names_in(self.stop)
        found: list[ast.Assign] = []
        for statement in reversed(self.parts.kernel.body):
            match statement:
                case ast.Assign(targets=[target]) if names_in(target) & wanted:
                    found.insert(0, statement)
                    wanted |= names_in(statement.value)
        made: list[ast.stmt] = []
        for one in found:
            targets = names_in(one.targets[0])
            if targets & self.parts.dependent:
                for part in range(self.parts.consumers):
                    copy = substituted(one, self.names_of(part))
                    made += self.paired(one, copy, literal(part))
            else:
                copy = copy_tree(one)
                copy.value = in_gluon(one.value)
                made.append(copy)
        return made

    def paired(self, one: ast.Assign, copy: ast.Assign, part: ast.expr) -> list[ast.stmt]:
        """A statement, after which a program's place in the grid is that of one consumer.

        The grid has one program for all of them.
        """
        copy.value = in_gluon(copy.value)
        if self.parts.paired not in names_in(one.targets[0]) or self.parts.consumers == 1:
            return [copy]
        count = literal(self.parts.consumers)
        (own,) = {
            made.id
            for before, made in zip(_names(one.targets[0]), _names(copy.targets[0]), strict=True)
            if before.id == self.parts.paired
        }
        made: list[ast.stmt] = [copy]
        is_first = isinstance(part, ast.Constant) and part.value == 0
        template = "value * count" if is_first else "value * count + part"
        if isinstance(copy.targets[0], ast.Name):
            copy.value = expr(template, value=copy.value, count=count, part=part)
        else:
            value = expr(template, value=name(own), count=count, part=part)
            made += stmts("own = value", own=own, value=value)
        if self.parts.extent % self.parts.consumers:
            # Of the last programs, some compute the last tile again, and store the same.
            last = literal(self.parts.extent - 1)
            made += stmts("own = gl.minimum(own, last)", own=own, last=last)
        return made

    def drained(self, rings: list[tuple[str, str, str]], stages: str) -> list[ast.stmt]:
        """Give back the tiles that only other consumers use; names of barriers for each ring."""
        if not self.differs:
            return []
        body: list[ast.stmt] = []
        for full, empty, turn in rings:
            body += stmts(
                "mbarrier.wait(full.index(turn % stages), (turn // stages) & 1)\n"
                "mbarrier.arrive(empty.index(turn % stages), count=1)\n"
                "turn += 1",
                full=full,
                empty=empty,
                turn=turn,
                stages=stages,
            )
        start, stop = in_gluon(self.stop), in_gluon(self.last_stop)
        header = expr("range(start, stop)", start=start, stop=stop)
        loop = ast.For(name(self.parts.names.fresh("left")), header, body, [])
        return [*self.statements(set(), names_in(self.stop) & self.parts.dependent), loop]


def chain_of(parts: Parts) -> Chain:
    """The loops of a kernel as one chain."""
    loops = parts.loops
    for one, two in itertools.pairwise(loops):
        if ast.dump(_range(one)[1]) != ast.dump(_range(two)[0]):
            raise UnsuitedError("its loops do not go on where the one before stopped")
    chain = Chain(parts, loops)
    if names_in(chain.start) & parts.dependent:
        raise UnsuitedError("consumers would start at different turns")
    return chain


def _range(loop: ast.For) -> tuple[ast.expr, ast.expr]:
    match loop.iter:
        case ast.Call(args=[stop]):
            return literal(0), stop
        case ast.Call(args=[start, stop]):
            return start, stop
    raise UnsuitedError("a loop does not count one by one")


def _names(tree: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
