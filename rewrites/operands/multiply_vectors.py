"""Make products with a vector sums of elements: tensor cores multiply matrices only."""

from rewrites.operands.online import rebuilt
from rewrites.operands.terms import Axis, Term, Terms


def multiply_vectors(terms: Terms, outputs: list[Term]) -> list[Term]:
    """The outputs, with a sum for each dot that has no rows or no columns.

    Where there is but one product of elements, as of a column and a row, nothing is summed.
    """
    return rebuilt(terms, outputs, lambda term: _multiplied(terms, term))


def _multiplied(terms: Terms, term: Term) -> Term:
    if term.kind != "dot":
        return term
    assert isinstance(term.detail, Axis)
    left, right = term.operands
    rows = left.axes - right.axes
    columns = right.axes - left.axes
    depth = term.detail in left.axes | right.axes
    if rows and columns and depth:
        return term
    factors = tuple(_widened(terms, side, term.dtype) for side in term.operands)
    product = terms.apply("*", factors, term.dtype)
    if not depth:
        return product
    made = terms.reduce("sum", term.detail, product, term.dtype)
    if not made.hints:
        # It goes by the name that products have.
        made.hints.append("acc")
    return made


def _widened(terms: Terms, side: Term, dtype: str) -> Term:
    """A factor as what it was before it was rounded for the tensor cores."""
    if side.kind == "cast" and side.detail == "rounded" and side.operands[0].dtype == dtype:
        return side.operands[0]
    return terms.cast(side, dtype)
