"""`#ttg.nvmma_shared`: what TMA writes and wgmma reads, swizzled in rows of 32, 64 or 128 bytes."""

from dataclasses import dataclass
from math import prod

from .encoding import dimensions, in_blocks, part_of_block
from .errors import layout_error
from .linear import Bases, LinearLayout, bits_of, identities

# The most elements of a box that TMA copies, along any dimension.
_BOX = 256


@dataclass(frozen=True)
class NvmmaShared:
    """`swizzle` is in bytes, 0 for none; `transposed` puts the first dimension innermost."""

    swizzle: int
    transposed: bool
    element_bits: int
    rank: int = 2
    fp4_padded: bool = False
    blocks: Bases = ()

    def __post_init__(self) -> None:
        if self.swizzle not in (0, 32, 64, 128):
            raise layout_error(
                "T2T925",
                "TMA and wgmma swizzle rows of 32, 64 or 128 bytes, or none",
                f"swizzlingByteWidth = {self.swizzle}",
            )
        if self.fp4_padded:
            raise layout_error(
                "T2T926",
                "elements of 4 bits that are padded to 8 are not known here",
                "fp4Padded = true",
            )

    @property
    def vec(self) -> int:
        """Elements of 16 bytes, which swizzling keeps together."""
        return 128 // self.element_bits

    @property
    def max_phase(self) -> int:
        return max(1, self.swizzle // 16)

    @property
    def per_phase(self) -> int:
        return 8 // self.max_phase

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        rank = len(shape)
        box = self.box(part_of_block(self.blocks, shape))
        if not self.swizzle:
            order = tuple(reversed(range(rank)))
            if self.transposed:
                order = (0, *order[:-1])
            return in_blocks(identities(box, "offset", order), self.blocks, shape)
        if self.transposed and rank > 2:
            raise layout_error(
                "T2T926",
                "transposed memory of more than two dimensions is not known here",
                f"shape {list(shape)}",
            )
        inner = 0 if self.transposed else rank - 1
        tile = self._tile(prod(box) // box[inner], box[inner])
        return in_blocks(_unfolded(tile, box, inner), self.blocks, shape)

    def box(self, part: tuple[int, ...]) -> tuple[int, ...]:
        """What one copy by TMA takes of a block's tensor."""
        box = [min(size, _BOX) for size in part]
        inner = 0 if self.transposed else len(part) - 1
        if self.swizzle:
            box[inner] = min(box[inner], self.swizzle * 8 // self.element_bits)
        return tuple(box)

    def _tile(self, rows: int, columns: int) -> LinearLayout:
        """Rows of the swizzle's width, whose pieces of 16 bytes are exchanged by the row."""
        width = self.swizzle * 8 // self.element_bits
        bases = (
            *((0, 1 << bit) for bit in bits_of(width)),
            *(
                (1 << bit, self.vec * ((1 << bit) // self.per_phase % self.max_phase))
                for bit in range(3)
            ),
        )
        tile = LinearLayout((("offset", bases),), (("dim0", 8), ("dim1", width)))
        if rows < 8 or columns < width:
            raise layout_error(
                "T2T927",
                "a swizzle takes eight rows of its width",
                f"{rows} rows of {columns} elements of {self.element_bits} bits",
                f"swizzlingByteWidth = {self.swizzle}",
            )
        return tile.at_least({"dim0": rows, "dim1": columns})


def _unfolded(tile: LinearLayout, box: tuple[int, ...], inner: int) -> LinearLayout:
    """The layout of rows and columns as one of all dimensions, which rows count through."""
    outer = [axis for axis in range(len(box)) if axis != inner]

    def unfold(basis: tuple[int, ...]) -> tuple[int, ...]:
        row, column = basis
        result = [0] * len(box)
        result[inner] = column
        for axis in reversed(outer):
            row, result[axis] = divmod(row, box[axis])
        return tuple(result)

    bases = tuple(unfold(basis) for basis in tile.bases("offset"))
    return LinearLayout((("offset", bases),), tuple(dimensions(box).items()))
