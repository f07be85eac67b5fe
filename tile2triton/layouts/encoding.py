"""What all encodings of TTGIR have in common: a linear layout for each shape, and their blocks."""

from collections.abc import Iterable
from typing import Protocol

from .linear import Bases, LinearLayout, identity


class Encoding(Protocol):
    """How a tensor is spread over registers and lanes, or where memory keeps its elements."""

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """From registers, lanes, warps and blocks, or from offsets and blocks, to coordinates."""

    def __hash__(self) -> int: ...


def dimensions(shape: Iterable[int]) -> dict[str, int]:
    """The outputs of the layout of a tensor: dim0, dim1, …"""
    return {f"dim{axis}": size for axis, size in enumerate(shape)}


def in_blocks(tile: LinearLayout, blocks: Bases, shape: tuple[int, ...]) -> LinearLayout:
    """A layout of one block repeated or cut to its part of the tensor, for all blocks."""
    sizes = dimensions(shape)
    across = _across(blocks, tuple(sizes)).at_most(sizes)
    part = {name: max(1, size // across.output_size(name)) for name, size in sizes.items()}
    return (_distinct(tile.at_least(part).at_most(part)) * across).with_outputs(sizes)


def _distinct(tile: LinearLayout) -> LinearLayout:
    """Without registers that repeat others, which Triton 3.6 has and 3.9 has not."""
    first = tile.input_names[0]
    return tile.with_bases({first: tuple(basis for basis in tile.bases(first) if any(basis))})


def part_of_block(blocks: Bases, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what one block has."""
    sizes = dimensions(shape)
    across = _across(blocks, tuple(sizes)).at_most(sizes)
    return tuple(max(1, size // across.output_size(name)) for name, size in sizes.items())


def _across(blocks: Bases, names: tuple[str, ...]) -> LinearLayout:
    highest = [max((basis[place] for basis in blocks), default=0) for place in range(len(names))]
    sizes = tuple((name, 2 * top if top else 1) for name, top in zip(names, highest, strict=True))
    return LinearLayout((("block", blocks),), sizes)


def row_major(rank: int) -> tuple[int, ...]:
    """The order of dimensions, fastest first, where the last one is fastest."""
    return tuple(reversed(range(rank)))


def operand_order(index: int, rank: int) -> tuple[int, ...]:
    """The order of an operand of a product, fastest first, with the summed dimension fastest."""
    order = list(row_major(rank))
    if index == 1:
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def summed_axis(index: int, rank: int) -> int:
    """The dimension that a product sums over: the last of A, the one before the last of B."""
    return rank - 1 if index == 0 else rank - 2


def start(rank: int, order: Iterable[int]) -> LinearLayout:
    """One element of a tensor, with its dimensions in the order in which products count on."""
    result = LinearLayout((("register", ()),), ())
    for axis in order:
        result *= identity(1, "register", f"dim{axis}")
    assert len(result.outputs) == rank
    return result
