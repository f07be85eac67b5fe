"""Give a tile a first value where its declaration stands, when a loop or branch might need one.

Triton gives a variable that a loop carries, or a branch may leave alone, one type and one value
before it; a tile program's declaration gives neither. `T.clear` is put after the declaration of
every tile that may be read before it is wholly written.

before:
    def total(A: T.Tensor((4, 64), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            part = T.alloc_fragment((64,), "float32")
            row = T.alloc_fragment((64,), "float32")
            for k in T.serial(4):
                T.copy(A[k, 0], row)
                for i in T.Parallel(64):
                    part[i] += row[i]
            T.copy(part, C)

after:
    def total(A: T.Tensor((4, 64), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            part = T.alloc_fragment((64,), 'float32')
            T.clear(part)
            row = T.alloc_fragment((64,), 'float32')
            for k in T.serial(4):
                T.copy(A[k, 0], row)
                for i in T.Parallel(64):
                    part[i] += row[i]
            T.copy(part, C)
"""

import ast

from rewrites.facts import Facts, Tile
from rewrites.nodes import Blank, Comment
from rewrites.quote import place, stmts
from rewrites.tree import base_name, blocks_of, function_of, index_list, is_view, names_in


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Insert `T.clear` after the declarations of tiles that need a first value."""
    function = function_of(tree)
    flow = Flow(facts)
    for statement in function.body:
        if isinstance(statement, ast.With):
            flow.block(statement.body, set())
    _insert(function.body, flow.needed, facts)
    return tree


class Flow:
    """Follows which tiles are wholly written on every path to a statement."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        # The declaration that each name stands for, which equal tiles may share, and those that
        # need a first value.
        self.declared: dict[str, ast.stmt] = {}
        self.needed: set[ast.stmt] = set()

    def block(self, body: list[ast.stmt], written: set[str]) -> set[str]:
        """Visit in order; returns the tiles that are written at the end."""
        for statement in body:
            written = self.statement(statement, written)
        return written

    def statement(self, statement: ast.stmt, written: set[str]) -> set[str]:
        variables = self.facts.variables
        match statement:
            case Comment() | Blank():
                return written
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
                return self._parallel(statement, written)
            case ast.For(iter=header, body=body):
                self.read(header, written)
                self.block(body, set(written))
                return written
            case ast.While(test=test, body=body):
                self.read(test, written)
                self.block(body, set(written))
                return written
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test, written)
                return self.block(body, set(written)) & self.block(orelse, set(written))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
                return self._operator(function, call, written)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.read(value, written)
                return self._store(target, (), False, written)
            case ast.AugAssign(target=target, value=value):
                self.read(value, written)
                self.read(target, written)
                return written
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_view(value):
                self.read(value, written)
                return written | {name}
            case ast.Assign(targets=[ast.Name(id=name)]) if name in self.facts.tiles:
                self.declared[name] = statement
                return written - {name}
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in variables:
                self.read(value, written)
                return written | {name}
            case ast.Assign(value=value):
                self.read(value, written)
        return written

    def read(self, tree: ast.AST, written: set[str]) -> None:
        """A tile that is read before it is wholly written needs a first value."""
        for name in (names_in(tree) & self.declared.keys()) - written:
            self.needed.add(self.declared[name])

    def _operator(self, function: str, call: ast.Call, written: set[str]) -> set[str]:
        operator = self.facts.operators[function]
        if operator.kind != "statement":
            return written
        arguments = operator.arguments(call)
        for parameter, tree in arguments.items():
            if parameter != operator.writes:
                self.read(tree, written)
        target = arguments.get(operator.writes)
        if target is None:
            return written
        if operator.keeps(arguments) or isinstance(target, ast.Subscript):
            self.read(target, written)
        name = base_name(target)
        tile = self.facts.tiles.get(name) if name else None
        if tile is None:
            return written
        if isinstance(target, ast.Subscript) and not tile.is_scalar:
            return written
        return written | {tile.name}

    def _parallel(self, loop: ast.For, written: set[str]) -> set[str]:
        assert isinstance(loop.iter, ast.Call)
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        extents = tuple(
            (target.id, ast.unparse(extent))
            for target, extent in zip(targets, loop.iter.args, strict=True)
            if isinstance(target, ast.Name)
        )
        for statement in loop.body:
            written = self._element_wise(statement, extents, False, written)
        return written

    def _element_wise(
        self,
        statement: ast.stmt,
        extents: tuple[tuple[str, str], ...],
        guarded: bool,
        written: set[str],
    ) -> set[str]:
        match statement:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.read(value, written)
                return self._store(target, extents, guarded, written)
            case ast.If(test=test):
                self.read(test, written)
                for block in blocks_of(statement):
                    for inner in block:
                        written = self._element_wise(inner, extents, True, written)
                return written
            case ast.For(iter=header, body=body):
                self.read(header, written)
                inside = set(written)
                for inner in body:
                    inside = self._element_wise(inner, extents, guarded, inside)
                return written
            case Comment() | Blank():
                return written
        self.read(statement, written)
        return written

    def _store(
        self,
        target: ast.Subscript,
        extents: tuple[tuple[str, str], ...],
        guarded: bool,
        written: set[str],
    ) -> set[str]:
        """`tile[i, j] = e` writes the whole tile where its loops run over all of it."""
        for index in index_list(target):
            self.read(index, written)
        name = base_name(target)
        tile = self.facts.tiles.get(name) if name else None
        if tile is None:
            return written
        if not guarded and (tile.is_scalar or _covers(target, tile, dict(extents))):
            return written | {tile.name}
        self.read(target.value, written)
        return written


def _covers(target: ast.Subscript, tile: Tile, extents: dict[str, str]) -> bool:
    indices = index_list(target)
    names = [index.id for index in indices if isinstance(index, ast.Name)]
    if len(names) != len(indices) or len(set(names)) != len(names):
        return False
    return all(
        extents.get(name) in (ast.unparse(tree), str(extent))
        for name, tree, extent in zip(names, tile.trees, tile.shape, strict=True)
    )


def _insert(body: list[ast.stmt], needed: set[ast.stmt], facts: Facts) -> None:
    for index in range(len(body) - 1, -1, -1):
        statement = body[index]
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if statement in needed:
                template = "T.reducer_init(tile)" if facts.tiles[name].op else "T.clear(tile)"
                (clear,) = stmts(template, tile=name)
                body.insert(index + 1, place(clear, statement))
            case ast.With() | ast.For() | ast.While() | ast.If():
                for block in blocks_of(statement):
                    _insert(block, needed, facts)
