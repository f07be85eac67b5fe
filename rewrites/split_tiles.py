"""Make the parts of a tile tiles of their own, where every access is to one of them.

Triton's tensors cannot be sliced, and their lengths are powers of two: a tile of 576 = 512 + 64
columns of which the two parts are used apart would be padded to 1024 and taken apart again.

before:
    D = 64
    def k(A: T.Tensor((32, 96), "float16"), C: T.Tensor((32, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((32, 96), "float16")
            T.copy(A[0:32, :], tile)
            T.copy(tile[:, :D], C)
            for i, j in T.Parallel(32, 32):
                C[i, j] += tile[i, D + j]

after:
    D = 64
    def k(A: T.Tensor((32, 96), 'float16'), C: T.Tensor((32, 64), 'float16')):
        with T.Kernel(1, threads=128) as bx:
            tile_0 = T.alloc_shared((32, D), 'float16')
            tile_64 = T.alloc_shared((32, 96 - D), 'float16')
            T.copy(A[0:32, 0:D], tile_0)
            T.copy(A[0:32, D:96], tile_64)
            T.copy(tile_0, C)
            for i, j in T.Parallel(32, 32):
                C[i, j] += tile_64[i, j]
"""

import ast
import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace

from rewrites.affine import affine
from rewrites.environment import Environment, Names, environment_of
from rewrites.facts import Facts, Tile
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, place
from rewrites.space import index_list
from rewrites.tree import base_name, blocks_of, function_of, walk

# Statements that act on the parts of a whole tile as they act on the tile.
BY_PARTS = ("clear", "fill", "copy")
NARROW = 16


@dataclass(frozen=True)
class _Interval:
    """What an access reaches along one dimension; the trees say how the ends were written."""

    low: int
    high: int
    low_tree: ast.expr
    high_tree: ast.expr


@dataclass(frozen=True)
class _Access:
    node: ast.expr
    intervals: tuple[_Interval | None, ...]
    # The statement operator that it is an operand of.
    operator: str


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Split tiles along one dimension each, and change the accesses to them."""
    function = function_of(tree)
    finder = _Finder(facts)
    finder.block(function.body)
    viewed = {tile.storage for tile in facts.tiles.values() if tile.base}
    for buffer, accesses in finder.accesses.items():
        tile = facts.tiles[buffer]
        if buffer in viewed or tile.base or buffer in finder.refused:
            continue
        for dimension in range(tile.rank):
            cuts = _cuts(tile, dimension, accesses)
            if cuts is not None:
                _Splitter(tile, dimension, cuts, accesses, Names(tree, facts), facts).split(
                    function
                )
                break
    return tree


class _Finder:
    """Gathers the accesses to tiles and what they reach."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.environment = environment_of(facts)
        self.accesses: dict[str, list[_Access]] = {}
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
        self, buffer: str, node: ast.expr, reach: tuple[_Interval | None, ...], operator: str
    ) -> None:
        self.accesses.setdefault(buffer, []).append(_Access(node, reach, operator))

    def _reach(self, node: ast.Subscript) -> tuple[_Interval | None, ...]:
        tile = self.facts.tiles[base_name(node) or ""]
        indices = index_list(node)
        result: list[_Interval | None] = []
        for index, extent, tree in zip(indices, tile.shape, tile.trees, strict=True):
            if isinstance(index, ast.Slice):
                result.append(self._slice(index, extent, tree))
            else:
                result.append(self._element(index))
        return tuple(result)

    def _varies(self, index: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.lanes for n in walk(index))

    def _slice(self, index: ast.Slice, extent: int, tree: ast.expr) -> _Interval | None:
        low_tree = index.lower or ast.Constant(0)
        high_tree = index.upper or tree
        low, high = self._number(low_tree), self._number(high_tree)
        if low is None or high is None or not 0 <= low < high <= extent:
            return None
        return _Interval(low, high, low_tree, high_tree)

    def _element(self, index: ast.expr) -> _Interval | None:
        found = affine(index, self.lanes, self.environment)
        interval = self.environment.range(index)
        if interval.low is None or interval.high is None or interval.low < 0 or found is None:
            return None
        low_tree: ast.expr = ast.Constant(interval.low)
        if self._number(found.rest) == interval.low:
            low_tree = found.rest
        return _Interval(interval.low, interval.high + 1, low_tree, ast.Constant(interval.high + 1))

    def _number(self, tree: ast.expr) -> int | None:
        interval = self.environment.range(tree)
        return interval.low if interval.low == interval.high else None


def _whole(extent: int, tree: ast.expr) -> _Interval:
    return _Interval(0, extent, ast.Constant(0), tree)


def _cuts(tile: Tile, dimension: int, accesses: list[_Access]) -> list[_Interval] | None:
    """The parts of a dimension, in order, or None where an access spans several of them."""
    extent = tile.shape[dimension]
    ends: dict[int, ast.expr] = {0: ast.Constant(0), extent: tile.trees[dimension]}
    parts: list[_Interval] = []
    for access in accesses:
        interval = access.intervals[dimension]
        if interval is None:
            return None
        is_whole = (interval.low, interval.high) == (0, extent)
        if is_whole and access.operator not in BY_PARTS:
            return None
        if is_whole and not all(_is_whole(one, n) for one, n in _others(access, tile, dimension)):
            return None
        if not is_whole:
            parts.append(interval)
            # A name is better than a number, and a slice's ends are better than a loop's.
            for end, end_tree in (
                (interval.low, interval.low_tree),
                (interval.high, interval.high_tree),
            ):
                if end not in ends or isinstance(ends[end], ast.Constant):
                    ends[end] = end_tree if end else ast.Constant(0)
    places = sorted(ends)
    ends[extent] = tile.trees[dimension]
    for part in parts:
        if any(part.low < end < part.high for end in places):
            return None
    # Narrow columns are better loaded together.
    is_matrix = dimension < tile.rank - 2
    if len(places) < 3 or not (is_matrix or all(p.high - p.low >= NARROW for p in parts)):
        return None
    return [_Interval(low, high, ends[low], ends[high]) for low, high in itertools.pairwise(places)]


def _others(access: _Access, tile: Tile, dimension: int) -> list[tuple[_Interval | None, int]]:
    pairs = zip(access.intervals, tile.shape, strict=True)
    return [pair for d, pair in enumerate(pairs) if d != dimension]


def _is_whole(interval: _Interval | None, extent: int) -> bool:
    return interval is not None and (interval.low, interval.high) == (0, extent)


class _Splitter:
    """Replaces one tile by its parts."""

    def __init__(
        self,
        tile: Tile,
        dimension: int,
        cuts: list[_Interval],
        accesses: list[_Access],
        names: Names,
        facts: Facts,
    ) -> None:
        self.tile = tile
        self.dimension = dimension
        self.cuts = cuts
        self.reach = {id(a.node): a.intervals[dimension] for a in accesses}
        self.names = names
        self.facts = facts
        self.parts: dict[int, Tile] = {}

    def split(self, function: ast.FunctionDef) -> None:
        for cut in self.cuts:
            shape = list(self.tile.shape)
            trees = list(self.tile.trees)
            shape[self.dimension] = cut.high - cut.low
            trees[self.dimension] = _length(cut)
            part = replace(
                self.tile,
                name=self.names.fresh(f"{self.tile.name}_{cut.low}"),
                shape=tuple(shape),
                trees=tuple(trees),
            )
            self.parts[cut.low] = part
        whole = {i for i, interval in self.reach.items() if self._is_all(interval)}
        if not self._can_split(function.body, whole):
            return
        self.facts.tiles.update({part.name: part for part in self.parts.values()})
        function.body = self._block(function.body, whole)
        _Parts(self).visit(function)

    def _is_all(self, interval: _Interval | None) -> bool:
        return _is_whole(interval, self.tile.shape[self.dimension])

    def _can_split(self, body: list[ast.stmt], whole: set[int]) -> bool:
        for statement in body:
            for inner in blocks_of(statement):
                if not self._can_split(inner, whole):
                    return False
            if self._acts_on(statement, whole) and self._by_parts(statement) is None:
                return False
        return True

    def _block(self, body: list[ast.stmt], whole: set[int]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            for field in ("body", "orelse"):
                inner = getattr(statement, field, None)
                if inner:
                    setattr(statement, field, self._block(inner, whole))
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)]) if target == self.tile.name:
                    result += [self._declaration(statement, p) for p in self.parts.values()]
                    continue
            if self._acts_on(statement, whole):
                result += self._by_parts(statement) or []
            else:
                result.append(statement)
        return result

    def _acts_on(self, statement: ast.stmt, whole: set[int]) -> bool:
        return isinstance(statement, ast.Expr) and any(id(n) in whole for n in walk(statement))

    def _declaration(self, statement: ast.Assign, part: Tile) -> ast.stmt:
        new = copy_tree(statement)
        assert isinstance(new.value, ast.Call)
        new.targets = [ast.Name(part.name, ast.Store())]
        new.value.args[0] = ast.Tuple([copy_tree(tree) for tree in part.trees], ast.Load())
        return place(new, statement)

    def _by_parts(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """A fill of every part, or a copy of every part from or to that of the tensor."""
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        call = statement.value
        made: list[ast.stmt] = []
        for cut in self.cuts:
            operands: list[ast.expr] = []
            for argument in call.args:
                if base_name(argument) == self.tile.name:
                    operands.append(ast.Name(self.parts[cut.low].name, ast.Load()))
                    continue
                part = copy_tree(argument)
                if base_name(argument) in self.facts.tensors.keys() | self.facts.tiles.keys():
                    moved = self._part_of(argument, cut)
                    if moved is None:
                        return None
                    part = moved
                operands.append(part)
            new = copy_tree(call)
            new.args = operands
            made.append(place(ast.Expr(new), statement))
        return made

    def _part_of(self, operand: ast.expr, cut: _Interval) -> ast.expr | None:
        """The part of a tensor's region that belongs to a part of the tile."""
        buffer = base_name(operand)
        if buffer not in self.facts.tensors:
            return None
        tensor = self.facts.tensors[buffer]
        indices: list[ast.expr] = [ast.Slice() for _ in range(tensor.rank)]
        if isinstance(operand, ast.Subscript):
            indices = [copy_tree(index) for index in index_list(operand)]
        slices = [d for d, index in enumerate(indices) if isinstance(index, ast.Slice)]
        if 1 in self.tile.shape:
            return None
        if not slices:
            at = len(indices) - self.tile.rank + self.dimension
            if at < 0:
                return None
            indices[at] = _plus(indices[at], cut.low_tree)
        elif len(slices) == self.tile.rank:
            at = slices[self.dimension]
            chosen = indices[at]
            assert isinstance(chosen, ast.Slice)
            start = chosen.lower or ast.Constant(0)
            indices[at] = ast.Slice(_plus(start, cut.low_tree), _plus(start, cut.high_tree))
        else:
            return None
        index = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
        return ast.Subscript(ast.Name(buffer, ast.Load()), index, ast.Load())


class _Parts(ast.NodeTransformer):
    """Puts a part where the tile was, with indices that count from the part's start."""

    def __init__(self, splitter: _Splitter) -> None:
        self.splitter = splitter
        self.environment = environment_of(splitter.facts)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        interval = self.splitter.reach.get(id(node))
        if interval is None or base_name(node) != self.splitter.tile.name:
            return node
        cut = next(c for c in self.splitter.cuts if c.low <= interval.low < c.high)
        part = self.splitter.parts[cut.low]
        indices = index_list(node)
        at = self.splitter.dimension
        index = indices[at]
        if not isinstance(index, ast.Slice):
            indices[at] = _minus(index, cut, self.environment)
        elif (interval.low, interval.high) == (cut.low, cut.high):
            indices[at] = ast.Slice()
        else:
            indices[at] = ast.Slice(
                _minus(interval.low_tree, cut, self.environment),
                _minus(interval.high_tree, cut, self.environment),
            )
        bare = ast.Name(part.name, ast.Load())
        whole = all(isinstance(i, ast.Slice) and not (i.lower or i.upper) for i in indices)
        made: ast.expr = bare
        if not whole:
            items = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
            made = ast.Subscript(bare, items, node.ctx)
        return place(made, node)


def _length(cut: _Interval) -> ast.expr:
    if cut.low == 0:
        return cut.high_tree
    if isinstance(cut.low_tree, ast.Constant) and isinstance(cut.high_tree, ast.Constant):
        return ast.Constant(cut.high - cut.low)
    return ast.BinOp(cut.high_tree, ast.Sub(), cut.low_tree)


def _plus(start: ast.expr, by: ast.expr) -> ast.expr:
    if isinstance(start, ast.Constant) and start.value == 0:
        return by
    if isinstance(by, ast.Constant) and by.value == 0:
        return start
    return ast.BinOp(start, ast.Add(), by)


def _minus(index: ast.expr, cut: _Interval, environment: Environment) -> ast.expr:
    """An index of the tile as one of its part."""
    if cut.low == 0:
        return index
    rest = _without(index, cut.low, environment)
    return ast.BinOp(index, ast.Sub(), cut.low_tree) if rest is None else rest


def _without(index: ast.expr, number: int, environment: Environment) -> ast.expr | None:
    """The sum without the term that is `number`, or None where there is none."""
    interval = environment.range(index)
    if interval.low == interval.high == number:
        return ast.Constant(0)
    match index:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for term, other in ((left, right), (right, left)):
                rest = _without(term, number, environment)
                if rest is not None:
                    is_nothing = isinstance(rest, ast.Constant)
                    return other if is_nothing else ast.BinOp(rest, ast.Add(), other)
    return None
