"""Layouts of tiles; tiles of indices are computed anew for each layout that they are needed in."""

import ast
from collections import Counter

from rewrites.environment import Names
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import ANY, MADE_OF_NUMBERS, Found, Layout, Layouts, every
from rewrites.quote import name
from rewrites.tree import names_in, walk


class Versions(Layouts):
    """As `Layouts`, but a variable in `index` is another one for each layout."""

    def __init__(
        self, body: list[ast.stmt], products: dict[str, str], index: set[str], names: Names
    ) -> None:
        """The layouts of a body without loads of tiles for products."""
        self.index = index
        self.names = names
        self.made: dict[str, dict[Layout, str]] = {}
        super().__init__(body, products, set(), {one: one for one in products.values()})

    def _learn(self, one: ast.Assign) -> None:
        target = one.targets[0]
        if isinstance(target, ast.Name) and target.id in self.index:
            self.known[target.id] = ANY
        else:
            super()._learn(one)

    def of(self, tree: ast.expr) -> Found:
        if isinstance(tree, ast.Name) and tree.id in self.index:
            return ANY
        return super().of(tree)

    def _demand(self, tree: ast.expr, wanted: Layout) -> None:
        if not (isinstance(tree, ast.Name) and tree.id in self.index):
            super()._demand(tree, wanted)

    def placed(self, tree: ast.expr, wanted: Found) -> ast.expr:
        if isinstance(tree, ast.Name) and tree.id in self.index:
            if wanted is None or wanted == ANY:
                raise UnsuitedError(f"`{tree.id}` is used where no layout follows")
            return name(self._version(tree.id, wanted))
        return super().placed(tree, wanted)

    def _version(self, variable: str, wanted: Layout) -> str:
        """The variable in one layout; it keeps its own name in that of products."""
        known = self.made.setdefault(variable, {})
        if wanted not in known:
            own = variable if wanted.base in self.products.values() else f"{variable}_{wanted.base}"
            taken = own == variable and variable not in known.values()
            known[wanted] = own if taken else self.names.fresh(own)
        return known[wanted]

    def defined(self, variable: str, value: ast.expr) -> list[ast.stmt]:
        """What sets a variable of indices in each layout that it is used in."""
        return [
            ast.Assign([ast.Name(called, ast.Store())], self.placed(value, layout))
            for layout, called in list(self.made.get(variable, {}).items())
        ]


def index_variables(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Variables that are set once, to tiles that follow from their place alone, and what to."""
    assignments = [
        (one.targets[0].id, one.value)
        for one in every(body)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    ]
    counts = Counter(target for target, _ in assignments)
    found: dict[str, ast.expr] = {}
    computed: set[str] = set()
    for target, value in assignments:
        calls = {
            one.func.attr
            for one in walk(value)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        }
        is_tile = "arange" in calls or names_in(value) & found.keys()
        others = calls & {"load", "dot", "max", "min", "sum", "reduce", *MADE_OF_NUMBERS[1:]}
        if others or names_in(value) & computed or (is_tile and counts[target] > 1):
            computed.add(target)
        elif is_tile:
            found[target] = value
    return found
