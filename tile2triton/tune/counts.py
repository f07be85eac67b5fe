"""Count what a tile program does, with tiles of any size, without tracing it again.

Trip counts, such as a causal loop's, may depend on the program: some programs of the grid stand for
all. What is known at the launch only counts as `UNKNOWN` turns. The trees of a program that was
traced for other tiles are taken for those of the wanted ones.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Mapping

from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two
from rewrites.facts import Facts, Program, Tile
from rewrites.fit_stages import factors_of, staged_bytes
from rewrites.ranges import Range, range_of
from rewrites.tree import base_name, blocks_of, function_of, names_in, operator_call, walk
from tile2triton.tune.live import live_words
from tile2triton.tune.tile_sizes import numbers_of
from tile2triton.tune.work import Access, Product, Work

UNKNOWN = 16
# Where in the grid the programs are that stand for all, in parts of six.
SAMPLES = (1, 3, 5)
SPECIALS = frozenset(
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan tanh erf sigmoid pow".split()
)


def resized(program: Program, sizes: Mapping[str, int]) -> Program:
    """The program with other values of constants, and tiles of those extents."""
    facts = program.facts
    constants = {**facts.constants, **sizes}
    numbers = numbers_of(dataclasses.replace(facts, constants=constants))
    tiles = {name: _resized_tile(tile, numbers) for name, tile in facts.tiles.items()}
    return Program(program.tree, dataclasses.replace(facts, constants=constants, tiles=tiles))


def counted(program: Program, sizes: Mapping[str, int]) -> tuple[Work, ...]:
    """The work of each launch, with these values of constants that are sizes of tiles."""
    sized = resized(program, sizes)
    function = function_of(sized.tree)
    factors = factors_of(function, sized.facts)
    return tuple(
        _launch(block, sized.facts, factors)
        for block in function.body
        if isinstance(block, ast.With)
    )


def _resized_tile(tile: Tile, numbers: Mapping[str, Range]) -> Tile:
    values = [range_of(tree, numbers).high for tree in tile.trees]
    shape = [
        old if new is None else max(1, new) for old, new in zip(tile.shape, values, strict=True)
    ]
    return dataclasses.replace(tile, shape=tuple(shape))


def _launch(block: ast.With, facts: Facts, factors: set[str]) -> Work:
    header, target = block.items[0].context_expr, block.items[0].optional_vars
    assert isinstance(header, ast.Call), "a grid is T.Kernel(…)"
    numbers = numbers_of(facts)
    grid = tuple(max(1, range_of(extent, numbers).high or UNKNOWN) for extent in header.args)
    variables = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [one.id for one in variables if isinstance(one, ast.Name)]
    counter = Counter(facts)
    for sample in SAMPLES:
        counter.numbers = dict(numbers)
        for number, (name, extent) in enumerate(zip(names, grid, strict=False)):
            at = extent * sample // 6
            counter.numbers[name] = Range(at, at)
            counter.dimensions[name] = frozenset({number})
        counter.block(block.body, 1 / len(SAMPLES))
    staged, kept = _shared(block, facts, factors)
    words, sums = live_words(block, facts)
    return Work(
        grid=grid,
        accesses=tuple(counter.accesses.values()),
        products=tuple(counter.products.values()),
        lanes=counter.lanes,
        specials=counter.specials,
        panel=_panel(block, numbers),
        turns=counter.turns,
        staged=staged,
        kept=kept,
        stored=counter.stored,
        words=words,
        sums=sums,
    )


def _panel(block: ast.With, numbers: Mapping[str, Range]) -> int:
    for statement in block.body:
        call = operator_call(statement, "use_swizzle")
        if call is not None:
            given = [*call.args, *(word.value for word in call.keywords)]
            return range_of(given[0], numbers).high or 0
    return 0


def _shared(block: ast.With, facts: Facts, factors: set[str]) -> tuple[int, int]:
    """Bytes of one stage of the loop that has most, and of other tiles that products read."""
    staged, looped = 0, set[str]()
    for node in walk(block):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Pipelined")), body=body):
                staged = max(staged, staged_bytes(body, factors, facts))
                looped |= {base_name(one) or "" for one in _written(body, facts)}
    rest = [facts.tiles[name] for name in sorted(factors - looped)]
    return staged, sum(tile_bytes(tile) for tile in rest if tile.scope == "shared")


def _written(body: list[ast.stmt], facts: Facts) -> list[ast.expr]:
    calls = [
        operator_call(node, "copy")
        for statement in body
        for node in walk(statement)
        if isinstance(node, ast.stmt)
    ]
    return [facts.operators["copy"].arguments(call)["dst"] for call in calls if call is not None]


def elements(tile: Tile) -> int:
    """The elements that a tile has in Triton, whose extents are powers of two."""
    return math.prod(next_power_of_two(extent) for extent in tile.shape)


def tile_bytes(tile: Tile) -> int:
    return elements(tile) * bits(tile.dtype) // 8


class Counter:
    """Adds up what a program does; `numbers` are the values of names where it has got to."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.numbers: dict[str, Range] = {}
        self.dimensions: dict[str, frozenset[int]] = {}
        self.accesses: dict[int, Access] = {}
        self.products: dict[int, Product] = {}
        self.lanes = 0.0
        self.specials = 0.0
        self.turns = 0.0
        self.stored = 0

    def block(self, body: list[ast.stmt], times: float) -> None:
        for statement in body:
            self.statement(statement, times)

    def statement(self, statement: ast.stmt, times: float) -> None:
        match statement:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
                self._lanes(statement, times)
            case ast.For(target=target, iter=ast.Call(args=given), body=body):
                self._loop(target, given, body, times)
            case ast.If(body=body, orelse=orelse):
                # Which way is taken is not known; both are as likely.
                for branch in (body, orelse):
                    self.block(branch, times / 2 if orelse else times)
            case ast.While(body=body):
                self.block(body, times * UNKNOWN)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called)) as call):
                self._call(called, call, times)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.numbers[name] = range_of(value, self.numbers)
                self.dimensions[name] = self._dimensions(value)
            case _:
                for inner in blocks_of(statement):
                    self.block(inner, times)

    def _loop(
        self, target: ast.expr, given: list[ast.expr], body: list[ast.stmt], times: float
    ) -> None:
        start, stop = (given[0], given[1]) if len(given) > 1 else (ast.Constant(0), given[0])
        step = self._value(given[2]) if len(given) > 2 else 1
        first, last = self._value(start), self._value(stop)
        turns = UNKNOWN
        if first is not None and last is not None:
            turns = max(0, -(-(last - first) // max(1, step or 1)))
        if isinstance(target, ast.Name):
            middle = (first or 0) + turns // 2
            self.numbers[target.id] = Range(middle, middle)
            self.dimensions[target.id] = frozenset()
        self.turns += times * turns
        self.block(body, times * turns)

    def _lanes(self, loop: ast.For, times: float) -> None:
        assert isinstance(loop.iter, ast.Call), "it is over T.Parallel(…)"
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        extents = {
            target.id: next_power_of_two(max(1, self._value(extent) or UNKNOWN))
            for target, extent in zip(targets, loop.iter.args, strict=False)
            if isinstance(target, ast.Name)
        }
        count = math.prod(extents.values())
        for statement in loop.body:
            for node in _computing(statement):
                self._operation(node, times * count)
            for node in walk(statement):
                if isinstance(node, ast.Subscript) and base_name(node) in self.facts.tensors:
                    # Lanes that read one element share it.
                    used = names_in(node.slice)
                    lanes = math.prod(size for name, size in extents.items() if name in used)
                    self._access(node, lanes, times, isinstance(node.ctx, ast.Store))

    def _operation(self, node: ast.AST, count: float) -> None:
        match node:
            case ast.Call(func=ast.Attribute(attr=called)) if called in SPECIALS:
                self.specials += count
            case ast.BinOp(op=ast.Div() | ast.Pow()):
                self.specials += count
        self.lanes += count

    def _call(self, called: str, call: ast.Call, times: float) -> None:
        if called == "gemm":
            self._product(call, times)
            return
        operands = [*call.args, *(word.value for word in call.keywords)]
        bases = [base_name(one) or "" for one in operands]
        tiles = [self.facts.tiles[one] for one in bases if one in self.facts.tiles]
        count = max((elements(tile) for tile in tiles), default=1)
        for number, (operand, base) in enumerate(zip(operands, bases, strict=True)):
            if base in self.facts.tensors:
                # The source of a copy comes first; what others name they change.
                is_store = called != "copy" or number > 0
                self._access(operand, count, times, is_store)
                if is_store:
                    size = count * bits(self.facts.tensors[base].dtype) // 8
                    self.stored = max(self.stored, size)
        if called == "copy" and {*bases} & self.facts.tensors.keys() and _all_shared(tiles):
            # Copy engines move it, and no thread computes.
            return
        # What goes from one thread to another takes a second operation.
        is_joint = called.startswith(("reduce", "cum", "transpose", "sort", "topk"))
        self.lanes += times * count * (2 if is_joint else 1)

    def _product(self, call: ast.Call, times: float) -> None:
        given = self.facts.operators["gemm"].arguments(call)
        left, made = (self.facts.tiles.get(base_name(given[key]) or "") for key in "AC")
        if left is None or made is None or made.rank < 2:
            return
        contracted = max(1, elements(left) // next_power_of_two(made.shape[-2]))
        before = self.products.get(id(call))
        times += before.times if before is not None else 0
        rows, columns = made.shape[-2:]
        self.products[id(call)] = Product(rows, columns, contracted, left.dtype, times)

    def _access(self, operand: ast.expr, count: int, times: float, is_store: bool) -> None:
        tensor = self.facts.tensors[base_name(operand) or ""]
        size = bits(tensor.dtype) / 8
        extents = [range_of(extent, self.numbers).high or UNKNOWN for extent in tensor.shape]
        moved = times * count * size
        before = self.accesses.get(id(operand))
        if before is not None:
            moved += before.moved
        index = operand.slice if isinstance(operand, ast.Subscript) else ast.Constant(0)
        self.accesses[id(operand)] = Access(
            int(math.prod(extents) * size), moved, self._dimensions(index), is_store
        )

    def _dimensions(self, tree: ast.AST) -> frozenset[int]:
        found = [self.dimensions.get(name, frozenset()) for name in names_in(tree)]
        return frozenset().union(*found)

    def _value(self, tree: ast.expr) -> int | None:
        return range_of(tree, self.numbers).high


def _all_shared(tiles: list[Tile]) -> bool:
    return all(tile.scope == "shared" for tile in tiles)


def _computing(tree: ast.AST) -> list[ast.AST]:
    """Operations on elements, without those that compute where an element is."""
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Subscript):
            continue
        if isinstance(node, (ast.BinOp, ast.Call, ast.Compare, ast.BoolOp, ast.AugAssign)):
            found.append(node)
        waiting += ast.iter_child_nodes(node)
    return found
