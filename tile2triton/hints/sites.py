"""Which loads or products of a variable a hint is of, where the variable is assigned several."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from rewrites.facts import Argument, HintRequest
from tile2triton.hints.anchors import Anchor
from tile2triton.sites import SiteName

OF_PRODUCTS = ("gemm_warps", "mfma_shape")
OF_BOTH = "pipeline_schedule"

Anchors = Mapping[str, Sequence[Anchor]]
Arguments = tuple[tuple[str, Argument], ...]


def meant_by(request: HintRequest, variable: str, anchors: Anchors) -> dict[str, list[Anchor]]:
    """The loads or products that a hint is of, by the names that patches have for them.

    They are those at the user's line, or in the loop that stands there, each with a name of its
    own. Where these are all of the variable, or none, they are all, and have the variable's.
    """
    kinds = [request.kind in OF_PRODUCTS] if request.kind != OF_BOTH else [True, False]
    for is_product in kinds:
        found = [one for one in anchors.get(variable, ()) if (one.kind == "dot") == is_product]
        here = {
            str(SiteName(variable, number, len(found))): [one]
            for number, one in enumerate(found, 1)
            if _stands_at(request, one.statement) or _stands_at(request, one.loop)
        }
        if 0 < len(here) < len(found):
            return here
        if here:
            return {variable: found}
    return {variable: found}


def asked_of(request: HintRequest, anchors: Anchors) -> Iterator[tuple[str, Arguments]]:
    """Each patch that a request comes to: the name of what it is for, and its arguments."""
    names = list(meant_by(request, request.anchor, anchors))
    if request.kind != OF_BOTH:
        yield from ((name, request.arguments) for name in names)
        return
    arguments: list[tuple[str, Argument]] = []
    for key, flat in request.arguments:
        assert isinstance(flat, tuple), f"`{key}` of a schedule is no tuple"
        pairs = zip(flat[::2], flat[1::2], strict=True)
        said = [
            (name, number)
            for variable, number in pairs
            for name in meant_by(request, str(variable), anchors)
        ]
        arguments.append((key, tuple(part for pair in said for part in pair)))
    yield names[0], tuple(arguments)


def _stands_at(request: HintRequest, node: ast.stmt | None) -> bool:
    """Statements that came from macros of other files may not say so; the line must do."""
    if node is None:
        return False
    filename = node.__dict__.get("filename", request.filename)
    return (node.lineno, filename) == (request.line, request.filename)
