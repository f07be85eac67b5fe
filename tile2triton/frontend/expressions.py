"""What the instrumented code calls for lazily evaluated expressions."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tile2triton.frontend.builder import Builder
from tile2triton.frontend.decisions import note_all, noting
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.loops import Loop
from tile2triton.frontend.native import compared, truth
from tile2triton.frontend.operators import call
from tile2triton.frontend.scopes import Scope
from tile2triton.frontend.statics import note_value, plain


@dataclass
class Expressions:
    """`and`, `or`, `not`, comparisons and conditional expressions of one running function."""

    builder: Builder
    scope: Scope
    # What the names outside of the function are, for the record of structural settings.
    environment: Mapping[str, Any] = field(default_factory=dict)

    def and_(self, *operands: Callable[[], Any]) -> Any:
        return self._logical(ast.And(), operands, False)

    def or_(self, *operands: Callable[[], Any]) -> Any:
        return self._logical(ast.Or(), operands, True)

    def _logical(
        self, operation: ast.boolop, operands: tuple[Callable[[], Any], ...], decisive: bool
    ) -> Any:
        """Static operands are decided by Python, from the left, as long as it can."""
        before: list[ast.expr] = []
        dynamic: list[Dynamic] = []
        value: Any = None
        for operand in operands:
            own: list[ast.expr] = []
            with noting(own):
                value = operand()
                is_decided = not isinstance(value, Dynamic) and truth(value) is decisive
            if is_decided:
                # The outcome is the same whatever the operands before it are.
                note_all(own)
                return decisive if dynamic else value
            before += own
            if isinstance(value, Dynamic):
                dynamic.append(value)
        note_all(before)
        if not dynamic:
            return value
        if len(dynamic) == 1:
            return dynamic[0]
        return Dynamic(ast.BoolOp(operation, [one.tree for one in dynamic]), "bool")

    def not_(self, value: Any) -> Any:
        if isinstance(value, Dynamic):
            return Dynamic(ast.UnaryOp(ast.Not(), value.tree), "bool")
        return not truth(value)

    def chain(self, signs: tuple[str, ...], left: Any, *rest: Callable[[], Any]) -> Any:
        """`a < b < c`."""
        sides = [left]

        def part(sign: str, operand: Callable[[], Any]) -> Any:
            sides.append(operand())
            return compared(sign, *sides[-2:])

        return self.and_(*(functools.partial(part, *one) for one in zip(signs, rest, strict=True)))

    def select(
        self, test: Any, names: tuple[str, ...], true: Callable[[], Any], false: Callable[[], Any]
    ) -> Any:
        """`true if test else false`."""
        if not isinstance(test, Dynamic):
            self.set_down(names)
            return true() if truth(test) else false()
        return call("if_then_else", (test, true(), false()), {})

    def range(self, *bounds: Any) -> Loop:
        return call("serial", bounds, {})  # type: ignore[no-any-return]

    def python_range(self, *bounds: Any) -> Any:
        """`range` in a comprehension, which Python runs."""
        for bound in bounds:
            note_value(bound)
        return range(*bounds)

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """One comparison, which keeps its sides where the user wrote them."""
        return compared(sign, left, right)

    def set_down(self, names: tuple[str, ...]) -> None:
        """Note the values that decided a branch."""
        for name in names:
            value = self.environment.get(name)
            if name in self.environment and isinstance(value, (int, float, str, type(None))):
                shown = repr(str(value)) if isinstance(value, str) else repr(plain(value))
                self.builder.facts.settings.setdefault(name, shown)
