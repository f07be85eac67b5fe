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
    return _Guarding(terms, axis).guarded(term, identity)


class _Guarding:
    """Guards terms along one axis, those that are met on several ways once."""

    def __init__(self, terms: Terms, axis: Axis) -> None:
        self.terms = terms
        self.axis = axis
        self.made: dict[tuple[Term, int | float], Term] = {}

    def guarded(self, term: Term, identity: int | float) -> Term:
        if self.axis not in term.axes:
            return term
        key = (term, identity)
        if key not in self.made:
            self.made[key] = self._made(term, identity)
        return self.made[key]

    def _made(self, term: Term, identity: int | float) -> Term:
        if term.kind == "load" and identity == 0:
            if _ends_with(self.terms, term, self.axis):
                return term
        if term.kind == "cast" and (identity == 0 or is_float(term.operands[0].dtype)):
            inside = self.guarded(term.operands[0], identity)
            if inside is term.operands[0]:
                return term
            if term.operands[0].kind != "load":
                return self.terms.like(term, (inside,))
        if term.kind == "reduce" and how_reduced(term)[0] == "sum" and identity == 0:
            if self.guarded(term.operands[0], identity) is term.operands[0]:
                return term
        if term.kind == "apply":
            inner = self._inner(term, identity)
            if inner is not None:
                return inner
        made = self.terms.apply(
            WHERE, (self._within(), term, self.terms.number(identity)), term.dtype
        )
        if term.name and not made.names:
            made.names.append(f"{term.name}_masked")
            made.nodes.extend(term.nodes)
        return made

    def _inner(self, term: Term, identity: int | float) -> Term | None:
        if term.detail in ("T.exp2", "T.exp") and identity == 0:
            return self.terms.like(term, (self.guarded(term.operands[0], -INFINITY),))
        if term.detail == "-" and abs(identity) == INFINITY:
            left, right = term.operands
            if self.axis not in right.axes:
                return self.terms.like(term, (self.guarded(left, identity), right))
        if term.detail == "*":
            left, right = term.operands
            if identity == 0:
                sides = (self.guarded(left, identity), self.guarded(right, identity))
                if left is sides[0] or right is sides[1]:
                    return self.terms.like(term, sides)
                return None
            if is_positive(right):
                return self.terms.like(term, (self.guarded(left, identity), right))
        if term.detail == WHERE:
            test, yes, no = term.operands
            is_masked = no.kind == "number" and no.detail == identity
            # Behind the end a mask that is loaded is False.
            if is_masked and any(
                one.kind == "load" and _ends_with(self.terms, one, self.axis)
                for one in conjuncts(test)
            ):
                return term
            if is_masked and self.axis in test.axes:
                # A mask of the user's that says the same value takes the end of the extent in.
                both = self.terms.apply("&", (self._within(), test), "bool")
                return self.terms.like(term, (both, yes, no))
        return None

    def _within(self) -> Term:
        """Whether an element is one of the extent."""
        sides = self.terms.position(self.axis), self.terms.size(self.axis.size)
        return self.terms.apply("<", sides, "bool")


def _ends_with(terms: Terms, load: Term, axis: Axis) -> bool:
    """Whether a tensor ends where the axis does, so that a load reads 0 behind it."""
    return any(
        index.kind == "axis"
        and index.detail == axis
        and terms.extents.get((str(load.detail), at)) == axis.size
        for at, index in enumerate(load.operands)
    )


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
    found: set[Term] = set()
    waiting = [(term, identity)]
    known: set[tuple[Term, float]] = set()
    while waiting:
        one = waiting.pop()
        if one not in known:
            known.add(one)
            found |= _own_conditions(*one)
            waiting += _inside_conditions(*one)
    return found


def _own_conditions(term: Term, identity: float) -> set[Term]:
    if term.kind == "apply" and term.detail == WHERE:
        test, _, no = term.operands
        if no.kind == "number" and no.detail == identity:
            return set(conjuncts(test))
    return set()


def _inside_conditions(term: Term, identity: float) -> list[tuple[Term, float]]:
    """The operands that make a term the identity where they are the number beside them."""
    first = term.operands[0] if term.operands else term
    if term.kind == "cast":
        return [(first, identity)]
    if term.kind != "apply":
        return []
    if term.detail == WHERE:
        return [(term.operands[1], identity)] if _own_conditions(term, identity) else []
    if term.detail in ("T.exp2", "T.exp") and identity == 0:
        return [(first, -INFINITY)]
    if term.detail == "*" and identity == 0:
        return [(first, 0.0), (term.operands[1], 0.0)]
    if term.detail == "*" and is_positive(term.operands[1]):
        return [(first, identity)]
    if term.detail == "-" and abs(identity) == INFINITY:
        return [(first, identity)]
    return []


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
    waiting, known = [term], {term}
    while waiting:
        one = waiting.pop()
        if one.kind == "load" and is_float(one.dtype):
            return True
        if one.kind in ("load", "dot", "reduce"):
            continue
        operands = one.operands
        if one.kind == "apply" and one.detail == WHERE:
            test, yes, no = operands
            if no.kind == "number" and no.detail == -INFINITY:
                if is_part or not all(_keeps_first(each, axis) for each in conjuncts(test)):
                    return True
                operands = (yes,)
        waiting += [operand for operand in operands if operand not in known]
        known.update(operands)
    return False


def _keeps_first(test: Term, axis: Axis) -> bool:
    """Whether a comparison holds for the index 0."""
    limit = bound_of(test, axis)
    return limit is not None and limit[0] and all(count >= 0 for count in limit[1].values())
