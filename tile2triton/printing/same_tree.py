"""Whether two trees mean the same program, positions, comments and blank lines aside."""

import ast
from typing import Any

from rewrites.nodes import Blank, Comment

IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})

_COMPARED: dict[type[ast.AST], tuple[str, ...]] = {}


def difference(left: Any, right: Any) -> str | None:
    """Where two trees differ, in words; None if they are the same."""
    kind = type(left)
    if kind is list or type(right) is list:
        return _lists(left or [], right or [])
    if kind is ast.Constant:
        return _constants(left, right)
    if kind is not type(right):
        return f"{kind.__name__} against {type(right).__name__}"
    if not isinstance(left, ast.AST):
        return None if left == right else f"{left!r} against {right!r}"
    for field in _fields(left):
        found = difference(getattr(left, field, None), getattr(right, field, None))
        if found is not None:
            return None if _same_string(left, right) else found
    return None


def _fields(node: ast.AST) -> tuple[str, ...]:
    """What of a node is compared."""
    fields = _COMPARED.get(type(node))
    if fields is None:
        fields = tuple(field for field in node._fields if field not in IGNORED)
        _COMPARED[type(node)] = fields
    return fields


def _same_string(left: ast.AST, right: ast.AST) -> bool:
    """Whether two f-strings differ only in how their constant parts are cut."""
    return isinstance(left, ast.JoinedStr) and ast.unparse(left) == ast.unparse(right)


def _lists(left: list[Any], right: list[Any]) -> str | None:
    if len(left) != len(right):
        # Python's own trees hold neither comments nor blank lines.
        left = [node for node in left if not isinstance(node, (Comment, Blank))]
        right = [node for node in right if not isinstance(node, (Comment, Blank))]
        if len(left) != len(right):
            return f"{len(left)} nodes against {len(right)}"
    for one, other in zip(left, right, strict=True):
        found = difference(one, other)
        if found is not None:
            return found
    return None


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
