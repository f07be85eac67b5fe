"""Sums of products of names, in which equal terms meet: `(a + 1) * n - n` is `a * n`."""

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from rewrites.quote import copy_tree, expr, literal, name
from rewrites.tree import names_in

Product = tuple[str, ...]


@dataclass(frozen=True)
class Sum:
    """`factor * a * b + …`, by the sorted factors of each product; () is that of numbers."""

    terms: Mapping[Product, int] = field(default_factory=dict)

    def __add__(self, other: "Sum") -> "Sum":
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Sum({product: factor for product, factor in terms.items() if factor})

    def __sub__(self, other: "Sum") -> "Sum":
        return self + other * number(-1)

    def __mul__(self, other: "Sum") -> "Sum":
        made = Sum()
        for one, factor in self.terms.items():
            for two, times in other.terms.items():
                made += Sum({tuple(sorted((*one, *two))): factor * times})
        return made

    @property
    def names(self) -> set[str]:
        return {one for product in self.terms for one in product}

    def factor_of(self, name: str) -> "Sum | None":
        """What a name is multiplied by; None where it stands in a product more than once."""
        made: dict[Product, int] = {}
        for product, factor in self.terms.items():
            if product.count(name) > 1:
                return None
            if name in product:
                made[tuple(one for one in product if one != name)] = factor
        return Sum(made)

    def without(self, name: str) -> "Sum":
        return Sum(
            {product: factor for product, factor in self.terms.items() if name not in product}
        )


def number(value: int) -> Sum:
    return Sum({(): value} if value else {})


@dataclass
class Reader:
    """Reads trees of whole numbers as sums.

    `lets` are the names that stand for their values. What holds none of the names `varying`, and is
    no sum, is a name of its own, of which `trees` says what it stands for.
    """

    lets: Mapping[str, ast.expr]
    varying: Set[str]
    trees: dict[str, ast.expr] = field(default_factory=dict)

    def read(self, tree: ast.expr) -> Sum | None:
        """The sum; None for what varies otherwise."""
        match tree:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int(value)):
                return number(value)
            case ast.Name(id=identifier):
                if identifier in self.lets:
                    return self.read(self.lets[identifier])
                return Sum({(identifier,): 1})
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand)
                return None if inner is None else inner * number(-1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                one, two = self.read(left), self.read(right)
                if one is None or two is None:
                    return None
                match op:
                    case ast.Add():
                        return one + two
                    case ast.Sub():
                        return one - two
                return one * two
        return self._opaque(tree)

    def _opaque(self, tree: ast.expr) -> Sum | None:
        plain = self.plain(tree)
        if names_in(plain) & self.varying:
            return None
        key = ast.unparse(plain)
        self.trees[key] = plain
        return Sum({(key,): 1})

    def plain(self, tree: ast.expr) -> ast.expr:
        """The tree with values in the place of lets."""
        made = _Written(self.lets).visit(copy_tree(tree))
        assert isinstance(made, ast.expr)
        return made

    def tree(self, of: Sum, constants: Set[str]) -> ast.expr:
        """The sum as it is written: what is taken away last, constants behind what they scale."""
        ordered = sorted(of.terms.items(), key=lambda term: (term[1] < 0, not term[0]))
        made: ast.expr | None = None
        for product, factor in ordered:
            term = self._product(product, abs(factor), constants)
            if made is None:
                made = term if factor > 0 else ast.UnaryOp(ast.USub(), term)
            else:
                made = ast.BinOp(made, ast.Add() if factor > 0 else ast.Sub(), term)
        return literal(0) if made is None else made

    def _product(self, product: Product, factor: int, constants: Set[str]) -> ast.expr:
        names = sorted(product, key=lambda one: one in constants)
        trees = [copy_tree(self.trees.get(one) or name(one)) for one in names]
        if factor != 1 or not trees:
            trees.append(literal(factor))
        made = trees[0]
        for tree in trees[1:]:
            made = expr("a * b", a=made, b=tree)
        return made


@dataclass
class _Written(ast.NodeTransformer):
    lets: Mapping[str, ast.expr]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.lets.get(node.id)
        if value is None:
            return node
        made = self.visit(copy_tree(value))
        assert isinstance(made, ast.expr)
        return made
