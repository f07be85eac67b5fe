"""What roles may share: their own registers stay theirs, and data of others needs a wait."""

import ast

from rewrites.changes import changed_names
from rewrites.errors import Problem, RewriteError
from rewrites.facts import Facts
from rewrites.role_places import storage_of
from rewrites.threads import Threads
from rewrites.tree import is_view, names_in, walk


class RoleMemory:
    """Which threads touch the variables and fragments of a kernel."""

    def __init__(self, kernel: ast.With, varying: set[str], threads: Threads, facts: Facts) -> None:
        self.threads = threads
        self.facts = facts
        self.own = (facts.tiles.keys() | facts.variables.keys()) - memory_of_all(kernel, facts)
        self.own -= varying
        self.writes: list[tuple[str, int, ast.AST]] = []
        self.touches: list[tuple[str, int, ast.AST]] = []

    def note(self, statement: ast.stmt, mask: int) -> None:
        """A statement that these threads run."""
        match statement:
            case ast.Assign(value=ast.Call(func=ast.Attribute(attr=function)) as value) if (
                function.startswith("alloc_") or is_view(value)
            ):
                return
        written = self._own(changed_names(statement, self.facts))
        self.writes += [(name, mask, statement) for name in written]
        self.touches += [(name, mask, statement) for name in self._own(names_in(statement))]

    def note_header(self, tree: ast.expr, mask: int) -> None:
        """A bound or condition that these threads evaluate."""
        self.touches += [(name, mask, tree) for name in self._own(names_in(tree))]

    def _own(self, names: set[str]) -> set[str]:
        """Those that each thread has for itself, a view by the name of its tile."""
        return {storage_of(name, self.facts) or name for name in names} & self.own

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


def memory_of_all(kernel: ast.With, facts: Facts) -> set[str]:
    """The tensors, shared tiles and tensor memory, which all threads see; views have none."""
    found = facts.tensors.keys() | {
        name for name, tile in facts.tiles.items() if tile.scope == "shared"
    }
    for node in walk(kernel):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="alloc_tmem"))
            ):
                found.add(name)
    return found
