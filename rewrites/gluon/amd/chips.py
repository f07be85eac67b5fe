"""What AMD's chips differ in, as far as kernels of Gluon here show it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """`module` is Gluon's for it, and `version` that of its matrix instructions.

    `depth` maps the rows of one to what it sums over. Copies that are `direct` go past registers.
    """

    module: str
    version: int
    depth: dict[int, int]
    direct: bool


# gfx942, too, copies past registers, but 4 bytes a lane: four instructions for what one load of 16
# bytes and one ds_write_b128 do.
CHIPS = {
    "hip:gfx942": Chip("cdna3", 3, {16: 16, 32: 8}, direct=False),
    "hip:gfx950": Chip("cdna4", 4, {16: 32, 32: 16}, direct=True),
}
