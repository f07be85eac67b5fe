"""Follow a Triton kernel's blocks and tell which hold a number of its own in each element.

What comes from memory or from a product is unlike its neighbours for all that a compiler knows;
what is computed from indices, repeated along an axis, or confined to one number by clamps may be
proved to be alike. A value counts as distinct only after operations that cannot lose what tells
its elements apart.
"""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rewrites.tree import walk

# Functions of one number that a compiler does not see through.
FUNCTIONS = (
    "tl.exp",
    "tl.exp2",
    "tl.log",
    "tl.log2",
    "tl.sin",
    "tl.cos",
    "tl.sqrt",
    "tl.rsqrt",
    "tl.sigmoid",
    "tl.erf",
    "tl.floor",
    "tl.ceil",
    "libdevice.tanh",
    "libdevice.round",
    "libdevice.rint",
    "libdevice.nearbyint",
)
# What has the elements of its operand in another order or shape.
MOVES = ("tl.trans", "tl.reshape", "tl.permute", "tl.ravel", "tl.expand_dims", "tl.view")
Visit = Callable[[ast.stmt], None]


@dataclass(frozen=True)
class Known:
    """What is known of a value: along which axes it varies, where from, and between which bounds.

    `rank` is that of a block, 0 of a scalar. `sources` are the loads, products and arguments that
    it cannot be told without; none where the compiler may know the value. `is_distinct` says that
    each element is a number of its own.
    """

    rank: int = 0
    axes: frozenset[int] = frozenset()
    sources: frozenset[str] = frozenset()
    is_distinct: bool = False
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_full(self) -> bool:
        return self.rank > 0 and len(self.axes) == self.rank

    @property
    def is_bounded(self) -> bool:
        return (self.low, self.high) != (-math.inf, math.inf)

    def lost(self) -> "Known":
        """The same where the compiler may know the numbers."""
        return Known(self.rank, self.axes)


class Values:
    """What is known of a kernel's names at the statement that is followed."""

    def __init__(self, kernel: ast.FunctionDef) -> None:
        arguments = [a for a in kernel.args.args if not _is_constexpr(a.annotation)]
        self.names = {a.arg: Known(sources=frozenset({a.arg})) for a in arguments}

    def follow(self, body: list[ast.stmt], visit: Visit | None = None) -> None:
        """Learn from a block's statements in order; `visit` sees each before what it changes."""
        for statement in body:
            if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
                self.names[statement.target.id] = Known()
            if isinstance(statement, (ast.For, ast.While, ast.If)):
                self.branches(statement, visit)
                continue
            if visit is not None:
                visit(statement)
            self.learn(statement)

    def branches(self, statement: ast.For | ast.While | ast.If, visit: Visit | None) -> None:
        """A loop's or branch's blocks; a turn of a loop starts with what the last one left."""
        before = dict(self.names)
        if not isinstance(statement, ast.If):
            for _ in range(2):
                self.follow(statement.body)
                self.names = _merged(before, self.names)
        self.follow(statement.body, visit)
        if isinstance(statement, ast.If):
            after, self.names = self.names, before
            self.follow(statement.orelse, visit)
            self.names = _merged(self.names, after)

    def learn(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[target], value=value):
                known = self.known(value)
            case ast.AugAssign(target=target, op=op, value=value):
                known = _combined(op, self.known(target), self.known(value), value)
            case _:
                return
        for node in walk(target):
            if isinstance(node, ast.Name):
                self.names[node.id] = known

    def known(self, tree: ast.expr) -> Known:
        match tree:
            case ast.Name(id=name):
                return self.names.get(name, Known())
            case ast.Call():
                return self.of_call(tree)
            case ast.Subscript(value=value, slice=index):
                return self.of_subscript(self.known(value), index)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                known = self.known(operand)
                return replace(known, low=-known.high, high=-known.low)
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self.known(left), self.known(right), right)
            case ast.Compare(left=left, comparators=[right]):
                return _compared((left, self.known(left)), (right, self.known(right)))
        return _together(
            [self.known(c) for c in ast.iter_child_nodes(tree) if isinstance(c, ast.expr)]
        )

    def of_call(self, tree: ast.Call) -> Known:
        inner = [self.known(a) for a in [*tree.args, *(k.value for k in tree.keywords)]]
        function = ast.unparse(tree.func)
        source = frozenset({ast.unparse(tree)})
        match tree.func:
            case ast.Attribute(value=ast.Name(id="tl" | "libdevice")):
                pass
            case ast.Attribute(attr="load"):
                return Known(2, frozenset({0, 1}), source, True)
            case ast.Attribute(value=value, attr="to"):
                return self.known(value)
            case ast.Attribute(value=value):
                return _together([self.known(value), *inner])
        match function, tree.args:
            case "tl.arange", _:
                return Known(1, frozenset({0}))
            case "tl.full" | "tl.zeros", [shape, *_]:
                return Known(len(shape.elts) if isinstance(shape, ast.Tuple) else 1)
            case "tl.dot", _:
                return Known(2, frozenset({0, 1}), source, True)
            case "tl.where", [_, _, _]:
                return _chosen(*inner[:3])
            case "tl.maximum" | "tl.minimum", [_, other]:
                return _clamped(function, inner[0], inner[1], other)
            case "tl.fma", [_, factor, _]:
                product = _combined(ast.Mult(), inner[0], inner[1], factor)
                return _combined(ast.Add(), product, inner[2], factor)
        if function == "tl.load" or function.startswith("tl.atomic"):
            return replace(inner[0].lost(), sources=source, is_distinct=inner[0].is_full)
        if function in FUNCTIONS:
            return replace(inner[0], low=-math.inf, high=math.inf)
        return inner[0] if function in MOVES else _together(inner)

    @staticmethod
    def of_subscript(known: Known, index: ast.expr) -> Known:
        """`x[:, None]`: each `:` is an axis of `x`."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        kept = [at for at, part in enumerate(parts) if isinstance(part, ast.Slice)]
        axes = frozenset(at for axis, at in enumerate(kept) if axis in known.axes)
        narrow = len(kept) < len(parts)
        distinct = known.is_distinct and not narrow
        return replace(known, rank=len(parts), axes=axes, is_distinct=distinct)


def _is_constexpr(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) == "tl.constexpr"


def _together(parts: list[Known]) -> Known:
    """An operation on all of them, element by element, of which nothing is known."""
    rank = max((part.rank for part in parts), default=0)
    return Known(rank, frozenset().union(*(part.axes for part in parts)))


def _combined(op: ast.operator, left: Known, right: Known, divisor: ast.expr) -> Known:
    """`left op right`; `divisor` is the tree of `right`."""
    together = _together([left, right])
    if left.sources & right.sources or not isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        # `x - x`, `x & 0`, `x >> 31`.
        return together
    known = [side for side in (left, right) if not side.sources]
    if known and isinstance(op, ast.Mult | ast.Div) and not _is_factor(divisor, left, right):
        return together
    sources = left.sources | right.sources
    return replace(together, sources=sources, is_distinct=left.is_distinct or right.is_distinct)


def _compared(*sides: tuple[ast.expr, Known]) -> Known:
    """A comparison; beside a bound, a compiler may know what comes out."""
    first, second = (known for _, known in sides)
    together = _combined(ast.Sub(), first, second, sides[1][0])
    for tree, known in sides:
        is_plain = known.sources or known.rank or _float(tree) is not None
        if known.is_bounded or not is_plain:
            return together.lost()
    return together


def _float(tree: ast.expr) -> float | None:
    """The finite number that a float literal is."""
    try:
        number = ast.literal_eval(tree)
    except ValueError:
        return None
    return number if isinstance(number, float) and math.isfinite(number) else None


def _is_factor(tree: ast.expr, left: Known, right: Known) -> bool:
    """Whether a number that is multiplied with is none that makes all products alike."""
    number = tree.value if isinstance(tree, ast.Constant) else None
    return bool(left.sources) and not right.rank and isinstance(number, int | float) and number != 0


def _chosen(condition: Known, first: Known, second: Known) -> Known:
    """`tl.where`: of a condition that no compiler knows, one side that differs is enough."""
    together = _together([condition, first, second])
    sides = [side.is_distinct for side in (first, second)]
    if not (all(sides) or condition.is_distinct or (condition.sources and any(sides))):
        return together
    sources = condition.sources | first.sources | second.sources
    low, high = min(first.low, second.low), max(first.high, second.high)
    bounded = first.is_bounded or second.is_bounded
    low, high = (low, high) if bounded else (-math.inf, math.inf)
    return replace(together, sources=sources, is_distinct=True, low=low, high=high)


def _clamped(function: str, first: Known, second: Known, bound: ast.expr) -> Known:
    """`tl.maximum` or `tl.minimum` of a number and a bound that is a float literal."""
    together = _together([first, second])
    number = _float(bound)
    if number is None or not first.sources:
        # Of integers a compiler knows bounds that are not written.
        return together
    low, high = first.low, first.high
    if function == "tl.maximum":
        low, high = max(low, number), max(high, number)
    else:
        low, high = min(low, number), min(high, number)
    return replace(first, low=low, high=high) if low < high else together


def _merged(first: dict[str, Known], last: dict[str, Known]) -> dict[str, Known]:
    """What is known of each name whichever of two ways it got its value."""
    result = {**first, **last}
    for key in first.keys() & last.keys():
        one, other = first[key], last[key]
        if one == other:
            continue
        together = _together([one, other])
        if one.is_distinct and other.is_distinct:
            together = replace(
                together,
                sources=one.sources | other.sources,
                is_distinct=True,
                low=min(one.low, other.low),
                high=max(one.high, other.high),
            )
        result[key] = together
    return result
