"""Reductions along one axis that need each other: which can run in one loop, and how.

A sum whose terms are made with the result of another reduction over the same axis would need a
second loop. Rules of algebra save it:

- a factor that does not depend on the axis stands outside of the sum: sum(x / s) = sum(x) / s;
- exp(u - w), where w is made of maxima over the axis, is a running sum: when w grows to v, what
  was summed is multiplied by exp(w - v). This is Milakov and Gimelshein, "Online normalizer
  calculation for softmax" (2018), for any w and any factor beside it;
- what counts only where u is the maximum of u starts anew when the maximum grows: the index of it;
- of sum((u - w)²), where w is the mean of u, the mean of what was seen does instead of w: when it
  moves to v, count * (w - v)² is added. This is Welford's rule as Chan, Golub and LeVeque have it.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from rewrites.dtypes import BY_NAME, is_float
from rewrites.operands.terms import (
    EXTREMES,
    MAXIMA,
    Axis,
    Term,
    Terms,
    how_reduced,
    reduced_axis,
    subterms,
)


def hoist_factors(terms: Terms, outputs: list[Term]) -> list[Term]:
    """The outputs, with constant factors outside of sums and dots."""
    return rebuilt(terms, outputs, lambda term: _simpler(terms, term))


def _simpler(terms: Terms, term: Term) -> Term:
    return _folded(terms, _hoisted(terms, _distributed(terms, _folded(terms, term))))


def _folded(terms: Terms, term: Term) -> Term:
    """x * (c * d) for x * c * d, where c and d are numbers."""
    if term.kind != "apply" or term.detail != "*" or not is_float(term.dtype):
        return term
    inner, outer = term.operands
    if outer.kind != "number" or inner.kind != "apply" or inner.detail != "*":
        return term
    factor, number = inner.operands
    if number.kind != "number" or inner.dtype != term.dtype:
        return term
    assert isinstance(number.detail, (int, float)) and isinstance(outer.detail, (int, float))
    product = terms.number(float(number.detail) * float(outer.detail))
    return terms.like(term, (factor, product))


def _distributed(terms: Terms, term: Term) -> Term:
    """exp(u * c - w * c) for exp((u - w) * c), where w has fewer axes than u."""
    if term.kind != "apply" or term.detail not in ("T.exp", "T.exp2"):
        return term
    (power,) = term.operands
    if power.kind != "apply" or power.detail not in ("*", "/"):
        return term
    difference, factor = power.operands
    if power.detail == "*" and factor.kind == "apply" and factor.detail == "-":
        difference, factor = factor, difference
    if difference.kind != "apply" or difference.detail != "-" or len(difference.operands) != 2:
        return term
    u, w = difference.operands
    if not (w.axes < u.axes and factor.axes <= w.axes):
        return term
    sides = [terms.apply(str(power.detail), (side, factor), power.dtype) for side in (u, w)]
    return terms.like(term, (terms.apply("-", tuple(sides), difference.dtype),))


def rebuilt(
    terms: Terms,
    roots: list[Term],
    change: Callable[[Term], Term],
    kept: Collection[Term] = (),
) -> list[Term]:
    """The roots with every term changed, operands first; what is `kept` stays as it is."""
    made: dict[Term, Term] = {}
    for term in subterms(*roots):
        if term in kept:
            made[term] = term
            continue
        same = terms.like(term, tuple(made[operand] for operand in term.operands))
        made[term] = change(same)
        made[term].take_name(term)
    return [made[root] for root in roots]


def _hoisted(terms: Terms, term: Term) -> Term:
    axis = reduced_axis(term)
    if axis is None:
        return term
    if term.kind == "reduce":
        how, _ = how_reduced(term)
        inside, outside = _factors(terms, term.operands[0], axis)
        if not outside or inside is None:
            return term
        if how == "sum":
            return _applied(terms, terms.reduce("sum", axis, inside, term.dtype), outside)
        if how in EXTREMES and all(_is_positive(factor) for _, factor in outside):
            return _applied(terms, terms.reduce(how, axis, inside, term.dtype), outside)
        return term
    sides = [_factors(terms, _rounded(side), axis) for side in term.operands]
    outside = [factor for _, factors in sides for factor in factors]
    if not outside or any(inside is None for inside, _ in sides):
        return term
    left, right = (
        terms.cast(inside, side.dtype, "rounded") if inside is not None else side
        for (inside, _), side in zip(sides, term.operands, strict=True)
    )
    return _applied(terms, terms.dot(axis, left, right, term.dtype), outside)


def _rounded(side: Term) -> Term:
    """A factor of a dot before it is rounded for the tensor cores."""
    return side.operands[0] if side.kind == "cast" and side.detail == "rounded" else side


Factor = tuple[str, Term]
Product = tuple[Term | None, list[Factor]]

# A power of a power has more factors than are worth to be moved.
MOST_FACTORS = 16


def _factors(
    terms: Terms, term: Term, axis: Axis, known: dict[Term, Product] | None = None
) -> Product:
    """A term as a product: what depends on the axis (None: nothing), and ("*" or "/", factor)."""
    known = {} if known is None else known
    if term not in known:
        inside, factors = _product(terms, term, axis, known)
        known[term] = (inside, factors) if len(factors) <= MOST_FACTORS else (term, [])
    return known[term]


def _product(terms: Terms, term: Term, axis: Axis, known: dict[Term, Product]) -> Product:
    if axis not in term.axes:
        return None, [("*", term)]
    if term.kind == "apply" and term.detail in ("*", "/"):
        left, right = term.operands
        inside, factors = _factors(terms, left, axis, known)
        if term.detail == "/":
            if axis in right.axes:
                return (term, []) if not factors else _joined(terms, inside, "/", right, factors)
            return inside, [*factors, ("/", right)]
        other, more = _factors(terms, right, axis, known)
        if inside is None or other is None:
            return inside or other, [*factors, *more]
        if not factors and not more:
            return term, []
        return terms.apply("*", (inside, other), term.dtype), [*factors, *more]
    return term, []


def _joined(
    terms: Terms, inside: Term | None, operator: str, right: Term, factors: list[Factor]
) -> Product:
    one = inside if inside is not None else terms.number(1.0)
    return terms.apply(operator, (one, right), right.dtype), factors


def _applied(terms: Terms, term: Term, factors: list[Factor]) -> Term:
    for operator, factor in factors:
        term = terms.apply(operator, (term, factor), term.dtype)
    return term


def _is_positive(factor: Term) -> bool:
    return factor.kind == "number" and isinstance(factor.detail, float) and factor.detail > 0


@dataclass(frozen=True)
class Running:
    """A reduction in a loop: in which loop over the axis, and what its running value follows.

    When `base` changes, the accumulator is brought up to date as the rule says:

    | rule | `base` | the accumulator |
    |---|---|---|
    | "T.exp2", "T.exp" | the w of exp(u - w) | is multiplied by exp of how much w grew |
    | "==" | a maximum or minimum of u | starts anew |
    | "mean" | the mean of u | has the square of its move added, times the count |
    """

    term: Term
    level: int
    base: Term | None = None
    rule: str = ""


def planned(axis: Axis, reductions: list[Term]) -> list[Running]:
    """The reductions over one axis with the loops that they run in, inner ones first."""
    made: dict[Term, Running] = {}
    for term in reductions:
        inner = _inner(term, made)
        if not inner:
            made[term] = Running(term, 0)
            continue
        level = max(made[one].level for one in inner)
        # Those of earlier loops are constants in this one.
        inner = [one for one in inner if made[one].level == level]
        found = _followed(term, axis, inner)
        is_new = found is None or any(
            one.base is found[0] and one.rule != found[1] for one in made.values()
        )
        # What follows another value in the loop is up to date only behind it.
        if found is None or is_new or any(made[one].base is not None for one in inner):
            made[term] = Running(term, level + 1)
        else:
            made[term] = Running(term, level, *found)
    return list(made.values())


def _inner(term: Term, known: dict[Term, Running]) -> list[Term]:
    """The reductions over the same axis that the reduced term is made with."""
    return [one for one in subterms(*term.operands) if one in known]


def _followed(term: Term, axis: Axis, inner: list[Term]) -> tuple[Term, str] | None:
    """What a reduction follows in a loop, and by which rule."""
    if all(how_reduced(one)[0] in EXTREMES for one in inner):
        extreme = _hit(term, inner)
        if extreme is not None:
            return extreme, "=="
    if how_reduced(term)[0] != "sum":
        return None
    if all(is_maximum(one) for one in inner) and len({one.axes for one in inner}) == 1:
        return _rescaled(term, axis, inner)
    return _centered(term, axis, inner)


def _hit(term: Term, inner: list[Term]) -> Term | None:
    """The extreme of u, where a reduction counts only what has u == extreme."""
    (operand,) = term.operands[:1]
    if len(inner) != 1 or term.kind != "reduce":
        return None
    if not (operand.kind == "apply" and operand.detail == "T.if_then_else"):
        return None
    test, value, other = operand.operands
    (extreme,) = inner
    is_hit = _is_hit(test, extreme) and is_identity(other, term)
    return extreme if is_hit and not set(subterms(value)) & set(inner) else None


def _is_hit(test: Term, extreme: Term) -> bool:
    """Whether a test is u == extreme of u; of floats, "or u is NaN", for so is the extreme then.

    Another test beside it has nothing to do with the extreme.
    """
    if test.kind == "apply" and test.detail == "&":
        one, other = test.operands
        return extreme not in subterms(other) and _is_hit(one, extreme)
    if test.kind == "apply" and test.detail == "|":
        test, is_nan = test.operands
        u, same = is_nan.operands if is_nan.detail == "!=" else (extreme, extreme)
        if u is not same or u is not extreme.operands[0]:
            return False
    is_equal = test.kind == "apply" and test.detail == "=="
    return is_equal and test.operands == (extreme.operands[0], extreme)


def is_identity(term: Term, reduction: Term) -> bool:
    """Whether a term changes nothing in a reduction."""
    return term.kind == "number" and term.detail == identity(how_reduced(reduction)[0], term.dtype)


def identity(how: str, dtype: str) -> int | float:
    """What changes nothing in a reduction of a type."""
    if how == "sum":
        return 0.0 if is_float(dtype) else 0
    if is_float(dtype):
        return -math.inf if how in MAXIMA else math.inf
    bits = BY_NAME[dtype].bits
    is_signed = BY_NAME[dtype].kind == "int"
    half: int = 1 << (bits - 1)
    if how in MAXIMA:
        return -half if is_signed else 0
    return half - 1 if is_signed else 2 * half - 1


def _centered(term: Term, axis: Axis, inner: list[Term]) -> tuple[Term, str] | None:
    """The mean of u, of a sum of (u - mean)²."""
    (square,) = term.operands[:1]
    if term.kind != "reduce" or square.kind != "apply" or square.detail != "*":
        return None
    difference, same = square.operands
    if difference is not same or difference.kind != "apply" or difference.detail != "-":
        return None
    if len(difference.operands) != 2 or len(inner) != 1:
        return None
    u, mean = difference.operands
    (total,) = inner
    if mean.kind != "apply" or mean.detail != "/" or mean.operands[0] is not total:
        return None
    count = mean.operands[1]
    is_count = count.kind in ("size", "number") and count.detail in (axis.size, axis.size.value)
    is_mean = how_reduced(total)[0] == "sum" and total.operands == (u,) and is_count
    return (mean, "mean") if is_mean else None


def _rescaled(term: Term, axis: Axis, inner: list[Term]) -> tuple[Term, str] | None:
    """The w of the one exp(u - w) through which a sum depends on maxima over its axis."""
    operands = [_rounded(side) for side in term.operands]
    found = [_exponential(side, axis, set(inner)) for side in operands]
    bases = [base for base in found if base is not None]
    others = [side for side, base in zip(operands, found, strict=True) if base is None]
    if len(bases) != 1 or any(set(subterms(side)) & set(inner) for side in others):
        return None
    return bases[0]


def is_maximum(term: Term) -> bool:
    return term.kind == "reduce" and how_reduced(term)[0] in MAXIMA


def _exponential(term: Term, axis: Axis, inner: set[Term]) -> tuple[Term, str] | None:
    """The w of exp(u - w), where the term is a product with it as the one that w is in."""
    if term.kind == "apply" and term.detail == "*":
        made_with = [side for side in term.operands if set(subterms(side)) & inner]
        return _exponential(made_with[0], axis, inner) if len(made_with) == 1 else None
    if term.kind == "apply" and term.detail in ("T.exp", "T.exp2"):
        (power,) = term.operands
        if power.kind == "apply" and power.detail == "-" and len(power.operands) == 2:
            u, w = power.operands
            if axis not in w.axes and not set(subterms(u)) & inner:
                return w, str(term.detail)
    return None
