"""`#ttg.linear` and `#ttg.shared_linear`: layouts that are written as their bases."""

from dataclasses import dataclass

from .encoding import dimensions
from .errors import layout_error
from .linear import Bases, LinearLayout


@dataclass(frozen=True)
class GenericLinear:
    """Registers, lanes, warps and blocks to coordinates, for tensors of one shape and larger."""

    registers: Bases
    lanes: Bases
    warps: Bases
    blocks: Bases = ()

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        inputs = (
            ("register", self.registers),
            ("lane", self.lanes),
            ("warp", self.warps),
            ("block", self.blocks),
        )
        return _fitted(inputs, shape)


@dataclass(frozen=True)
class SharedLinear:
    """Offsets in memory, counted in elements, and blocks to coordinates."""

    offsets: Bases
    blocks: Bases = ()
    alignment: int = 16

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        return _fitted((("offset", self.offsets), ("block", self.blocks)), shape)


def _fitted(inputs: tuple[tuple[str, Bases], ...], shape: tuple[int, ...]) -> LinearLayout:
    sizes = dimensions(shape)
    everything = [basis for _, bases in inputs for basis in bases]
    if any(len(basis) != len(shape) for basis in everything):
        raise layout_error(
            "T2T921",
            "bases have a number for each dimension of the tensor",
            f"shape {list(shape)}",
            *(f"basis {list(basis)}" for basis in everything[:1]),
        )
    highest = [max((basis[axis] for basis in everything), default=0) for axis in range(len(shape))]
    outputs = tuple((name, 1 << top.bit_length()) for name, top in zip(sizes, highest, strict=True))
    return LinearLayout(inputs, outputs).at_least(sizes).at_most(sizes)
