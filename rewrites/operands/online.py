"""Reductions along one axis that need each other: which can run in one loop, and how.

A sum whose terms are made with the result of another reduction over the same axis would need a
second loop. Two rules of algebra save it:

- a factor that does not depend on the axis stands outside of the sum: sum(x / s) = sum(x) / s;
- exp2(u - w), where w is made of maxima over the axis, is a running sum: when w grows to v, what
  was summed is multiplied by exp2(w - v). This is Milakov and Gimelshein, "Online normalizer
  calculation for softmax" (2018), for any w and any factor beside it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from rewrites.operands.terms import Axis, Term, Terms, how_reduced, reduced_axis, subterms


def hoist_factors(terms: Terms, outputs: list[Term]) -> list[Term]:
    """The outputs, with constant factors outside of sums and dots."""
    return rebuilt(terms, outputs, lambda term: _hoisted(terms, term))


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
        if how in ("max", "min") and all(_is_positive(factor) for _, factor in outside):
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


def _factors(terms: Terms, term: Term, axis: Axis) -> tuple[Term | None, list[Factor]]:
    """A term as a product: what depends on the axis (None: nothing), and ("*" or "/", factor)."""
    if axis not in term.axes:
        return None, [("*", term)]
    if term.kind == "apply" and term.detail in ("*", "/"):
        left, right = term.operands
        inside, factors = _factors(terms, left, axis)
        if term.detail == "/":
            if axis in right.axes:
                return (term, []) if not factors else _joined(terms, inside, "/", right, factors)
            return inside, [*factors, ("/", right)]
        other, more = _factors(terms, right, axis)
        if inside is None or other is None:
            return inside or other, [*factors, *more]
        if not factors and not more:
            return term, []
        return terms.apply("*", (inside, other), term.dtype), [*factors, *more]
    return term, []


def _joined(
    terms: Terms, inside: Term | None, operator: str, right: Term, factors: list[Factor]
) -> tuple[Term, list[Factor]]:
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

    `base` is the w of exp2(u - w): the accumulator is rescaled when it changes.
    """

    term: Term
    level: int
    base: Term | None = None


def planned(axis: Axis, reductions: list[Term]) -> list[Running]:
    """The reductions over one axis with the loops that they run in, inner ones first."""
    made: dict[Term, Running] = {}
    for term in reductions:
        inner = _inner(term, made)
        if not inner:
            made[term] = Running(term, 0)
            continue
        level = max(made[one].level for one in inner)
        base = _base(term, axis, inner, made)
        if base is not None:
            made[term] = Running(term, level, base)
        else:
            made[term] = Running(term, level + 1)
    return list(made.values())


def _inner(term: Term, known: dict[Term, Running]) -> list[Term]:
    """The reductions over the same axis that the reduced term is made with."""
    return [one for one in subterms(*term.operands) if one in known]


def _base(term: Term, axis: Axis, inner: list[Term], made: dict[Term, Running]) -> Term | None:
    """The w of the one exp2(u - w) through which a sum depends on maxima over its axis."""
    if not all(is_maximum(one) for one in inner):
        return None
    if how_reduced(term)[0] != "sum":
        return None
    operands = [_rounded(side) for side in term.operands]
    found = [_exponential(side, axis, set(inner)) for side in operands]
    bases = [base for base in found if base is not None]
    others = [side for side, base in zip(operands, found, strict=True) if base is None]
    if len(bases) != 1 or any(set(subterms(side)) & set(inner) for side in others):
        return None
    return bases[0]


def is_maximum(term: Term) -> bool:
    return term.kind == "reduce" and how_reduced(term)[0] == "max"


def _exponential(term: Term, axis: Axis, inner: set[Term]) -> Term | None:
    """The w of exp2(u - w), where the term is a product with it as the one that w is in."""
    if term.kind == "apply" and term.detail == "*":
        left, right = term.operands
        for one, other in ((left, right), (right, left)):
            base = _exponential(one, axis, inner)
            if base is not None and not set(subterms(other)) & inner:
                return base
        return None
    if term.kind == "apply" and term.detail == "T.exp2":
        (power,) = term.operands
        if power.kind == "apply" and power.detail == "-":
            u, w = power.operands
            if axis not in w.axes and not set(subterms(u)) & inner:
                return w
    return None
