"""When a tile, a variable or an allocated tensor gets its name."""

from __future__ import annotations

import ast
from typing import Any


class Naming:
    """The name of an allocation: the first variable it is assigned to, or else what it is."""

    def __init__(self, target: ast.Name, claim: Any, fallback: str) -> None:
        self._target = target
        self._claim = claim
        self._fallback = fallback
        self._name = ""

    @property
    def is_open(self) -> bool:
        return not self._name

    def settle(self, wanted: str) -> None:
        """Take the name that the user gave."""
        self._name = self._claim(wanted)
        self._target.id = self._name

    def settled(self) -> str:
        if self.is_open:
            self.settle(self._fallback)
        return self._name
