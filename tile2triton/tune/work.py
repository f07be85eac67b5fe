"""What one launch of a tile program does, as numbers: what is moved, multiplied and computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """What a program moves from or to a tensor of `tensor_bytes`, all turns of its loops together.

    `dimensions` are those of the grid that decide where in the tensor; programs that differ in
    others move the same.
    """

    tensor_bytes: int
    moved: float
    dimensions: frozenset[int]
    is_store: bool = False


@dataclass(frozen=True)
class Product:
    """A product of tiles, which a program makes so many times."""

    rows: int
    columns: int
    contracted: int
    dtype: str
    times: float


@dataclass(frozen=True)
class Work:
    """One launch; what is of a program is the mean over its grid.

    `lanes` counts operations on elements, `specials` those among them that take units of which
    there are few: exponentials, divisions and their kind.
    """

    grid: tuple[int, ...]
    accesses: tuple[Access, ...]
    products: tuple[Product, ...]
    lanes: float
    specials: float
    # Rows of programs that run beside each other, 0 without panels.
    panel: int
    # Turns of all loops, and the bytes of tiles of which there is one for each stage.
    turns: float
    staged: int
    # Bytes in shared memory beside these, and the largest tile that is stored.
    kept: int
    stored: int
    # Words of 32 bits in registers at once: all of them, and of these the sums of products.
    words: int
    sums: int

    @property
    def programs(self) -> int:
        count = 1
        for extent in self.grid:
            count *= extent
        return count

    @property
    def moved(self) -> float:
        """Bytes that one program moves."""
        return sum(access.moved for access in self.accesses)
