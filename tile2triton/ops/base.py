"""The record that every operator's file fills, and how a call's arguments are read."""

import ast
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import literal


def no_problems(call: ast.Call, facts: Facts) -> Iterable[Problem]:
    """The check of an operator that takes anything."""
    return ()


@dataclass(frozen=True)
class Source:
    """A tile or a part of a tensor that an operator reads: of its extents, those that it keeps."""

    shape: tuple[Any, ...]
    dtype: str
    scope: str


@dataclass(frozen=True)
class Made:
    """The tile that an operator makes where it is called without a destination.

    `options` are what the call then says, and `name` is what the tile is called where the user
    gives it no name.
    """

    shape: tuple[Any, ...]
    dtype: str
    name: str
    options: dict[str, Any] = field(default_factory=dict)
    scope: str = "fragment"


@dataclass(frozen=True)
class WholeForm:
    """What an operator means of whole operands, in programs without T.Kernel.

    `surface` is what people read; `make` takes a `Making` and the same arguments, and gives the
    whole operand that is the result; `reference` says the same of NumPy arrays.
    """

    surface: Callable[..., Any]
    make: Callable[..., Any]
    reference: Callable[..., Any]
    # Options that follow from the names of extents, which the program then says itself.
    complete: Callable[..., dict[str, Any]] | None = None
    # Whether `make` takes an extent as an `Extent`, which may have any size; else as a number.
    takes_extents: bool = False

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.surface)


@dataclass(frozen=True)
class Operator:
    """One operator of the language.

    `kind` is "expression" (has a value, may stand in any expression), "statement" (acts on tiles or
    tensors), "allocation", "loop", "kernel", "hint" (changes no result), "protocol" (orders threads
    and is erased), "scope" (a `with` that says which threads run its body) or "thread" (the number
    of a thread, in some form). `fold` computes an expression of static numbers. `aliases` are
    further surface names with the same meaning.
    """

    surface: Callable[..., Any]
    kind: str
    check: Callable[[ast.Call, Facts], Iterable[Problem]] = no_problems
    lower: Callable[..., Any] | None = None
    reference: Callable[..., Any] | None = None
    fold: Callable[..., Any] | None = None
    aliases: tuple[str, ...] = ()
    # An expression whose operands are tiles, tensors and parts of them, not values.
    takes_regions: bool = False
    # The reference meaning reads and changes the state of the program, its first argument.
    takes_state: bool = False
    # Fills in arguments that follow from others, before the call is set down.
    complete: Callable[[dict[str, Any]], dict[str, Any]] = lambda given: given
    # What is wrong with the arguments of a call, whatever the program is: code, message, remedy.
    mistake: Callable[[dict[str, Any]], tuple[str, str, str] | None] = lambda given: None
    # A statement's destination by parameter name, and whether its old value matters.
    writes: str = ""
    keeps: Callable[[dict[str, ast.expr]], bool] = lambda arguments: False
    # What a call without the destination makes, of its sources by name and its plain options.
    makes: Callable[[dict[str, Source], dict[str, Any]], Made] | None = None
    # Its form on whole operands; without one, an expression is taken element by element.
    whole: WholeForm | None = None
    # The type of its result on whole operands, "float" any that is one; "" is their own.
    gives: str = ""
    # How many neighbours along the last dimension an element stands for that is an operand.
    width: int = 1

    @property
    def name(self) -> str:
        return self.surface.__name__

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.surface)

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """The call's arguments by parameter name, defaults filled in as literals.

        A variadic parameter (`T.Kernel(*blocks)`) is given as an `ast.Tuple`.
        """
        signature = self.signature
        bound = signature.bind(*call.args, **{k.arg: k.value for k in call.keywords if k.arg})
        result: dict[str, ast.expr] = {}
        for parameter in signature.parameters.values():
            value = bound.arguments.get(parameter.name, parameter.default)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                given = bound.arguments.get(parameter.name, ())
                result[parameter.name] = ast.Tuple(list(given), ast.Load())
            elif isinstance(value, ast.AST):
                assert isinstance(value, ast.expr)
                result[parameter.name] = value
            else:
                result[parameter.name] = literal(value)
        return result
