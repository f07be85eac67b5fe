"""The turns of a loop in which its masks let everything through, and how such a turn is written."""

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from rewrites.environment import Environment
from rewrites.facts import Facts
from rewrites.quote import copy_tree
from rewrites.sums import Reader, Sum, number
from rewrites.tree import base_name, blocks_of, loop_kind, walk
from rewrites.whole_numbers import is_whole

# Each comparison as `left - right + shift <= 0`, or with the sides exchanged.
_FORMS: dict[type[ast.cmpop], tuple[bool, int]] = {
    ast.Lt: (False, 1),
    ast.LtE: (False, 0),
    ast.Gt: (True, 1),
    ast.GtE: (True, 0),
}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}


@dataclass(frozen=True)
class Bound:
    """A condition holds before `above / by`, rounded down, or from it on, rounded up.

    `by` is positive.
    """

    ends: bool
    above: Sum
    by: Sum


@dataclass
class Masks:
    """The bounds within which comparisons of a loop are decided, by the nodes of these.

    `lanes` are the variables of loops over T.Parallel with their extents.
    """

    variable: str
    reader: Reader
    environment: Environment
    facts: Facts
    written: Set[str]
    lanes: dict[str, ast.expr] = field(default_factory=dict)
    decided: dict[ast.expr, bool] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)

    def find(self, body: list[ast.stmt]) -> None:
        """Decide what can be, in loops over T.Parallel."""
        for statement in body:
            if isinstance(statement, ast.For) and loop_kind(statement) == "Parallel":
                self._parallel(statement)
            else:
                for block in blocks_of(statement):
                    self.find(block)

    def _parallel(self, loop: ast.For) -> None:
        assert isinstance(loop.iter, ast.Call)
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        for target, extent in zip(targets, loop.iter.args, strict=True):
            assert isinstance(target, ast.Name)
            self.lanes[target.id] = extent
        for node in walk(loop):
            match node:
                case ast.Assign(targets=[ast.Subscript() as target], value=ast.Call() as value):
                    self._selection(value, base_name(target))
                case ast.If(test=test) if not node.orelse and _stores_blanks(node.body):
                    self._want(test, False)
                case ast.If(test=test) if _stores(node.body) and not node.orelse:
                    self._want(test, True)

    def _selection(self, value: ast.Call, target: str | None) -> None:
        """A selection that is stored as it is; what is left is rounded as the selection was."""
        match value:
            case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[test, first, second]):
                blank = _blank(first, second)
                kept, dropped = (second, first) if blank == 0 else (first, second)
                if blank is not None and self._keeps_type(kept, dropped, target):
                    self._want(test, blank == 1)

    def _keeps_type(self, kept: ast.expr, dropped: ast.expr, target: str | None) -> bool:
        """Whether a value is stored alike with and without one that it is selected against."""
        match kept:
            case ast.Constant(value=int() | float() as value):
                return float(value).is_integer() and abs(value) <= 256
        tile = self.facts.tiles.get(target or "")
        if tile is not None and tile.dtype == "float32":
            return _dtype(dropped) in ("", "float32")
        inner = self.facts.tiles.get(base_name(kept) or "")
        same = tile is not None and inner is not None and tile.dtype == inner.dtype
        return same and inner is not None and _dtype(dropped) in ("", inner.dtype)

    def _want(self, test: ast.expr, value: bool) -> None:
        """Decide the comparisons of a condition so that it has a value."""
        match test:
            case ast.Name(id=identifier) if identifier in self.reader.lets:
                self._want(self.reader.lets[identifier], value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._want(operand, not value)
            case ast.BoolOp(op=ast.And(), values=values) if value:
                self._want_all(values, value)
            case ast.BoolOp(op=ast.Or(), values=values) if not value:
                self._want_all(values, value)
            case ast.BinOp(op=ast.BitAnd(), left=left, right=right) if value:
                self._want_all([left, right], value)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right) if not value:
                self._want_all([left, right], value)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _FORMS:
                found = self._bound(left, type(op) if value else _OPPOSITE[type(op)], right)
                if found is not None:
                    self.decided[test] = value
                    if found not in self.bounds:
                        self.bounds.append(found)

    def _want_all(self, values: list[ast.expr], value: bool) -> None:
        for one in values:
            self._want(one, value)

    def _bound(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> Bound | None:
        """Where a comparison holds for all lanes; None where it does not depend on the turn."""
        one, two = self.reader.read(left), self.reader.read(right)
        if one is None or two is None:
            return None
        exchanged, shift = _FORMS[op]
        largest = self._largest((two - one if exchanged else one - two) + number(shift))
        if largest is None or not self._is_invariant(largest):
            return None
        by = largest.factor_of(self.variable)
        rest = largest.without(self.variable)
        if by is None or not by.terms or not by.names <= self.facts.constants.keys():
            return None
        sign = self.sign(by)
        if sign > 0:
            return Bound(True, by - rest, by)
        return Bound(False, rest, by * number(-1)) if sign < 0 else None

    def _largest(self, of: Sum) -> Sum | None:
        """The sum where lanes make it largest."""
        for lane in sorted(of.names & self.lanes.keys()):
            factor, extent = of.factor_of(lane), self.reader.read(self.lanes[lane])
            is_fixed = factor is not None and factor.names <= self.facts.constants.keys()
            if factor is None or extent is None or not is_fixed or not self.sign(factor):
                return None
            of = of.without(lane)
            if self.sign(factor) > 0:
                of += factor * (extent - number(1))
        return of

    def _is_invariant(self, of: Sum) -> bool:
        """Whether all but the loop's variable is a whole number that the loop leaves alone."""
        for one in of.names - {self.variable}:
            tree = self.reader.trees.get(one) or ast.Name(one, ast.Load())
            if not is_whole(tree, self.environment, self.facts):
                return False
            if any(isinstance(n, ast.Name) and n.id in self.written for n in ast.walk(tree)):
                return False
        return True

    def sign(self, of: Sum) -> int:
        """1 or -1; 0 where it is not known."""
        interval = self.environment.range(self.reader.tree(of, set()))
        if interval.low is not None and interval.low > 0:
            return 1
        return -1 if interval.high is not None and interval.high < 0 else 0


def without_masks(body: list[ast.stmt], decided: Mapping[ast.expr, bool]) -> list[ast.stmt]:
    """A copy of statements in which comparisons have the values that are `decided`."""
    original = ast.Module(body, [])
    made = copy_tree(original)
    pairs = zip(walk(original), walk(made), strict=True)
    values = {
        two: decided[one] for one, two in pairs if isinstance(one, ast.expr) and one in decided
    }
    folded = _Fold(values).visit(made)
    assert isinstance(folded, ast.Module)
    return folded.body


@dataclass
class _Fold(ast.NodeTransformer):
    values: Mapping[ast.AST, bool]
    # Lets that are known, such as `is_seen = True`.
    known: dict[str, bool] = field(default_factory=dict)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return (
            ast.copy_location(ast.Constant(self.values[node]), node)
            if node in self.values
            else node
        )

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return ast.copy_location(ast.Constant(self.known[node.id]), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        values = [_truth(one) for one in node.values]
        if (not neutral) in values:
            return ast.copy_location(ast.Constant(not neutral), node)
        kept = [one for one, value in zip(node.values, values, strict=True) if value is None]
        if not kept:
            return ast.copy_location(ast.Constant(neutral), node)
        node.values = kept
        return kept[0] if len(kept) == 1 else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            neutral = isinstance(node.op, ast.BitAnd)
            for one, other in ((node.left, node.right), (node.right, node.left)):
                value = _truth(one)
                if value is not None:
                    return other if value == neutral else one
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        value = _truth(node.operand)
        if isinstance(node.op, ast.Not) and value is not None:
            return ast.copy_location(ast.Constant(not value), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[test, first, second]):
                value = _truth(test)
                if value is not None:
                    return first if value else second
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        """Without lets that are known, and without elements that are stored where they are."""
        self.generic_visit(node)
        (target,) = node.targets
        value = _truth(node.value)
        if isinstance(target, ast.Name) and value is not None:
            self.known[target.id] = value
            return None
        return None if ast.unparse(target) == ast.unparse(node.value) else node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt] | None:
        self.generic_visit(node)
        value = _truth(node.test)
        if value is None:
            return node
        return node.body if value else node.orelse

    def visit_For(self, node: ast.For) -> ast.stmt | None:
        """Without a loop over T.Parallel that does nothing any more."""
        self.generic_visit(node)
        if loop_kind(node) == "Parallel":
            node.body = _used(node.body)
            return node if node.body else None
        return node


def _used(body: list[ast.stmt]) -> list[ast.stmt]:
    """Without lets that nothing behind them reads; nothing where no more is left."""
    kept: list[ast.stmt] = []
    read: set[str] = set()
    for statement in reversed(body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=one)]) if one not in read:
                continue
        names = (node for node in walk(statement) if isinstance(node, ast.Name))
        read |= {node.id for node in names if isinstance(node.ctx, ast.Load)}
        kept.insert(0, statement)
    return kept if any(_stores([one]) or list(blocks_of(one)) for one in kept) else []


def _truth(tree: ast.expr) -> bool | None:
    match tree:
        case ast.Constant(value=bool(value)):
            return value
    return None


def _stores(body: list[ast.stmt]) -> bool:
    return any(isinstance(one, (ast.Assign, ast.AugAssign, ast.Expr)) for one in body)


def _stores_blanks(body: list[ast.stmt]) -> bool:
    return all(isinstance(one, ast.Assign) and _number(one.value) is not None for one in body)


def _blank(first: ast.expr, second: ast.expr) -> int | None:
    """Which of two values stands for what is masked: the number, of two numbers the lower one."""
    one, two = _number(first), _number(second)
    if one is None or two is None:
        return 0 if one is not None else 1 if two is not None else None
    return None if one == two else int(two < one)


def _number(tree: ast.expr) -> float | None:
    match tree:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand)
            return None if inner is None else -inner
        case ast.Call(func=ast.Attribute(attr="infinity" | "max_value")):
            return float("inf")
        case ast.Call(func=ast.Attribute(attr="min_value")):
            return float("-inf")
        case ast.Call(func=ast.Attribute(attr="cast"), args=[value, *_]):
            return _number(value)
    return None


def _dtype(tree: ast.expr) -> str:
    """The type of a number that has one; literals take that of the other value."""
    for node in walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="infinity" | "max_value" | "min_value"),
                args=[ast.Constant(value=str(dtype))],
            ):
                return dtype
            case ast.Call(
                func=ast.Attribute(attr="cast"), args=[_, ast.Constant(value=str(dtype))]
            ):
                return dtype
    return ""
