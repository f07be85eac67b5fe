"""`T.macro`: a function of the user's that is traced into the kernel that calls it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.decisions import note_all, noting
from tile2triton.frontend.declarations import Ref
from tile2triton.frontend.environment import Captured, capture, environment_of
from tile2triton.frontend.execution import check_names, executable, prepare
from tile2triton.frontend.failures import failure
from tile2triton.frontend.scopes import Scope
from tile2triton.frontend.tracer import Tracer
from tile2triton.frontend.values import Element, Variable


def macro(function: FunctionType) -> Macro:
    """Trace the function into each kernel that calls it, with its `if`s, loops and stores."""
    return Macro(capture(function, sys._getframe(1)))


class Macro:
    """A function under @T.macro."""

    # pytest takes a function named test_…, also one that is a kernel, for a test.
    __test__ = False

    def __init__(self, captured: Captured, owner: Any = None) -> None:
        self.captured = captured
        self.owner = owner
        self.__name__ = captured.function.__name__
        self.__doc__ = captured.function.__doc__
        self.signature = inspect.signature(captured.function)
        self._ready: tuple[Callable[..., Any], dict[str, Any], list[ast.expr]] | None = None

    def __get__(self, owner: Any, kind: type | None = None) -> Macro:
        return self if owner is None else Macro(self.captured, owner)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        builder = require(f"the macro `{self.__name__}`")
        if self._ready is None or builder.takes_operands:
            # A program on whole operands has what its macros read from around them as it is now.
            self._ready = self._prepared()
        run, environment, decided = self._ready
        note_all(decided)
        if self.owner is not None:
            arguments = (self.owner, *arguments)
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise failure("T2T160", f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        tracer = Tracer(builder, Scope(builder, builder.block, is_macro=True), environment)
        for name, parameter in self.signature.parameters.items():
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                bound.arguments[name] = self._passed(tracer, parameter, bound.arguments[name])
        mark = builder.tile_names.mark()
        result = run(tracer, *bound.args, **bound.kwargs)
        # The macro's own names must not keep its tiles any longer.
        del tracer, bound
        builder.tile_names.release(mark)
        return result

    def _passed(self, tracer: Tracer, parameter: inspect.Parameter, value: Any) -> Any:
        is_reference = _is_reference(parameter.annotation)
        if is_reference and not isinstance(value, (Variable, Element)):
            raise failure(
                "T2T169",
                f"`{self.__name__}` assigns to its parameter `{parameter.name}`, "
                "but what is passed cannot be assigned to",
                found=(f"{parameter.name}: {value!r}"[:80],),
                hint="pass a variable from T.alloc_var or an element of a buffer",
            )
        return tracer.parameter(parameter.name, value, is_reference)

    def _prepared(self) -> tuple[Callable[..., Any], dict[str, Any], list[ast.expr]]:
        prepared = prepare(self.captured.function.__code__)
        decided: list[ast.expr] = []
        with noting(decided):
            environment = environment_of(self.captured, prepared.source.tree)
        check_names(prepared, environment)
        return executable(prepared, environment), environment, decided


def _is_reference(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] in ("Ref", "Var")
    return annotation is Ref
