"""Compute exp in loops over a scan as exp2, with what is multiplied by log2(e) before the loop.

exp(d * a), where `a` is the same at every index, is exp2(d * (a * log2(e))). GPUs compute exp2; exp
takes a product more for each element, and NVIDIA's three more instructions.
"""

import math

from rewrites.operands.online import rebuilt
from rewrites.operands.terms import Axis, Term, Terms, how_scanned, subterms

LOG2_E = math.log2(math.e)


def with_powers_of_two(terms: Terms, outputs: list[Term]) -> list[Term]:
    """The outputs of a program with scans, with exp2 in place of exp where an index changes it."""
    scanned = {how_scanned(term)[1] for term in subterms(*outputs) if term.kind == "scan"}

    def change(term: Term) -> Term:
        is_power = term.kind == "apply" and term.detail == "T.exp" and term.dtype == "float32"
        if not is_power or term.axes.isdisjoint(scanned):
            return term
        (exponent,) = term.operands
        return terms.apply("T.exp2", (_scaled(terms, exponent, scanned),), term.dtype)

    return rebuilt(terms, outputs, change) if scanned else outputs


def _scaled(terms: Terms, exponent: Term, scanned: set[Axis]) -> Term:
    """An exponent times log2(e), which is multiplied into what does not change."""
    scale = terms.number(LOG2_E)
    if exponent.kind == "apply" and exponent.detail == "*":
        left, right = exponent.operands
        if right.axes.isdisjoint(scanned):
            return terms.like(exponent, (left, _constant(terms, right, scale)))
        if left.axes.isdisjoint(scanned):
            return terms.like(exponent, (_constant(terms, left, scale), right))
    return terms.apply("*", (exponent, scale), "float32")


def _constant(terms: Terms, factor: Term, scale: Term) -> Term:
    """A product that is computed once, under a name of its own."""
    made = terms.apply("*", (factor, scale), "float32")
    inner = factor.operands[0] if factor.kind == "cast" else factor
    if not made.names:
        made.names.append(f"{inner.detail if inner.kind == 'load' else inner.name or 'rate'}_log2")
    return made
