"""Intervals of integer expressions: what proves a bound, a divisor's sign or an offset's width."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """All values lie in `low … high`, both inclusive; None is unbounded."""

    low: int | None = None
    high: int | None = None

    @property
    def is_natural(self) -> bool:
        return self.low is not None and self.low >= 0

    def within(self, low: int, high: int | None) -> bool:
        """Whether every value is proved to lie in `low … high`."""
        above = self.low is not None and self.low >= low
        return above and (high is None or (self.high is not None and self.high <= high))


UNKNOWN = Range()
NATURAL = Range(0, None)


def range_of(tree: ast.expr, names: Mapping[str, Range]) -> Range:
    """The interval of `tree`, given those of the names in it."""
    match tree:
        case ast.Constant(value=bool()):
            return Range(0, 1)
        case ast.Constant(value=int(value)):
            return Range(value, value)
        case ast.Name(id=identifier):
            return names.get(identifier, UNKNOWN)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = range_of(operand, names)
            return Range(_negate(inner.high), _negate(inner.low))
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, range_of(left, names), range_of(right, names))
        case ast.Call(
            func=ast.Attribute(attr="cast"),
            args=[value, ast.Constant(value="int32" | "int64" as dtype)],
        ):
            limit = 2**31 if dtype == "int32" else 2**63
            inner = range_of(value, names)
            # Ranges are of at most 64 bits, which are kept; what may not fit wraps around.
            return inner if dtype == "int64" or inner.within(-limit, limit - 1) else UNKNOWN
        case ast.Call(func=ast.Attribute(attr=function), args=args):
            return _call(function, [range_of(arg, names) for arg in args])
    return UNKNOWN


def join(first: Range, second: Range) -> Range:
    """The smallest interval that holds both."""
    low = None if first.low is None or second.low is None else min(first.low, second.low)
    high = None if first.high is None or second.high is None else max(first.high, second.high)
    return Range(low, high)


def _binary(op: ast.operator, a: Range, b: Range) -> Range:
    match op:
        case ast.Add():
            return Range(_plus(a.low, b.low), _plus(a.high, b.high))
        case ast.Sub():
            return Range(_plus(a.low, _negate(b.high)), _plus(a.high, _negate(b.low)))
        case ast.Mult():
            return _product(a, b)
        case ast.FloorDiv():
            return _quotient(a, b)
        case ast.Mod():
            # Nothing is divided by 0, so that a divisor that is not negative is positive.
            if b.is_natural:
                high = None if b.high is None else b.high - 1
                if a.is_natural and a.high is not None and (high is None or a.high < high):
                    high = a.high
                return Range(0, high)
        case ast.LShift():
            if a.is_natural and b.is_natural:
                known = a.high is not None and b.high is not None and b.high < 64
                return Range(0, a.high << b.high if known else None)  # type: ignore[operator]
        case ast.RShift():
            if a.is_natural and b.is_natural:
                return Range(0, a.high)
        case ast.BitAnd():
            highs = [r.high for r in (a, b) if r.is_natural and r.high is not None]
            if a.is_natural or b.is_natural:
                return Range(0, min(highs) if highs else None)
    return UNKNOWN


def _call(function: str, args: list[Range]) -> Range:
    match function, args:
        case (("ceildiv" | "cdiv"), [a, b]):
            return _quotient(
                Range(_plus(a.low, _less_one(b.low)), _plus(a.high, _less_one(b.high))), b
            )
        case "floordiv", [a, b]:
            return _binary(ast.FloorDiv(), a, b)
        case "floormod", [a, b]:
            return _binary(ast.Mod(), a, b)
        case (("min" | "minimum"), [a, b]):
            highs = [r.high for r in (a, b) if r.high is not None]
            low = None if a.low is None or b.low is None else min(a.low, b.low)
            return Range(low, min(highs) if highs else None)
        case (("max" | "maximum"), [a, b]):
            lows = [r.low for r in (a, b) if r.low is not None]
            high = None if a.high is None or b.high is None else max(a.high, b.high)
            return Range(max(lows) if lows else None, high)
        case "if_then_else", [_, a, b]:
            return join(a, b)
    return UNKNOWN


def _product(a: Range, b: Range) -> Range:
    if a.is_natural and b.is_natural:
        assert a.low is not None and b.low is not None
        bounded = a.high is not None and b.high is not None
        return Range(a.low * b.low, a.high * b.high if bounded else None)  # type: ignore[operator]
    if None in (a.low, a.high, b.low, b.high):
        return UNKNOWN
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
    return Range(min(corners), max(corners))


def _quotient(a: Range, b: Range) -> Range:
    """Floor division by a divisor that is not negative, and not 0 where the quotient is defined."""
    if b.low is None or b.low < 0 or b.high == 0:
        return UNKNOWN
    b = Range(max(b.low, 1), b.high)
    assert b.low is not None
    if a.low is None:
        low = None
    elif a.low >= 0:
        low = 0 if b.high is None else a.low // b.high
    else:
        low = a.low // b.low
    if a.high is None:
        high = None
    elif a.high >= 0:
        high = a.high // b.low
    else:
        high = -1 if b.high is None else a.high // b.high
    return Range(low, high)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _negate(a: int | None) -> int | None:
    return None if a is None else -a


def _less_one(a: int | None) -> int | None:
    return None if a is None else a - 1
