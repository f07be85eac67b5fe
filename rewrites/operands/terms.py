"""What one element of a whole operand is: an expression over the axes that number elements.

Equal expressions are one object, so that what several results need is found by identity.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rewrites.dtypes import is_float
from rewrites.quote import literal, name

Number = int | float | bool

# What has a name without the user's help.
UNNAMED = ("number", "size", "axis", "load")


@dataclass(frozen=True)
class Size:
    """An extent: the value that it has, and the name under which the program knows it.

    In a loop over its tiles, an operand that is one of them for each turn has so large a `tile`.
    """

    value: int
    name: str = ""
    tile: int = 0

    @property
    def tree(self) -> ast.expr:
        return name(self.name) if self.name else literal(self.value)

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.name else str(self.value)


def _used(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of int's that notes that the extent's value decides something."""

    def used(self: "Extent", *others: Any) -> Any:
        self.fixed.add(self.name)
        return method(self, *others)

    return used


class Extent(int):
    """The value of a named extent, as a number that remembers its name.

    Its name is put among `fixed` once anything is computed from the value itself, so that what was
    made of it is for extents of this size only.
    """

    name: str
    fixed: set[str]

    def __new__(cls, value: int, name: str, fixed: set[str]) -> "Extent":
        self = super().__new__(cls, value)
        self.name = name
        self.fixed = fixed
        return self

    @property
    def size(self) -> Size:
        return Size(int.__int__(self), self.name)

    @property
    def plain(self) -> int:
        """The value alone, which is noted."""
        return int(self)


for _method in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "lshift", "rlshift", "rshift", "rrshift"),
    *("and", "rand", "or", "ror", "xor", "rxor", "neg", "pos", "abs", "invert", "bool"),
    *("lt", "le", "gt", "ge", "eq", "ne", "hash", "int", "index", "float", "round", "trunc"),
    *("floor", "ceil", "format", "repr"),
):
    setattr(Extent, f"__{_method}__", _used(getattr(int, f"__{_method}__")))


@dataclass(frozen=True)
class Axis:
    """What numbers the elements along one extent; `serial` tells axes of one extent apart.

    An axis of an output is fixed outside of what is computed; one that is `bound` is what a
    reduction runs over.
    """

    size: Size
    serial: int
    is_bound: bool


@dataclass(frozen=True, eq=False)
class Term:
    """One node of an expression.

    | kind | detail | operands |
    |---|---|---|
    | "number" | the number | |
    | "size" | a Size | |
    | "axis" | an Axis: the position along it | |
    | "load" | the tensor's name | an index for each dimension |
    | "apply" | an operator of the language, or a symbol such as "+" | its arguments |
    | "cast" | "rounded", or "" where the user wrote it | what is converted to `dtype` |
    | "reduce" | (how, Axis) | what is reduced |
    | "dot" | Axis | two factors, of which the sum over the axis is taken of the products |
    | "scan" | (how, Axis) | what is combined up to a position: see `scans.py` |
    """

    kind: str
    detail: object
    operands: tuple["Term", ...]
    dtype: str
    # The axes on which it depends.
    axes: frozenset[Axis]
    # What the user calls it, and where it stands in the program.
    names: list[str] = field(default_factory=list)
    nodes: list[ast.AST] = field(default_factory=list)
    # What its operator calls it, for want of a name.
    hints: list[str] = field(default_factory=list)
    # How many stages its loops have, as far as the program says so; 0: it does not.
    stages: list[int] = field(default_factory=list)

    def take_name(self, other: "Term") -> None:
        """Go by the name of another term, unless it has its own."""
        if self.kind in UNNAMED or self is other:
            return
        if not self.names and other.names:
            self.names.extend(other.names)
            self.nodes.extend(other.nodes)
            self.stages.extend(other.stages)
        if not self.hints:
            self.hints.extend(other.hints)

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""

    @property
    def node(self) -> ast.AST | None:
        return self.nodes[0] if self.nodes else None


class Terms:
    """Makes terms, each once."""

    def __init__(self) -> None:
        self._known: dict[object, Term] = {}
        # The extents of tensors, by name and dimension.
        self.extents: dict[tuple[str, int], Size] = {}

    def number(self, value: Number) -> Term:
        dtype = "bool" if isinstance(value, bool) else "int32"
        return self._made("number", value, (), "float32" if isinstance(value, float) else dtype)

    def size(self, size: Size) -> Term:
        return self._made("size", size, (), "int32") if size.name else self.number(size.value)

    def position(self, axis: Axis) -> Term:
        return self._made("axis", axis, (), "int32")

    def load(self, tensor: str, indices: tuple[Term, ...], dtype: str) -> Term:
        return self._made("load", tensor, indices, dtype)

    def apply(self, operator: str, operands: tuple[Term, ...], dtype: str) -> Term:
        return self._made("apply", operator, operands, dtype)

    def cast(self, operand: Term, dtype: str, how: str = "") -> Term:
        """A conversion; one that is "rounded" is not the user's, and may happen elsewhere."""
        if operand.dtype == dtype:
            return operand
        return self._made("cast", how, (operand,), dtype)

    def reduce(self, how: str, axis: Axis, operand: Term, dtype: str) -> Term:
        return self._made("reduce", (how, axis), (operand,), dtype)

    def dot(self, axis: Axis, left: Term, right: Term, dtype: str) -> Term:
        return self._made("dot", axis, (left, right), dtype)

    def scan(self, how: str, axis: Axis, operands: tuple[Term, ...], dtype: str) -> Term:
        return self._made("scan", (how, axis), operands, dtype)

    def like(self, term: Term, operands: tuple[Term, ...]) -> Term:
        """The same node over other operands."""
        if operands == term.operands:
            return term
        made = self._made(term.kind, term.detail, operands, term.dtype)
        made.take_name(term)
        return made

    def _made(self, kind: str, detail: object, operands: tuple[Term, ...], dtype: str) -> Term:
        # To Python 1, 1.0 and True are one key.
        key = (kind, type(detail), detail, dtype, *map(id, operands))
        known = self._known.get(key)
        if known is None:
            axes = frozenset().union(*(operand.axes for operand in operands))
            if isinstance(detail, Axis):
                axes = axes - {detail} if kind == "dot" else axes | {detail}
            elif kind == "reduce":
                assert isinstance(detail, tuple)
                axes = axes - {detail[1]}
            elif kind == "scan":
                assert isinstance(detail, tuple)
                axes = axes | {detail[1]}
            known = self._known[key] = Term(kind, detail, operands, dtype, axes)
        return known


# A "peak" is a maximum that passes over NaN, for what follows has that in it by other ways.
MAXIMA = ("max", "peak")
EXTREMES = ("max", "min", "peak")


def how_reduced(term: Term) -> tuple[str, Axis]:
    """How a reduction combines, and over which axis."""
    if term.kind == "dot":
        assert isinstance(term.detail, Axis)
        return "sum", term.detail
    assert isinstance(term.detail, tuple)
    how, axis = term.detail
    assert isinstance(how, str) and isinstance(axis, Axis)
    return how, axis


def propagates_nan(term: Term) -> bool:
    """Whether a reduction is NaN where one of its elements is, and says so itself."""
    return how_reduced(term)[0] in ("max", "min") and is_float(term.dtype)


def how_scanned(term: Term) -> tuple[str, Axis]:
    """How a scan combines, and along which axis."""
    assert term.kind == "scan" and isinstance(term.detail, tuple)
    how, axis = term.detail
    assert isinstance(how, str) and isinstance(axis, Axis)
    return how, axis


def reduced_axis(term: Term) -> Axis | None:
    """The axis over which a reduction or dot runs."""
    return how_reduced(term)[1] if term.kind in ("dot", "reduce") else None


def subterms(*roots: Term) -> list[Term]:
    """Every term in the roots once, operands before what is made of them."""
    found: dict[Term, None] = {}
    waiting: list[tuple[Term, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        term, is_done = waiting.pop()
        if term in found:
            continue
        if is_done:
            found[term] = None
        else:
            waiting.append((term, True))
            waiting += [(operand, False) for operand in reversed(term.operands)]
    return list(found)
