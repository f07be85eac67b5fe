"""One use of a buffer, apart from the buffer's layout: what it would take with any layout."""

from dataclasses import dataclass
from math import prod

from .encoding import Encoding
from .errors import layout_error
from .issues import Issues, copies, loads, stores
from .matrix_operands import Boxes, boxes, operand
from .placement import Placement, place

LOAD, STORE, COPY, BOX, OPERAND = "load", "store", "copy", "box", "operand"
_MOST_ELEMENTS = 16


@dataclass(frozen=True)
class Use:
    """A tensor of `shape` that is moved, or the view at `corner` of a `whole` one.

    `registers` is its layout, except for operands of matrix units and boxes of TMA, which need
    none. `contiguity` is how many neighbours in global memory a copy may take at once, `unit` and
    `instructions` are the matrix instruction that reads an operand, and how many there are.
    """

    kind: str
    shape: tuple[int, ...]
    bits: int
    registers: Encoding | None = None
    whole: tuple[int, ...] = ()
    corner: tuple[int, ...] = ()
    contiguity: int = _MOST_ELEMENTS
    unit: str = ""
    instructions: int = 1

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.bits // 8

    @property
    def needs_units_layout(self) -> bool:
        """Whether TMA or a matrix unit reads or writes the buffer itself."""
        return self.kind in (BOX, OPERAND)

    def made(self, memory: Encoding, target: str) -> Issues | Boxes:
        """The instructions with the buffer in that layout; raises LayoutError if there are none."""
        whole = self.whole or self.shape
        if self.kind == BOX:
            return boxes(memory, self.shape, self.bits)
        if self.kind == OPERAND:
            return operand(memory, self.shape, whole, self.bits, self.unit, self.instructions)
        placement = self._placement(memory, whole)
        if self.kind == COPY:
            return copies(placement, target, self.contiguity)
        return loads(placement, target) if self.kind == LOAD else stores(placement, target)

    def _placement(self, memory: Encoding, whole: tuple[int, ...]) -> Placement:
        if self.registers is None:
            raise layout_error("T2T929", "a tensor without a layout", self.kind)
        return place(self.registers, memory, self.shape, self.bits, whole, self.corner or None)
