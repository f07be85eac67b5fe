"""What the front end's tests share: the text of the tile program that a kernel is traced to."""

from typing import Any

import pytest

from rewrites.facts import Program
from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.frontend.trace import trace_eager
from tile2triton.printer import to_source


def text_of(program: Program) -> str:
    """The canonical program as text, constants and all."""
    return to_source(program.tree).strip() + "\n"


def body_of(kernel: PrimFunc) -> str:
    """The statements under the kernel's first `with T.Kernel`, with their indentation taken off."""
    lines = text_of(kernel.program()).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("    with T.Kernel"))
    while not lines[start].rstrip().endswith(":"):
        start += 1
    return "\n".join(line[8:] for line in lines[start + 1 :]).strip() + "\n"


def eager_program(kernel: Any, consts: dict[str, int] | None = None, **statics: Any) -> Program:
    """The program of an eager kernel, with the defaults of its static parameters."""
    values = {
        name: parameter.default
        for name, parameter in kernel.signature.parameters.items()
        if name in kernel.statics
    }
    return trace_eager(kernel.captured, {**values, **statics}, consts or {})


def errors_of(kernel: PrimFunc) -> tuple[Diagnostic, ...]:
    """What tracing the kernel reports."""
    with pytest.raises(TileError) as raised:
        kernel.program()
    return raised.value.diagnostics


def marked(diagnostic: Diagnostic) -> str:
    """The source text that the carets of an error stand under."""
    import linecache

    line = linecache.getline(diagnostic.filename, diagnostic.line)
    return line[diagnostic.column - 1 : diagnostic.end - 1]
