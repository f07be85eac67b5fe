"""What roles may share: their own registers stay theirs, and data of others needs a wait."""

import ast

from rewrites.changes import changed_names
from rewrites.errors import Problem, RewriteError, refuse
from rewrites.facts import Facts
from rewrites.threads import Threads
from rewrites.tree import base_name, names_in, walk


class RoleMemory:
    """Which threads touch the variables and fragments of a kernel."""

    def __init__(self, kernel: ast.With, varying: set[str], threads: Threads, facts: Facts) -> None:
        self.threads = threads
        self.facts = facts
        self.own = _own_names(kernel, facts) - varying
        self.writes: list[tuple[str, int, ast.AST]] = []
        self.touches: list[tuple[str, int, ast.AST]] = []

    def note(self, statement: ast.stmt, mask: int) -> None:
        """A statement that these threads run."""
        match statement:
            case ast.Assign(value=ast.Call(func=ast.Attribute(attr=function))) if (
                function.startswith("alloc_")
            ):
                return
        written = changed_names(statement, self.facts) & self.own
        self.writes += [(name, mask, statement) for name in written]
        self.touches += [(name, mask, statement) for name in names_in(statement) & self.own]

    def note_header(self, tree: ast.expr, mask: int) -> None:
        """A bound or condition that these threads evaluate."""
        self.touches += [(name, mask, tree) for name in names_in(tree) & self.own]

    def check(self) -> None:
        """Refuse names that one role writes and others touch: each thread has its own."""
        problems = []
        seen = set()
        for name, mask, write in self.writes:
            if mask == self.threads.all or name in seen:
                continue
            for other, threads, touch in self.touches:
                if other == name and threads & ~mask:
                    seen.add(name)
                    problems.append(self._problem(name, write, touch))
                    break
        if problems:
            raise RewriteError(*problems)

    def _problem(self, name: str, write: ast.AST, touch: ast.AST) -> Problem:
        kind = "variable" if name in self.facts.variables else "fragment"
        return Problem(
            touch,
            "T2T706",
            f"`{name}` is a {kind}, of which each thread has its own, but some threads write it "
            "and others use it",
            (f"line {getattr(write, 'lineno', 0)} writes it for some threads only",),
            "give each group of threads its own, or pass the value through a tile from "
            "T.alloc_shared with a barrier",
        )

    def refuse_repeated(self, call: ast.Call, mask: int) -> None:
        """An atomic operation on one element, which each of some threads would do."""
        destination = call.args[0]
        is_element = isinstance(destination, ast.Subscript) and not any(
            isinstance(node, ast.Slice) for node in walk(destination)
        )
        value = base_name(call.args[1]) if len(call.args) > 1 else None
        if is_element and value not in self.facts.tiles:
            raise refuse(
                call,
                "T2T708",
                f"each of {mask.bit_count()} threads does `{ast.unparse(call)}`, but a program of "
                "Triton does it once",
                (),
                "let one thread do it, such as under `if tx == 0:`",
            )


def check_apart(roles: list[tuple[int, list[ast.stmt]]], guard: ast.stmt, facts: Facts) -> None:
    """Refuse roles that touch each other's data without a wait between them."""
    shared = facts.tensors.keys() | {
        name for name, tile in facts.tiles.items() if tile.scope == "shared"
    }
    for number, (threads, body) in enumerate(roles):
        for others, later in roles[number + 1 :]:
            if threads & others:
                continue
            written, used = _written(body, facts) & shared, _read(body, facts) & shared
            conflict = (written & _read(later, facts)) | (used & _written(later, facts))
            tiles = {name for name in facts.tiles if name in shared}
            conflict |= written & _written(later, facts) & tiles
            if conflict:
                name = min(conflict)
                raise refuse(
                    guard,
                    "T2T709",
                    f"some threads write `{name}` while others use it, and none of them waits",
                    (f"the blocks under `{ast.unparse(guard).splitlines()[0]}` run at once",),
                    "let the readers wait: T.alloc_barrier, T.barrier_arrive behind the write, "
                    "T.barrier_wait before the read",
                )


def _own_names(kernel: ast.With, facts: Facts) -> set[str]:
    """The variables and fragments; tensor memory and shared tiles are everybody's."""
    shared = {name for name, tile in facts.tiles.items() if tile.scope == "shared"}
    for node in walk(kernel):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="alloc_tmem"))
            ):
                shared.add(name)
    return (facts.tiles.keys() - shared) | facts.variables.keys()


def _written(body: list[ast.stmt], facts: Facts) -> set[str]:
    return changed_names(ast.Module(body, []), facts)


def _read(body: list[ast.stmt], facts: Facts) -> set[str]:
    """The names that statements read; what they only overwrite is not read."""
    nodes = walk(ast.Module(body, []))
    targets: set[int] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[target]):
                targets.add(id(target.value if isinstance(target, ast.Subscript) else target))
            case ast.Call(func=ast.Attribute(attr=function)):
                operator = facts.operators.get(function)
                if operator is not None and operator.writes:
                    arguments = operator.arguments(node)
                    target = arguments[operator.writes]
                    if not operator.keeps(arguments):
                        base = target.value if isinstance(target, ast.Subscript) else target
                        targets.add(id(base))
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in targets}
