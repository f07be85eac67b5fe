"""Find indices of tiles that are known to lie outside, since nothing checks them later.

An index is judged where it is a number, or a sum or multiple of loop variables that certainly take
all of their values there: no condition and no jump stands between the loop and the index.
"""

import ast
from collections.abc import Iterator

from rewrites.environment import environment_of
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.lower_loops import bounds
from rewrites.ranges import Range, range_of
from rewrites.tree import index_list, walk

Ranges = dict[str, Range]


def outside_of_tiles(body: list[ast.stmt], facts: Facts) -> Iterator[Problem]:
    """A problem for each index that leaves its tile."""
    yield from _Indices(facts).block(body, {})


class _Indices:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.constants = environment_of(facts).ranges

    def block(self, body: list[ast.stmt], loops: Ranges) -> Iterator[Problem]:
        """The problems of statements inside of loops over these values."""
        for statement in body:
            match statement:
                case ast.With():
                    yield from self.block(statement.body, loops)
                case ast.For(iter=header):
                    yield from self.tree(header, loops)
                    inside = {} if _jumps(statement) else {**loops, **self._counters(statement)}
                    yield from self.block(statement.body, inside)
                case ast.If(test=test) | ast.While(test=test):
                    yield from self.tree(test, loops)
                    yield from self.block([*statement.body, *statement.orelse], {})
                case _:
                    yield from self.tree(statement, loops)

    def tree(self, tree: ast.AST, loops: Ranges) -> Iterator[Problem]:
        """The problems of an expression, of which some parts may never be evaluated."""
        match tree:
            case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[test, *chosen]):
                yield from self.tree(test, loops)
                for part in chosen:
                    yield from self.tree(part, {})
                return
            case ast.BoolOp(values=[first, *others]):
                yield from self.tree(first, loops)
                for part in others:
                    yield from self.tree(part, {})
                return
            case ast.Subscript(value=ast.Name(id=buffer)):
                yield from self._subscript(tree, buffer, loops)
        for child in ast.iter_child_nodes(tree):
            yield from self.tree(child, loops)

    def _subscript(self, node: ast.Subscript, buffer: str, loops: Ranges) -> Iterator[Problem]:
        tile = self.facts.tiles.get(buffer)
        if tile is None or len(index_list(node)) != tile.rank:
            return
        for index, extent in zip(index_list(node), tile.shape, strict=True):
            reach = self._reach(index, loops)
            if reach is None or (reach[0] >= 0 and reach[1] < extent):
                continue
            low, high = reach
            values = f"index {low}" if low == high else f"indices from {low} to {high}"
            yield Problem(
                node,
                "T2T323",
                f"`{ast.unparse(node)}` is outside of `{buffer}`",
                (f"{values} of a dimension of extent {extent}",),
                f"stay from 0 to {extent - 1}",
            )

    def _reach(self, index: ast.expr, loops: Ranges) -> tuple[int, int] | None:
        """The least and the largest value that the index certainly has."""
        variables = [n.id for n in walk(index) if isinstance(n, ast.Name) and n.id in loops]
        # Of a variable that stands there twice, the intervals say too much.
        is_exact = len(set(variables)) == len(variables)
        if variables and not (is_exact and all(isinstance(n, _MONOTONE) for n in ast.walk(index))):
            return None
        interval = range_of(index, {**self.constants, **loops})
        if interval.low is None or interval.high is None:
            return None
        is_number = interval.low == interval.high
        return (interval.low, interval.high) if variables or is_number else None

    def _counters(self, loop: ast.For) -> Ranges:
        """The loop's variables that run over known values, one after the other."""
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        function = loop.iter.func.attr
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        if function in ("Parallel", "parallel"):
            zero: ast.expr = ast.Constant(0)
            ends = [(zero, extent) for extent in loop.iter.args]
        else:
            start, stop, step = bounds(self.facts.operators[function].arguments(loop.iter))
            stride = range_of(step, self.constants)
            ends = [(start, stop)] if stride.low == stride.high == 1 else []
        found: Ranges = {}
        for target, (first, end) in zip(targets, ends, strict=False):
            low, high = range_of(first, self.constants), range_of(end, self.constants)
            is_known = low.low == low.high and high.low == high.high
            if is_known and low.low is not None and high.low is not None and low.low < high.low:
                assert isinstance(target, ast.Name)
                found[target.id] = Range(low.low, high.low - 1)
        return found


def _jumps(loop: ast.For) -> bool:
    return any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in walk(loop))


_MONOTONE = (
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
)
