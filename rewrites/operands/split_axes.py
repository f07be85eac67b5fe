"""Take an axis of an output apart where the program groups the indices along it.

before: C[m] is made of X[m // 8] and a sum over X[m // 8 * 8 + c]
after:  C[g * 8 + i] is made of X[g] and a sum over X[g * 8 + c], so that one program does a group
"""

from rewrites.operands.online import rebuilt
from rewrites.operands.terms import Axis, Size, Term, Terms, how_scanned, subterms

Output = tuple[Term, tuple[Term, ...]]


def split_axes(terms: Terms, outputs: list[Output]) -> list[Output]:
    """The terms and indices of outputs, over two axes in place of each that is grouped."""
    found = subterms(*(root for root, _ in outputs))
    if any(term.kind == "dot" for term in found):
        return outputs
    places: dict[Term, Term] = {}
    # A scan goes on from one group to the next.
    scanned = {how_scanned(term)[1] for term in found if term.kind == "scan"}
    for axis, group in _groups(found).items():
        if axis in scanned or axis.is_bound or axis.size.value % group or group == axis.size.value:
            continue
        # Numbers that no other axis has, of the same extent or not.
        serial = 1000 + 2 * len(places)
        outer = Axis(Size(axis.size.value // group), serial, False)
        inner = Axis(Size(group), serial + 1, False)
        start = terms.apply("*", (terms.position(outer), terms.number(group)), "int32")
        places[terms.position(axis)] = terms.apply("+", (start, terms.position(inner)), "int32")
    if not places:
        return outputs

    def change(term: Term) -> Term:
        return _simplified(terms, places.get(term, term))

    roots = rebuilt(terms, [root for root, _ in outputs], change)
    indices = [tuple(rebuilt(terms, list(own), change)) for _, own in outputs]
    return list(zip(roots, indices, strict=True))


def _groups(found: list[Term]) -> dict[Axis, int]:
    """The axes whose indices are divided, all by one number."""
    numbers: dict[Axis, set[int]] = {}
    for term in found:
        if term.kind == "apply" and term.detail in ("//", "%"):
            index, group = term.operands
            if index.kind == "axis" and group.kind == "number":
                assert isinstance(index.detail, Axis) and isinstance(group.detail, int)
                numbers.setdefault(index.detail, set()).add(group.detail)
    return {axis: groups.pop() for axis, groups in numbers.items() if len(groups) == 1}


def _simplified(terms: Terms, term: Term) -> Term:
    """g for (g * n + i) // n, and i for (g * n + i) % n, where i is below n."""
    if term.kind != "apply" or term.detail not in ("//", "%"):
        return term
    index, group = term.operands
    if index.kind != "apply" or index.detail != "+":
        return term
    start, inner = index.operands
    is_group = start.kind == "apply" and start.detail == "*" and start.operands[1] is group
    if not is_group or not isinstance(inner.detail, Axis):
        return term
    if inner.detail.size.value > (group.detail if isinstance(group.detail, int) else 0):
        return term
    return start.operands[0] if term.detail == "//" else inner
