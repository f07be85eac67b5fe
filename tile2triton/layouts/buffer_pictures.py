"""A picture of the banks for each buffer in shared memory of a compiled kernel."""

from dataclasses import dataclass

from ..ttgir_text.module import read_module
from . import machines
from .accesses import Access, accesses
from .pictures import banks_picture
from .writing import written


@dataclass(frozen=True)
class BufferPicture:
    """`layout` is the attribute that TTGIR has for the buffer, `svg` the picture of it."""

    buffer: str
    layout: str
    shape: tuple[int, ...]
    bits: int
    svg: str


def buffer_pictures(text: str, target: str = "") -> list[BufferPicture]:
    """One for each buffer and layout in TTGIR, in the order of their first accesses.

    Buffers whose layout is not known are left out. Raises LayoutError where the text is no TTGIR,
    or the target has memory that is not known.
    """
    module = read_module(text)
    goal = target or module.target
    found: dict[tuple[str, str], BufferPicture] = {}
    for access in accesses(module, goal):
        if access.use is not None and access.memory is not None:
            picture = _picture(access, machines.banks(goal))
            found.setdefault((picture.buffer, picture.layout), picture)
    return list(found.values())


def _picture(access: Access, banks: int) -> BufferPicture:
    assert access.use is not None and access.memory is not None
    shape, bits = access.use.whole or access.use.shape, access.use.bits
    layout = written(access.memory)
    svg = banks_picture(
        access.memory, shape, bits, banks, title=f"{access.buffer}: {layout}", most=(16, 32)
    )
    return BufferPicture(access.buffer, layout, shape, bits, svg)
