"""Make views of tiles tiles of their own, and bring the newest value over where it is needed.

A view and its tile are one memory under two names. Triton's tensors do not change, so each name
gets a value of its own: before a statement that needs one name, it is made of the name that was
written last. Where a loop or branch leaves it open which that was, the tile itself is made.

before:
    def swap(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            row = T.alloc_shared((64,), "float32")
            box = T.reshape(row, (8, 8))
            T.copy(A, row)
            for i, j in T.Parallel(8, 8):
                box[i, j] = box[i, j] * 2
            T.copy(row, C)

after:
    def swap(A: T.Tensor((64,), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            row = T.alloc_shared((64,), 'float32')
            T.copy(A, row)
            box = T.reshape(row, (8, 8))
            for i, j in T.Parallel(8, 8):
                box[i, j] = box[i, j] * 2
            row = T.reshape(box, (64,))
            T.copy(row, C)
"""

import ast
import copy

from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, expr, literal, name, place
from rewrites.tile_access import TileAccess, tile_access
from rewrites.tree import function_of, names_in, walk

Names = frozenset[str]


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Drop the declarations of views, and make each name's value where it is needed."""
    members: dict[str, list[str]] = {}
    for tile in facts.tiles.values():
        if tile.base:
            members.setdefault(tile.base, [tile.base]).append(tile.name)
    for block in function_of(tree).body:
        if isinstance(block, ast.With):
            used = names_in(block)
            for base, names in members.items():
                if base in used:
                    memory = _Memory(tuple(names), facts)
                    block.body, _ = memory.block(block.body, frozenset(), False)
    return tree


class _Memory:
    """One memory and its names, the tile's own first."""

    def __init__(self, names: tuple[str, ...], facts: Facts) -> None:
        self.base = names[0]
        self.names = names
        self.facts = facts

    def block(
        self, body: list[ast.stmt], valid: Names, live_after: bool
    ) -> tuple[list[ast.stmt], Names]:
        """The statements, and which names have the memory's value behind them.

        `valid` are the names that have it before them, `live_after` is whether it matters later.
        """
        result: list[ast.stmt] = []
        for index, statement in enumerate(body):
            live = self._is_needed(body[index + 1 :], live_after)
            made, valid = self._statement(statement, valid, live)
            at = len(result)
            while at and len(made) > 1 and isinstance(result[at - 1], Comment):
                at -= 1
            result[at:at] = made[:-1]
            result += made[-1:]
        return result, valid

    def _statement(
        self, statement: ast.stmt, valid: Names, live: bool
    ) -> tuple[list[ast.stmt], Names]:
        match statement:
            case Comment() | Blank():
                return [statement], valid
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call()) if (
                target in self.names[1:]
            ):
                return [], valid
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
                return self._parallel(statement, valid)
            case ast.For() | ast.While():
                return self._loop(statement, valid, live)
            case ast.If(test=test):
                made, valid = self._bring(self._in(test), valid, statement)
                first, one = self.block(statement.body, valid, live)
                second, other = self.block(statement.orelse, valid, live)
                both = one & other
                if live and not both:
                    both = frozenset([self.base])
                    first += self._bring(both, one, statement)[0]
                    second += self._bring(both, other, statement)[0]
                changed = copy.copy(statement)
                changed.body, changed.orelse = first or [ast.Pass()], second
                return [*made, changed], both
        access = tile_access(statement, self.facts)
        made, valid = self._bring(self._of(access.needs), valid, statement)
        return [*made, statement], self._after(access, valid)

    def _after(self, access: TileAccess, valid: Names) -> Names:
        return self._of(access.changes) or valid

    def _parallel(self, loop: ast.For, valid: Names) -> tuple[list[ast.stmt], Names]:
        """One step, where the loop knows the memory by one name or only reads it."""
        access = tile_access(loop, self.facts)
        if self._of(access.changes) and len(self._of(access.names)) > 1:
            made: list[ast.stmt] = []
            for part in _apart(loop, self.base):
                part_access = tile_access(part, self.facts)
                brought, valid = self._bring(self._of(part_access.needs), valid, part)
                made += [*brought, part]
                valid = self._after(part_access, valid)
            return made, valid
        made, valid = self._bring(self._of(access.needs), valid, loop)
        return [*made, loop], self._after(access, valid)

    def _loop(
        self, loop: ast.For | ast.While, valid: Names, live_after: bool
    ) -> tuple[list[ast.stmt], Names]:
        tested = self._in(loop.test if isinstance(loop, ast.While) else loop.iter)
        live = live_after or bool(tested) or self._is_needed(loop.body, False)
        required = tested if isinstance(loop, ast.While) else frozenset[str]()
        if not any(self._of(_changes(one, self.facts)) for one in loop.body):
            # What the loop only reads is made once, in front of it.
            required |= self._in(loop) if live else frozenset()
        made, entry = self._bring(tested | required, valid, loop)
        while True:
            body, end = self.block(loop.body, entry, live)
            joined = entry & (end | required)
            if joined == entry:
                break
            if live and not joined:
                required = frozenset([self.base])
                further, _ = self._bring(required, entry, loop)
                made += further
                joined = required
            entry = joined
        body += self._bring(required, end, loop.body[-1])[0]
        changed = copy.copy(loop)
        changed.body = body
        return [*made, changed], entry

    def _is_needed(self, body: list[ast.stmt], after: bool) -> bool:
        """Whether the memory's value matters before `body`; `after` says so of its end."""
        for statement in reversed(body):
            after = self._is_needed_before(statement, after)
        return after

    def _is_needed_before(self, statement: ast.stmt, after: bool) -> bool:
        match statement:
            case Comment() | Blank():
                return after
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call()) if (
                target in self.names
            ):
                return after
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
                pass
            case ast.For(iter=header, body=body) | ast.While(test=header, body=body):
                return after or bool(self._in(header)) or self._is_needed(body, False)
            case ast.If(test=test, body=body, orelse=orelse):
                branches = (self._is_needed(block, after) for block in (body, orelse))
                return bool(self._in(test)) or any(branches)
        access = tile_access(statement, self.facts)
        if self._of(access.needs):
            return True
        return after and not self._of(access.fills)

    def _bring(self, wanted: Names, valid: Names, like: ast.stmt) -> tuple[list[ast.stmt], Names]:
        """Make the names that are wanted of one that has the value."""
        made: list[ast.stmt] = []
        for target in self.names:
            if target not in wanted or target in valid:
                continue
            source = next((one for one in self.names if one in valid), self.base)
            if source != target:
                made.append(place(self._made_of(target, source), like))
            valid |= {target, source}
        return made, valid

    def _made_of(self, target: str, source: str) -> ast.stmt:
        tile = self.facts.tiles[target]
        shape = ast.Tuple([copy_tree(extent) for extent in tile.trees], ast.Load())
        template = "T.reshape(source, shape)"
        if tile.dtype != self.facts.tiles[source].dtype:
            template = "T.view(source, shape, dtype)"
        dtype = literal(tile.dtype)
        value = expr(template, source=name(source), shape=shape, dtype=dtype)
        statement = ast.Assign([ast.Name(target, ast.Store())], value)
        statement.type_comment = None
        return statement

    def _of(self, names: Names) -> Names:
        return names & frozenset(self.names)

    def _in(self, tree: ast.AST) -> Names:
        return frozenset(self.names) & names_in(tree)


def _changes(statement: ast.stmt, facts: Facts) -> Names:
    return tile_access(statement, facts).changes


def _apart(loop: ast.For, memory: str) -> list[ast.stmt]:
    """One loop for each statement of a T.Parallel: the iterations are independent of each other."""
    lets = any(
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        for node in walk(loop)
    )
    statements = [one for one in loop.body if not isinstance(one, (Comment, Blank))]
    if len(statements) == 1 and isinstance(statements[0], (ast.Assign, ast.AugAssign)):
        # All values are computed before any is stored.
        return [loop]
    if lets or len(statements) < 2:
        raise refuse(
            loop,
            "T2T343",
            f"one T.Parallel writes the memory of `{memory}` by one name and uses it by another",
            hint="copy the values into a tile of their own first, or use two loops",
        )
    parts: list[ast.stmt] = []
    for statement in statements:
        part = copy_tree(loop)
        part.body = [statement]
        parts.append(part)
    return parts
