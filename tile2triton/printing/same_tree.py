"""Whether two trees mean the same program, positions, comments and blank lines aside."""

import ast
from typing import Any

from rewrites.nodes import Blank, Comment

IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})


def difference(left: Any, right: Any) -> str | None:
    """Where two trees differ, in words; None if they are the same."""
    if isinstance(left, list) or isinstance(right, list):
        return _lists(_statements(left), _statements(right))
    if isinstance(left, ast.Constant):
        return _constants(left, right)
    if type(left) is not type(right):
        return f"{type(left).__name__} against {type(right).__name__}"
    if isinstance(left, ast.AST):
        for field in left._fields:
            if field not in IGNORED:
                found = difference(getattr(left, field, None), getattr(right, field, None))
                if found is not None:
                    return None if _same_string(left, right) else found
        return None
    return None if left == right else f"{left!r} against {right!r}"


def _same_string(left: ast.AST, right: ast.AST) -> bool:
    """Whether two f-strings differ only in how their constant parts are cut."""
    return isinstance(left, ast.JoinedStr) and ast.unparse(left) == ast.unparse(right)


def _lists(left: list[Any], right: list[Any]) -> str | None:
    if len(left) != len(right):
        return f"{len(left)} nodes against {len(right)}"
    for one, other in zip(left, right, strict=True):
        found = difference(one, other)
        if found is not None:
            return found
    return None


def _statements(nodes: list[Any] | None) -> list[Any]:
    return [node for node in nodes or () if not isinstance(node, (Comment, Blank))]


def _constants(left: ast.Constant, right: Any) -> str | None:
    value: Any = left.value
    is_number = isinstance(value, (int, float))
    if is_number and isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub):
        # Python's own trees write a negative number as a minus and a number.
        value, right = -value, right.operand
    if not isinstance(right, ast.Constant):
        return f"the constant {value!r} against {type(right).__name__}"
    other = right.value
    same = isinstance(value, type(other)) and value == other
    return None if same else f"{value!r} against {other!r}"
