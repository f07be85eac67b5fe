"""`#ttg.slice`: what is left of a layout when one of its dimensions is reduced away."""

from dataclasses import dataclass

from .encoding import Encoding, dimensions
from .linear import LinearLayout


@dataclass(frozen=True)
class Slice:
    """`axis` is the dimension of the parent that the tensor lacks."""

    axis: int
    parent: Encoding

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        whole = self.parent.linear((*shape[: self.axis], 1, *shape[self.axis :]))
        left = whole.without(f"dim{self.axis}")
        # Registers that differ in the lost dimension only are one.
        registers = tuple(basis for basis in left.bases("register") if any(basis))
        return left.with_bases({"register": registers}, tuple(dimensions(shape).items()))
