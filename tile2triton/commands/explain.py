"""`tile2triton explain`: what an operator or the code of an error means."""

import inspect
from typing import Any

import tile2triton.language as language
from tile2triton.commands.kernels import UsageError, suggestion
from tile2triton.diagnostics_catalogue import CATALOGUE
from tile2triton.frontend.dtypes import DType, dtype_name
from tile2triton.frontend.refused_names import RefusedName
from tile2triton.ops import OPERATORS
from tile2triton.ops.base import Operator


def explain(subject: str) -> int:
    """Print a name's signature and meaning or why it is refused, or what an error's code means."""
    name = subject.removeprefix("T.")
    if name in OPERATORS:
        print(describe(name, OPERATORS[name]))
        return 0
    code = subject.upper()
    if code in CATALOGUE:
        print(f"{code}\n\n{str(CATALOGUE[code]).strip()}")
        return 0
    if name in language.__all__:
        print(_described(name, getattr(language, name)))
        return 0
    known = [*OPERATORS, *CATALOGUE, *language.__all__]
    raise UsageError(f"there is no operator or error `{subject}`{suggestion(name, known)}")


def _described(name: str, found: Any) -> str:
    """A name that is no operator: refused, or resolved while a kernel is traced."""
    if isinstance(found, RefusedName):
        return f"T.{name} is refused\n\n{found.refusal.code}: it {found.refusal.reason}\n" + (
            f"Instead: {found.refusal.instead}"
        )
    if isinstance(found, DType):
        # Raises the reason where it is a type of TileLang's only.
        return f"T.{name}\n\nThe element type {dtype_name(found)}; `T.{name}(x)` casts to it."
    text = inspect.getdoc(found) or ""
    return f"T.{name}\n\n{text}".strip()


def describe(name: str, operator: Operator) -> str:
    """The operator as a person types it, and its documentation."""
    signature = inspect.signature(operator.surface)
    bare = [
        parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()
    ]
    shown = signature.replace(parameters=bare, return_annotation=signature.empty)
    lines = [f"T.{name}{shown}", "", inspect.getdoc(operator.surface) or ""]
    others = [other for other in (operator.name, *operator.aliases) if other != name]
    if others:
        lines += ["", "Also: " + ", ".join(f"T.{other}" for other in others)]
    return "\n".join(lines)
