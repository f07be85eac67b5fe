"""Let a reduction run over an output's axis where it reads the same elements as the output does.

A softmax reads X[i, n] for the sum over n, and X[i, j] for each j of its result: with n called j,
both are one element, which is loaded once where a tile holds whole rows.
"""

from rewrites.operands.terms import (
    Axis,
    Term,
    Terms,
    how_reduced,
    how_scanned,
    reduced_axis,
    subterms,
)


def rename_bound(terms: Terms, outputs: list[Term]) -> list[Term]:
    """The outputs, with axes of reductions renamed to axes of the outputs."""
    found = subterms(*outputs)
    places = _places(found)
    free = dict.fromkeys(axis for output in outputs for axis in _ordered(output))
    beside = _beside(found)
    renamed: dict[Axis, Axis] = {}
    for axis in free:
        for bound, uses in places.items():
            is_one = bound.size == axis.size and bound.is_bound and bound not in renamed
            is_one = is_one and axis not in beside.get(bound, set())
            if is_one and uses & places.get(axis, set()) and axis not in renamed.values():
                renamed[bound] = axis
    if not renamed:
        return outputs
    return substituted(terms, outputs, renamed)


def substituted(terms: Terms, roots: list[Term], axes: dict[Axis, Axis]) -> list[Term]:
    """The same terms over other axes."""
    made: dict[Term, Term] = {}
    for term in subterms(*roots):
        operands = tuple(made[operand] for operand in term.operands)
        if term.kind == "axis":
            assert isinstance(term.detail, Axis)
            made[term] = terms.position(axes.get(term.detail, term.detail))
        elif term.kind == "reduce":
            how, axis = how_reduced(term)
            made[term] = terms.reduce(how, axes.get(axis, axis), operands[0], term.dtype)
        elif term.kind == "scan":
            how, axis = how_scanned(term)
            made[term] = terms.scan(how, axes.get(axis, axis), operands, term.dtype)
        elif term.kind == "dot":
            assert isinstance(term.detail, Axis)
            axis = axes.get(term.detail, term.detail)
            left, right = operands
            made[term] = terms.dot(axis, left, right, term.dtype)
        else:
            made[term] = terms.like(term, operands)
        made[term].take_name(term)
    return [made[root] for root in roots]


def _beside(found: list[Term]) -> dict[Axis, set[Axis]]:
    """The axes that each bound one meets in what is reduced over it: it cannot be one of them."""
    met: dict[Axis, set[Axis]] = {}
    for term in found:
        axis = reduced_axis(term)
        if axis is not None:
            inside = set().union(*(operand.axes for operand in term.operands))
            # What is reduced inside of it has axes of its own.
            inside |= {other for part in subterms(term) if (other := reduced_axis(part))}
            met.setdefault(axis, set()).update(inside - {axis})
    return met


def _places(found: list[Term]) -> dict[Axis, set[tuple[object, ...]]]:
    """Where loads use each axis: the tensor, which of its dimensions, and what is added there."""
    places: dict[Axis, set[tuple[object, ...]]] = {}
    for term in found:
        if term.kind == "load":
            for dimension, index in enumerate(term.operands):
                for axis, rest in _uses(index):
                    places.setdefault(axis, set()).add((term.detail, dimension, *rest))
    return places


def _uses(index: Term) -> list[tuple[Axis, tuple[Term, ...]]]:
    """The axes that an index is, or is a sum with, and what is added."""
    if index.kind == "axis":
        assert isinstance(index.detail, Axis)
        return [(index.detail, ())]
    if index.kind == "apply" and index.detail == "+":
        left, right = index.operands
        return [
            (one.detail, (rest,))
            for one, rest in ((left, right), (right, left))
            if isinstance(one.detail, Axis) and one.kind == "axis"
        ]
    return []


def _ordered(term: Term) -> list[Axis]:
    return sorted(term.axes, key=lambda axis: axis.serial)
