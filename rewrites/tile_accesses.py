"""The accesses to tiles, and what each of them reaches along every dimension."""

import ast
from collections.abc import Collection
from dataclasses import dataclass

from rewrites.affine import affine
from rewrites.environment import environment_of
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import base_name, blocks_of, index_list, walk


@dataclass(frozen=True)
class Interval:
    """What an access reaches along one dimension; the trees say how the ends were written."""

    low: int
    high: int
    low_tree: ast.expr
    high_tree: ast.expr


@dataclass(frozen=True)
class Access:
    node: ast.expr
    intervals: tuple[Interval | None, ...]
    # The statement operator that it is an operand of.
    operator: str


class Accesses:
    """Gathers the accesses to tiles and what they reach."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.environment = environment_of(facts)
        self.of_tile: dict[str, list[Access]] = {}
        self.refused: set[str] = set()
        self.lanes: set[str] = set()

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case Comment() | Blank():
                return
            case ast.With(body=body):
                self.block(body)
            case ast.For(target=target, iter=ast.Call() as header, body=body):
                self._tree(header, "")
                self._counters(target, header)
                self.block(body)
            case ast.While(test=test, body=body) | ast.If(test=test, body=body):
                self._tree(test, "")
                for inner in blocks_of(statement):
                    self.block(inner)
            case ast.Assign(targets=[ast.Name(id=target)]) if target in self.facts.tiles:
                return
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
                self._tree(call, function, self._starts(call, function))
            case _:
                self._tree(statement, "")

    def _counters(self, target: ast.expr, header: ast.Call) -> None:
        assert isinstance(header.func, ast.Attribute)
        zero = ast.Constant(0)
        if header.func.attr in ("Parallel", "parallel"):
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            for variable, extent in zip(targets, header.args, strict=True):
                self.environment.add_counter(ast.unparse(variable), zero, extent, 1)
                self.lanes.add(ast.unparse(variable))
        else:
            # A tile that a loop walks along is no sum of fixed parts.
            for node in walk(target):
                if isinstance(node, ast.Name):
                    self.environment.ranges.pop(node.id, None)
                    self.lanes.discard(node.id)

    def _starts(self, call: ast.Call, function: str) -> set[int]:
        """The operands of a statement operator that may stand for more than the one they name."""
        operator = self.facts.operators[function]
        is_of_elements = function.startswith("atomic") and operator.width == 1
        return {
            id(operand)
            for operand in (*call.args, *(keyword.value for keyword in call.keywords))
            if isinstance(operand, ast.Subscript)
            and not any(isinstance(index, ast.Slice) for index in index_list(operand))
            and not (is_of_elements and self._varies(operand))
        }

    def _tree(self, tree: ast.AST, operator: str, starts: Collection[int] = ()) -> None:
        bases = {id(n.value) for n in walk(tree) if isinstance(n, ast.Subscript)}
        for node in walk(tree):
            match node:
                case ast.Subscript(value=ast.Name(id=buffer)) if buffer in self.facts.tiles:
                    reach = self._reach(node)
                    if id(node) in starts:
                        reach = (None,) * len(reach)
                    self._add(buffer, node, reach, operator)
                case ast.Name(id=buffer) if buffer in self.facts.tiles and id(node) not in bases:
                    tile = self.facts.tiles[buffer]
                    whole = tuple(map(_whole, tile.shape, tile.trees))
                    self._add(buffer, node, whole, operator)

    def _add(
        self, buffer: str, node: ast.expr, reach: tuple[Interval | None, ...], operator: str
    ) -> None:
        self.of_tile.setdefault(buffer, []).append(Access(node, reach, operator))

    def _reach(self, node: ast.Subscript) -> tuple[Interval | None, ...]:
        tile = self.facts.tiles[base_name(node) or ""]
        indices = index_list(node)
        result: list[Interval | None] = []
        for index, extent, tree in zip(indices, tile.shape, tile.trees, strict=True):
            if isinstance(index, ast.Slice):
                result.append(self._slice(index, extent, tree))
            else:
                result.append(self._element(index))
        return tuple(result)

    def _varies(self, index: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.lanes for n in walk(index))

    def _slice(self, index: ast.Slice, extent: int, tree: ast.expr) -> Interval | None:
        low_tree = index.lower or ast.Constant(0)
        high_tree = index.upper or tree
        low, high = self._number(low_tree), self._number(high_tree)
        if low is None or high is None or not 0 <= low < high <= extent:
            return None
        return Interval(low, high, low_tree, high_tree)

    def _element(self, index: ast.expr) -> Interval | None:
        found = affine(index, self.lanes, self.environment)
        interval = self.environment.range(index)
        if interval.low is None or interval.high is None or interval.low < 0 or found is None:
            return None
        low_tree: ast.expr = ast.Constant(interval.low)
        if self._number(found.rest) == interval.low:
            low_tree = found.rest
        return Interval(interval.low, interval.high + 1, low_tree, ast.Constant(interval.high + 1))

    def _number(self, tree: ast.expr) -> int | None:
        interval = self.environment.range(tree)
        return interval.low if interval.low == interval.high else None


def _whole(extent: int, tree: ast.expr) -> Interval:
    return Interval(0, extent, ast.Constant(0), tree)


def is_whole(interval: Interval | None, extent: int) -> bool:
    """Whether an access reaches all of a dimension."""
    return interval is not None and (interval.low, interval.high) == (0, extent)
