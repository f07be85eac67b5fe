"""Compute numbers that are packed side by side part by part: all first ones, then all second ones.

An element of a loop that reads `s[i, j // 2]` and differs by `j % 2` would read every packed number
twice and shift each by an amount of its own. Parts read it once and shift by fixed amounts.

before:
    def k(A: T.Tensor((64, 16), "uint8"), C: T.Tensor((64, 32), "int32")):
        with T.Kernel(1, threads=128) as bx:
            s = T.alloc_shared((64, 16), "uint8")
            w = T.alloc_fragment((64, 32), "int32")
            T.copy(A[0, 0], s)
            for i, j in T.Parallel(64, 32):
                w[i, j] = s[i, j // 2] >> 4 * (j % 2) & 15
            T.copy(w, C[0, 0])

after:
    def k(A: T.Tensor((64, 16), 'uint8'), C: T.Tensor((64, 32), 'int32')):
        with T.Kernel(1, threads=128) as bx:
            s = T.alloc_shared((64, 16), 'uint8')
            w = T.alloc_fragment((64, 32), 'int32')
            T.copy(A[0, 0], s)
            w_0 = T.alloc_fragment((64, 16), 'int32')
            w_1 = T.alloc_fragment((64, 16), 'int32')
            for i, j in T.Parallel(64, 16):
                w_0[i, j] = s[i, j] & 15
            for i, j in T.Parallel(64, 16):
                w_1[i, j] = s[i, j] >> 4 & 15
            T.interleave(w_0, w_1, w)
            T.copy(w, C[0, 0])
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewrites.environment import Names, environment_of
from rewrites.facts import Facts, Tile
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, literal, name, place, stmts
from rewrites.tree import base_name, function_of, index_list, loop_kind, walk

# Numbers that lie side by side in one element.
_COUNTS = (2, 4, 8)


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Take the loops apart that unpack numbers along their last variable."""
    names = Names.of(tree, facts)
    for block in function_of(tree).body:
        if isinstance(block, ast.With):
            block.body = _block(block.body, names, facts)
    return tree


def _block(body: list[ast.stmt], names: Names, facts: Facts) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for statement in body:
        loop = _unpacking(statement, facts)
        if loop is not None:
            result += _parts(loop, names, facts)
            continue
        if loop_kind(statement) != "Parallel":
            for field in ("body", "orelse"):
                inner = getattr(statement, field, None)
                if inner:
                    setattr(statement, field, _block(inner, names, facts))
        result.append(statement)
    return result


@dataclass(frozen=True)
class _Loop:
    """A loop that fills `tile`, whose last variable has `count` numbers in each packed element."""

    node: ast.For
    variable: str
    tile: Tile
    count: int


class _NotPackedError(Exception):
    """The last variable is used as it is."""


def _unpacking(statement: ast.stmt, facts: Facts) -> _Loop | None:
    if not isinstance(statement, ast.For) or loop_kind(statement) != "Parallel":
        return None
    header, target = statement.iter, statement.target
    assert isinstance(header, ast.Call)
    variables = target.elts if isinstance(target, ast.Tuple) else [target]
    *lets, store = (one for one in statement.body if not isinstance(one, Comment))
    names = [one.id for one in variables if isinstance(one, ast.Name)]
    tile = _filled(store, names, facts)
    is_plain = not header.keywords and all(_is_let(one, facts) for one in lets)
    if tile is None or not is_plain or not _covers(header.args, tile, facts):
        return None
    widths = {width for one in (*lets, store) for width in _widths(one, names[-1], facts)}
    count = min(widths, default=0)
    if count not in _COUNTS or tile.shape[-1] % count:
        return None
    loop = _Loop(statement, names[-1], tile, count)
    try:
        _part(loop, 0, facts)
    except _NotPackedError:
        return None
    return loop


def _filled(store: ast.stmt, variables: list[str], facts: Facts) -> Tile | None:
    """The tile all of whose elements a store sets by the loop's variables, in their order."""
    match store:
        case ast.Assign(targets=[ast.Subscript() as target]):
            tile = facts.tiles.get(base_name(target) or "")
            indices = [one.id for one in index_list(target) if isinstance(one, ast.Name)]
            is_own = tile is not None and not tile.base and not tile.op
            if is_own and len(index_list(target)) == len(indices) and indices == variables:
                return tile
    return None


def _covers(extents: list[ast.expr], tile: Tile, facts: Facts) -> bool:
    ranges = [environment_of(facts).range(extent) for extent in extents]
    return [(one.low, one.high) for one in ranges] == [(size, size) for size in tile.shape]


def _is_let(statement: ast.stmt, facts: Facts) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)]):
            return target not in facts.tiles.keys() | facts.variables.keys()
    return False


def _widths(statement: ast.stmt, variable: str, facts: Facts) -> Iterator[int]:
    """How many numbers share an element of the tiles that are read at `j // n`."""
    for node in walk(statement):
        if isinstance(node, ast.Subscript) and base_name(node) in facts.tiles:
            width = _divisor(index_list(node)[-1], variable, facts)
            if width:
                yield width


def _divisor(tree: ast.AST, variable: str, facts: Facts) -> int:
    """The n of `j // n` or of a shift to the right; 0 of anything else."""
    match tree:
        case ast.BinOp(ast.Name(id=found), op, right) if found == variable:
            number = _number(right, facts)
            if isinstance(op, ast.FloorDiv) and number > 0:
                return number
            if isinstance(op, ast.RShift) and 0 < number < 32:
                return int(1 << number)
    return 0


def _remainder(tree: ast.expr, variable: str, facts: Facts) -> int:
    """The n of `j % n` or of a mask of low bits; 0 of anything else."""
    match tree:
        case ast.BinOp(ast.Name(id=found), op, right) if found == variable:
            number = _number(right, facts)
            if isinstance(op, ast.Mod) and number > 0:
                return number
            if isinstance(op, ast.BitAnd) and number > 0 and number & (number + 1) == 0:
                return number + 1
    return 0


def _number(tree: ast.expr, facts: Facts) -> int:
    """The value of a constant, also one with a name; -1 of anything else."""
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if isinstance(facts.constants.get(name), int):
            return int(facts.constants[name])
        case ast.BinOp():
            interval = environment_of(facts).range(tree)
            if interval.low is not None and interval.low == interval.high:
                return interval.low
    return -1


def _parts(loop: _Loop, names: Names, facts: Facts) -> list[ast.stmt]:
    """The loops of the parts, and what puts them together."""
    result: list[ast.stmt] = []
    made = []
    for number in range(loop.count):
        extent = _shorter(loop.tile.trees[-1], loop.count)
        part = replace(
            loop.tile,
            name=names.fresh(f"{loop.tile.name}_{number}"),
            shape=(*loop.tile.shape[:-1], loop.tile.shape[-1] // loop.count),
            trees=(*loop.tile.trees[:-1], extent),
        )
        made.append(part)
        facts.tiles[part.name] = part
    result += [_declaration(part) for part in made]
    for number, part in enumerate(made):
        turns = _part(loop, number, facts)
        if number:
            turns.body = [one for one in turns.body if not isinstance(one, Comment)]
            _rename_lets(turns, names)
        store = turns.body[-1]
        assert isinstance(store, ast.Assign) and isinstance(store.targets[0], ast.Subscript)
        store.targets[0].value = ast.Name(part.name, ast.Load())
        assert isinstance(turns.iter, ast.Call)
        turns.iter.args[-1] = _shorter(turns.iter.args[-1], loop.count)
        result.append(turns)
    result += _joined(made, loop.tile, names, facts)
    return [place(one, loop.node) for one in result]


def _joined(parts: list[Tile], target: Tile, names: Names, facts: Facts) -> list[ast.stmt]:
    """The columns of all parts in turn, two tiles at a time."""
    result: list[ast.stmt] = []
    sides = parts
    if len(parts) > 2:
        sides = []
        for start in range(2):
            chosen = parts[start::2]
            extent = _shorter(target.trees[-1], 2)
            side = replace(
                target,
                name=names.fresh(f"{target.name}_half"),
                shape=(*target.shape[:-1], target.shape[-1] // 2),
                trees=(*target.trees[:-1], extent),
            )
            facts.tiles[side.name] = side
            result += [_declaration(side), *_joined(chosen, side, names, facts)]
            sides.append(side)
    first, second = sides
    result += stmts(
        "T.interleave(first, second, target)",
        first=first.name,
        second=second.name,
        target=target.name,
    )
    return result


def _declaration(tile: Tile) -> ast.stmt:
    (made,) = stmts(
        "tile = T.alloc_fragment(shape, dtype)",
        tile=tile.name,
        shape=ast.Tuple([copy_tree(one) for one in tile.trees], ast.Load()),
        dtype=literal(tile.dtype),
    )
    return made


def _shorter(extent: ast.expr, count: int) -> ast.expr:
    if isinstance(extent, ast.Constant) and isinstance(extent.value, int):
        return literal(extent.value // count)
    return expr("n // count", n=copy_tree(extent), count=literal(count))


def _rename_lets(loop: ast.For, names: Names) -> None:
    """A name stands for one thing in a program."""
    for statement in loop.body[:-1]:
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        old = statement.targets[0].id
        new = names.fresh(old)
        for node in walk(loop):
            if isinstance(node, ast.Name) and node.id == old:
                node.id = new


def _part(loop: _Loop, number: int, facts: Facts) -> ast.For:
    """The loop over the elements whose packed number is `number`."""
    made = copy_tree(loop.node)
    replacer = _Number(loop, number, facts)
    for statement in made.body:
        if isinstance(statement, ast.Assign):
            statement.value = replacer.visit(statement.value)
    return made


class _Number(ast.NodeTransformer):
    """Puts `count * j + number` in the place of `j`, where it is divided by `count` or more."""

    def __init__(self, loop: _Loop, number: int, facts: Facts) -> None:
        self.variable = loop.variable
        self.count = loop.count
        self.number = number
        self.facts = facts

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        width = _divisor(node, self.variable, self.facts)
        if width and width % self.count == 0:
            rest = width // self.count
            bare = name(self.variable)
            return bare if rest == 1 else expr("j // rest", j=bare, rest=literal(rest))
        if _remainder(node, self.variable, self.facts) == self.count:
            return literal(self.number)
        self.generic_visit(node)
        return self._computed(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.variable:
            raise _NotPackedError
        return node

    def _computed(self, node: ast.BinOp) -> ast.expr:
        """Products of numbers, and no shift by 0 where what follows widens what is shifted."""
        match node:
            case ast.BinOp(left, ast.Mult(), right):
                product = _number(left, self.facts), _number(right, self.facts)
                if min(product) >= 0:
                    return literal(product[0] * product[1])
            case ast.BinOp(
                ast.BinOp(inner, ast.RShift() | ast.LShift(), ast.Constant(value=0)), op, right
            ) if _number(right, self.facts) >= 0:
                return ast.copy_location(ast.BinOp(inner, op, right), node)
        return node
