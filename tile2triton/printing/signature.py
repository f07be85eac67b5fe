"""The parameters of a function as a document."""

import ast

from tile2triton.layout import Doc, Group
from tile2triton.printing.expressions import INSIDE, TOP, brackets, operand, sequence
from tile2triton.printing.precedence import LAMBDA


def signature(arguments: ast.arguments) -> Doc:
    """`(a, b: int = 1, *, c)`, with brackets that may break."""
    parts: list[Doc] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    without_default = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        default = arguments.defaults[index - without_default] if index >= without_default else None
        parts.append(parameter(argument, default))
        if index + 1 == len(arguments.posonlyargs):
            parts.append("/")
    if arguments.vararg:
        parts.append(("*", parameter(arguments.vararg, None)))
    elif arguments.kwonlyargs:
        parts.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(parameter(argument, default))
    if arguments.kwarg:
        parts.append(("**", parameter(arguments.kwarg, None)))
    return brackets("(", Group(sequence(parts, always_comma=True)) if parts else "", ")", TOP)


def parameter(argument: ast.arg, default: ast.expr | None) -> Doc:
    """`name`, `name=1` or `name: int = 1`."""
    doc: Doc = argument.arg
    if argument.annotation:
        doc = (doc, ": ", operand(argument.annotation, LAMBDA, INSIDE))
    if default:
        equals = " = " if argument.annotation else "="
        doc = (doc, equals, operand(default, LAMBDA, INSIDE))
    return doc
