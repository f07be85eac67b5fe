"""What lies behind the end of an extent, or is masked, must not count in a reduction over it."""

from collections.abc import Collection

from rewrites.dtypes import is_float
from rewrites.operands.limits import bound_of
from rewrites.operands.online import rebuilt
from rewrites.operands.terms import Axis, Term, Terms, how_reduced

WHERE = "T.if_then_else"
INFINITY = float("inf")


def guarded(terms: Terms, term: Term, axis: Axis, identity: int | float) -> Term:
    """The term where the axis is within its extent, and what changes no result behind it.

    The test goes to where it is cheapest and shared: a mask on u does for exp2(u - w), since that
    of -inf is 0; elements that are loaded are 0 there already.
    """
    if axis not in term.axes:
        return term
    if term.kind == "load" and identity == 0:
        if _ends_with(terms, term, axis):
            return term
    if term.kind == "cast" and (identity == 0 or is_float(term.operands[0].dtype)):
        inside = guarded(terms, term.operands[0], axis, identity)
        if inside is term.operands[0]:
            return term
        if term.operands[0].kind != "load":
            return terms.like(term, (inside,))
    if term.kind == "reduce" and how_reduced(term)[0] == "sum" and identity == 0:
        if guarded(terms, term.operands[0], axis, 0.0) is term.operands[0]:
            return term
    if term.kind == "apply":
        inner = _inner_guard(terms, term, axis, identity)
        if inner is not None:
            return inner
    test = terms.apply("<", (terms.position(axis), terms.size(axis.size)), "bool")
    made = terms.apply(WHERE, (test, term, terms.number(identity)), term.dtype)
    if term.name and not made.names:
        made.names.append(f"{term.name}_masked")
        made.nodes.extend(term.nodes)
    return made


def _ends_with(terms: Terms, load: Term, axis: Axis) -> bool:
    """Whether a tensor ends where the axis does, so that a load reads 0 behind it."""
    return any(
        index.kind == "axis"
        and index.detail == axis
        and terms.extents.get((str(load.detail), at)) == axis.size
        for at, index in enumerate(load.operands)
    )


def _inner_guard(terms: Terms, term: Term, axis: Axis, identity: int | float) -> Term | None:
    if term.detail in ("T.exp2", "T.exp") and identity == 0:
        return terms.like(term, (guarded(terms, term.operands[0], axis, -INFINITY),))
    if term.detail == "-" and abs(identity) == INFINITY:
        left, right = term.operands
        if axis not in right.axes:
            return terms.like(term, (guarded(terms, left, axis, identity), right))
    if term.detail == "*":
        left, right = term.operands
        if identity == 0:
            sides = (guarded(terms, left, axis, 0.0), guarded(terms, right, axis, 0.0))
            if left is sides[0] or right is sides[1]:
                return terms.like(term, sides)
            return None
        if is_positive(right):
            return terms.like(term, (guarded(terms, left, axis, identity), right))
    if term.detail == WHERE:
        test, yes, no = term.operands
        is_masked = no.kind == "number" and no.detail == identity
        # Behind the end a mask that is loaded is False.
        if is_masked and any(
            one.kind == "load" and _ends_with(terms, one, axis) for one in conjuncts(test)
        ):
            return term
        if is_masked and axis in test.axes:
            # A mask of the user's that says the same value takes the end of the extent in.
            inside = terms.apply("<", (terms.position(axis), terms.size(axis.size)), "bool")
            both = terms.apply("&", (inside, test), "bool")
            return terms.like(term, (both, yes, no))
    return None


def is_positive(term: Term) -> bool:
    """Whether a term is a number above 0."""
    return (
        term.kind == "number"
        and isinstance(term.detail, (int, float))
        and not isinstance(term.detail, bool)
        and 0 < term.detail < INFINITY
    )


def conditions(term: Term, identity: float) -> set[Term]:
    """Where none of these hold, the term is the identity of its reduction."""
    if term.kind == "cast":
        return conditions(term.operands[0], identity)
    if term.kind != "apply":
        return set()
    if term.detail == WHERE:
        test, yes, no = term.operands
        if no.kind == "number" and no.detail == identity:
            return {*conjuncts(test), *conditions(yes, identity)}
    if term.detail in ("T.exp2", "T.exp") and identity == 0:
        return conditions(term.operands[0], -INFINITY)
    if term.detail == "*" and identity == 0:
        return conditions(term.operands[0], 0.0) | conditions(term.operands[1], 0.0)
    if term.detail == "*" and is_positive(term.operands[1]):
        return conditions(term.operands[0], identity)
    if term.detail == "-" and abs(identity) == INFINITY:
        return conditions(term.operands[0], identity)
    return set()


def conjuncts(test: Term) -> list[Term]:
    """The conditions that a test is the conjunction of."""
    if test.kind == "apply" and test.detail == "&":
        return [one for operand in test.operands for one in conjuncts(operand)]
    return [test]


def without(terms: Terms, roots: list[Term], held: set[Term], kept: Collection[Term]) -> list[Term]:
    """The terms where these conditions are known to hold; what is `kept` stays as it is."""

    def change(term: Term) -> Term:
        if term.kind == "apply" and term.detail == WHERE:
            test, yes, no = term.operands
            rest = [one for one in conjuncts(test) if one not in held]
            if not rest:
                return yes
            if len(rest) < len(conjuncts(test)):
                both = rest[0]
                for one in rest[1:]:
                    both = terms.apply("&", (both, one), "bool")
                return terms.like(term, (both, yes, no))
        return term

    return rebuilt(terms, roots, change, kept)


def may_be_hidden(term: Term, axis: Axis, is_part: bool) -> bool:
    """Whether the first tile along an axis can be -inf, as far as the expression tells.

    Products of matrices are finite where their factors are. Of a mask that hides what lies behind
    some index from 0 on, the first tile has an element that is seen, where it begins at 0 and not
    with a part of the axis.
    """
    if term.kind == "load":
        return is_float(term.dtype)
    if term.kind == "apply" and term.detail == WHERE:
        test, yes, no = term.operands
        if no.kind == "number" and no.detail == -INFINITY:
            is_prefix = not is_part and all(_keeps_first(one, axis) for one in conjuncts(test))
            return not is_prefix or may_be_hidden(yes, axis, is_part)
    if term.kind in ("dot", "reduce"):
        return False
    return any(may_be_hidden(operand, axis, is_part) for operand in term.operands)


def _keeps_first(test: Term, axis: Axis) -> bool:
    """Whether a comparison holds for the index 0."""
    limit = bound_of(test, axis)
    return limit is not None and limit[0] and all(count >= 0 for count in limit[1].values())
