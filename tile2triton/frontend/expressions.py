"""What the instrumented code calls for lazily evaluated expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tile2triton.frontend.builder import Builder
from tile2triton.frontend.loops import Loop
from tile2triton.frontend.operators import call
from tile2triton.frontend.scopes import Scope
from tile2triton.frontend.statics import plain
from tile2triton.frontend.values import Dynamic, comparison, is_scalar


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
        dynamic: list[Dynamic] = []
        value: Any = None
        for operand in operands:
            value = operand()
            if isinstance(value, Dynamic):
                dynamic.append(value)
            elif bool(value) is decisive:
                if not dynamic:
                    return value
                return decisive
        if not dynamic:
            return value
        if len(dynamic) == 1:
            return dynamic[0]
        return Dynamic(ast.BoolOp(operation, [one.tree for one in dynamic]), "bool")

    def not_(self, value: Any) -> Any:
        if isinstance(value, Dynamic):
            return Dynamic(ast.UnaryOp(ast.Not(), value.tree), "bool")
        return not value

    def chain(self, signs: tuple[str, ...], left: Any, *rest: Callable[[], Any]) -> Any:
        """`a < b < c`."""
        parts: list[Any] = []
        for sign, operand in zip(signs, rest, strict=True):
            right = operand()
            part = compared(sign, left, right)
            if not isinstance(part, Dynamic) and not part:
                return part
            parts.append(part)
            left = right
        return self.and_(*[lambda part=part: part for part in parts])

    def select(
        self, test: Any, names: tuple[str, ...], true: Callable[[], Any], false: Callable[[], Any]
    ) -> Any:
        """`true if test else false`."""
        if not isinstance(test, Dynamic):
            self.set_down(names)
            return true() if test else false()
        return call("if_then_else", (test, true(), false()), {})

    def range(self, *bounds: Any) -> Loop:
        return call("serial", bounds, {})  # type: ignore[no-any-return]

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


def compared(sign: str, left: Any, right: Any) -> Any:
    """One comparison by the name of its operator."""
    plain = {
        "Lt": operator.lt,
        "LtE": operator.le,
        "Gt": operator.gt,
        "GtE": operator.ge,
        "Eq": operator.eq,
        "NotEq": operator.ne,
    }
    if isinstance(right, Dynamic) and not isinstance(left, Dynamic) and is_scalar(left):
        # Python would turn the comparison around.
        return comparison(getattr(ast, sign)(), left, right)
    return plain[sign](left, right)
