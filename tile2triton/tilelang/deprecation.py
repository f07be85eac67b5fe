"""`tilelang.utils.deprecated`: a mark for functions that should no longer be called."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(
    method_name: str, new_method_name: str | None = None, phaseout_version: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Warn whoever calls the function below."""
    instead = f", write {new_method_name}" if new_method_name else ""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warned(*arguments: Any, **keywords: Any) -> Any:
            message = f"{method_name} is deprecated{instead}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*arguments, **keywords)

        return warned

    return decorate
