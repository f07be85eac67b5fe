"""Operations of the user's that Python itself carries out, as if their code did."""

from __future__ import annotations

import ast
import operator
from typing import Any

from tile2triton.frontend.dynamic import Dynamic, comparison, is_scalar
from tile2triton.frontend.tile_arithmetic import computed_with
from tile2triton.frontend.tile_values import is_tile

_COMPARISONS = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}


def compared(sign: str, left: Any, right: Any) -> Any:
    """One comparison by the name of its operator."""
    if (is_tile(left) or is_tile(right)) and right is not None:
        return computed_with(getattr(ast, sign)(), left, right)
    if isinstance(right, Dynamic) and not isinstance(left, Dynamic) and is_scalar(left):
        # Python would turn the comparison around.
        return comparison(getattr(ast, sign)(), left, right)
    return _COMPARISONS[sign](left, right)


def truth(value: Any) -> bool:
    """Whether Python takes the value as true."""
    return bool(value)
