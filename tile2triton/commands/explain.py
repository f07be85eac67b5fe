"""`tile2triton explain`: what an operator or the code of an error means."""

import inspect

from tile2triton.commands.kernels import UsageError, suggestion
from tile2triton.diagnostics_catalogue import CATALOGUE
from tile2triton.ops import OPERATORS
from tile2triton.ops.base import Operator


def explain(subject: str) -> int:
    """Print an operator's signature and meaning, or what an error's code means."""
    name = subject.removeprefix("T.")
    if name in OPERATORS:
        print(describe(name, OPERATORS[name]))
        return 0
    code = subject.upper()
    if code in CATALOGUE:
        print(f"{code}\n\n{str(CATALOGUE[code]).strip()}")
        return 0
    known = [*OPERATORS, *CATALOGUE]
    raise UsageError(f"there is no operator or error `{subject}`{suggestion(name, known)}")


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
