"""`tilelang.transform`: settings of passes, checked, and marks that change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from tile2triton.tilelang.pass_configs import normalize_pass_configs

Function = TypeVar("Function")


class PassContext:
    """`with PassContext(config=...)`: settings of TileLang's passes, none of which run here."""

    def __init__(
        self, opt_level: int = 2, config: Mapping[Any, Any] | None = None, **recorded: Any
    ) -> None:
        self.opt_level = opt_level
        self.config = normalize_pass_configs(config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was changed."""


def simplify_prim_func(function: Function) -> Function:
    """The function as it is: what can be simplified always is."""
    return function
