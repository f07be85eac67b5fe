"""What expressions inside a loop are, in terms of what its turn found."""

import ast
import itertools

from rewrites import carried_terms as terms
from rewrites.carried_terms import FREE, Element, Value
from rewrites.dtypes import bits, is_float
from rewrites.facts import Facts
from rewrites.tree import base_name, index_list, names_in

Values = dict[str, Value]


class Expressions:
    """Evaluates expressions; `scalars` are names of one value in all of a program."""

    def __init__(self, scalars: set[str], facts: Facts) -> None:
        self.facts = facts
        self.scalars = scalars
        # Tiles and variables of which elements went through a type of fewer than 32 bits.
        self.rounded: set[str] = set()
        self._versions = itertools.count(1)
        # The versions that each extreme is made of, itself among them.
        self._made_of: dict[int, set[int]] = {}

    def value(self, tree: ast.expr, values: Values) -> Value:
        if all(terms.is_free(values.get(name, FREE)) for name in names_in(tree)):
            return self._free(tree)
        match tree:
            case ast.Name(id=name):
                return values.get(name, FREE)
            case ast.Subscript():
                return self._load(tree, values)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.negated(self.value(operand, values))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left, values), self.value(right, values))
            case ast.Call(func=ast.Attribute(attr=function), args=args):
                return self._call(function, args, values)
        return None

    def _free(self, tree: ast.expr) -> Value:
        """A value that nothing carried is in: numbers and named scalars by themselves."""
        match tree:
            case ast.Constant(value=value) if isinstance(value, (int, float)):
                return terms.number(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.negated(self._free(operand))
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                return self.binary(op, self._free(left), self._free(right))
            case ast.Name(id=name) if name in self.scalars:
                return terms.scalar(name)
        return FREE

    def _load(self, tree: ast.Subscript, values: Values) -> Value:
        name = base_name(tree) or ""
        tile = self.facts.tiles.get(name)
        indices = index_list(tree)
        if any(not terms.is_free(values.get(one, FREE)) for one in names_in(tree.slice)):
            return None
        if tile is None or len(indices) != tile.rank:
            return None
        places: dict[str | int, str | int] = {}
        for number, index in enumerate(indices):
            if isinstance(index, ast.Name):
                places[f"@{number}"] = index.id
        return terms.renamed(values.get(name, FREE), places)

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        match op:
            case ast.Add():
                return terms.added(left, right)
            case ast.Sub():
                return terms.added(left, terms.negated(right))
            case ast.Mult():
                return terms.multiplied(left, right)
            case ast.Div() if terms.is_free(right):
                return terms.multiplied(left, _inverse(right))
        return FREE if terms.is_free(left) and terms.is_free(right) else None

    def _call(self, function: str, args: list[ast.expr], values: Values) -> Value:
        match function, args:
            case (("exp2" | "exp"), [argument]):
                base = "2" if function == "exp2" else "e"
                return terms.exponential(base, self.value(argument, values))
            case (("max" | "min"), [one, two]):
                return self.extreme(function, self.value(one, values), self.value(two, values))
            case "if_then_else", [test, one, two]:
                if all(terms.is_free(values.get(name, FREE)) for name in names_in(test)):
                    return terms.either(self.value(one, values), self.value(two, values))
            case "cast", [operand, ast.Constant(value=str(dtype))]:
                return self.cast(self.value(operand, values), dtype)
        return None

    def cast(self, value: Value, dtype: str) -> Value:
        if value is None or terms.is_free(value):
            return value
        if not is_float(dtype):
            # Whole numbers are kept; what is scaled is rounded to nothing.
            plain = all(exponent == terms.NOTHING for _, exponent in value)
            named = [one.name for one in terms.elements_in(value)]
            types = {self._dtype(one) for one in named}
            return value if plain and types == {dtype} else None
        if bits(dtype) < 32:
            self.rounded |= {one.name for one, _ in value if one is not None}
        return value

    def _dtype(self, name: str) -> str:
        declared = self.facts.tiles.get(name) or self.facts.tensors.get(name)
        return self.facts.variables.get(name, "int32") if declared is None else declared.dtype

    def keeps_type(self, tree: ast.expr, target: ast.expr) -> bool:
        """Whether whole numbers, if the target holds such, are not made of fractions."""
        name = base_name(target) or ""
        known = (self.facts.tiles, self.facts.tensors, self.facts.variables)
        if not any(name in one for one in known) or is_float(self._dtype(name)):
            return True
        match tree:
            case ast.Constant(value=value):
                return not isinstance(value, float)
            case ast.Name(id=used) | ast.Subscript(value=ast.Name(id=used)):
                return not is_float(self._dtype(used))
            case ast.Call(
                func=ast.Attribute(attr="cast"), args=[_, ast.Constant(value=str(dtype))]
            ):
                return not is_float(dtype)
            case ast.BinOp(op=ast.Div() | ast.Pow()):
                return False
        inner = [one for one in ast.iter_child_nodes(tree) if isinstance(one, ast.expr)]
        return all(self.keeps_type(one, target) for one in inner)

    def extreme(self, kind: str, left: Value, right: Value) -> Value:
        """The larger or smaller of two, of which one or both are extremes of one element."""
        one, two = terms.single(left), terms.single(right)
        if one is not None and two is not None:
            if (one.name, one.index) != (two.name, two.index):
                return None
            for later, earlier in ((one, two), (two, one)):
                is_alike = later.kind in ("", kind) and earlier.kind in ("", kind)
                if is_alike and earlier.version in self._made_of.get(
                    later.version, {later.version}
                ):
                    return terms.element(later)
            return None
        if terms.is_free(left) and terms.is_free(right):
            return FREE
        one, other = (one, right) if one is not None else (two, left)
        if one is None or not terms.is_free(other) or one.kind not in ("", kind):
            return None
        version = next(self._versions)
        self._made_of[version] = {version, *self._made_of.get(one.version, {one.version})}
        return terms.element(Element(one.name, one.index, version, kind))


def _inverse(value: Value) -> Value:
    """1 / value, where it is a number."""
    if value is not None and len(value) == 1:
        (coefficient,) = value.values()
        if coefficient is not None and len(coefficient) == 1:
            ((names, factor),) = coefficient
            if not names:
                return {(None, terms.NOTHING): frozenset({((), 1 / factor)})}
    return FREE
