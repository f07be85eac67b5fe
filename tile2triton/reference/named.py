"""Arguments that name memory: what an operator's reference meaning sees in place of a value."""

from abc import ABC, abstractmethod
from typing import Any

from tile2triton.reference.values import Value


class Named(ABC):
    """A region or variable as it was named in the call."""

    @abstractmethod
    def element(self) -> Value:
        """The one value that the argument names, or in T.Parallel one for each iteration."""


def value_of(argument: Any) -> Any:
    """An argument that is meant as a value: the element or variable that it names."""
    return argument.element() if isinstance(argument, Named) else argument
