"""Constants, formatted strings and docstrings as text, as a formatter writes them."""

import ast
from typing import Any


def constant(value: Any) -> str:
    """The text of a constant; strings in double quotes where that needs no more escapes."""
    if isinstance(value, (str, bytes)):
        return quoted(repr(value))
    if isinstance(value, float):
        assert value - value == 0, "infinities and NaN have no literal; quote.literal writes them"
        return repr(value).replace("e+", "e")
    return "..." if value is ... else repr(value)


def joined_string(node: ast.JoinedStr) -> str:
    """The text of an f-string."""
    return quoted(ast.unparse(node))


def quoted(text: str) -> str:
    """The same string with double quotes, unless that would need more escapes."""
    prefix, quote, rest = text.partition("'")
    if not quote or '"' in text or rest.startswith("''"):
        return text
    return f'{prefix}"{rest[:-1]}"'


def docstring(stmt: ast.stmt) -> str | None:
    """The text of a docstring in its three quotes, None for any other statement."""
    if not isinstance(stmt, ast.Expr) or not isinstance(stmt.value, ast.Constant):
        return None
    value = stmt.value.value
    if not isinstance(value, str):
        return None
    value = value.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if value.endswith('"'):
        value = value[:-1] + '\\"'
    return f'"""{value}"""'
