"""Put tiles of their own for the parts of a tile."""

import ast
from dataclasses import replace

from rewrites.environment import Environment, Names, environment_of
from rewrites.facts import Facts, Tile
from rewrites.quote import copy_tree, place
from rewrites.tile_accesses import Access, Interval, is_whole
from rewrites.tree import base_name, blocks_of, index_list, walk


class Splitter:
    """Replaces one tile by its parts."""

    def __init__(
        self,
        tile: Tile,
        dimension: int,
        cuts: list[Interval],
        accesses: list[Access],
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

    def _is_all(self, interval: Interval | None) -> bool:
        return is_whole(interval, self.tile.shape[self.dimension])

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

    def _part_of(self, operand: ast.expr, cut: Interval) -> ast.expr | None:
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

    def __init__(self, splitter: Splitter) -> None:
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


def _length(cut: Interval) -> ast.expr:
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


def _minus(index: ast.expr, cut: Interval, environment: Environment) -> ast.expr:
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
