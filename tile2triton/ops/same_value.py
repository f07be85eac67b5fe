"""T.__ldg and T.likely: values as they are, with a hint that Triton has no use for."""

import ast
from typing import Any

from rewrites.space import Space
from rewrites.values import Value
from tile2triton.ops.base import Operator
from tile2triton.reference.values import Value as Number


def __ldg(load_or_buf: Any, index: Any = None) -> Any:
    """One element of a tensor; that it is read only is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `T.__ldg(A[i])` | A[i] | `tl.load(A + i)` |
    | `T.__ldg(A, i)` | A[i] of a tensor of one dimension | `tl.load(A + i)` |
    """


def likely(x: Any) -> Any:
    """A condition; that it mostly holds is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `if T.likely(i < n):` | `if i < n:` | `if i < n:` |
    """


def complete(given: dict[str, Any]) -> dict[str, Any]:
    """An index beside the tensor picks its element."""
    if given.get("index") is None:
        return {"load_or_buf": given["load_or_buf"]}
    index = given["index"]
    return {"load_or_buf": given["load_or_buf"][tuple(index) if isinstance(index, list) else index]}


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    return space.value(next(iter(arguments.values())))


def reference(value: Number) -> Number:
    return value


OPERATORS = (
    Operator(
        surface=__ldg,
        lower=lower,
        kind="expression",
        reference=reference,
        complete=complete,
    ),
    Operator(surface=likely, lower=lower, kind="expression", reference=reference, fold=reference),
)
