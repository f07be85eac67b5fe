"""Encodings as TTGIR writes them, for text that replaces an alias."""

from functools import singledispatch

from .encoding import Encoding
from .errors import layout_error
from .generic_linear import GenericLinear, SharedLinear
from .linear import Bases
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .swizzled_shared import SwizzledShared


@singledispatch
def written(encoding: Encoding) -> str:
    """The attribute, which both Triton 3.6 and 3.9 read; raises LayoutError for other encodings."""
    raise layout_error(
        "T2T929",
        "only layouts of shared memory and linear ones of registers are written",
        type(encoding).__name__,
    )


@written.register
def _swizzled(encoding: SwizzledShared) -> str:
    name = "amd_rotating_shared" if encoding.rotating else "swizzled_shared"
    return (
        f"#ttg.{name}<{{vec = {encoding.vec}, perPhase = {encoding.per_phase}, "
        f"maxPhase = {encoding.max_phase}, order = {_list(encoding.order)}"
        f"{_blocks(encoding.blocks)}}}>"
    )


@written.register
def _nvmma(encoding: NvmmaShared) -> str:
    rank = f", rank = {encoding.rank}" if encoding.rank != 2 else ""
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {encoding.swizzle}, "
        f"transposed = {str(encoding.transposed).lower()}, "
        f"elementBitWidth = {encoding.element_bits}{rank}{_blocks(encoding.blocks)}}}>"
    )


@written.register
def _padded(encoding: PaddedShared) -> str:
    gaps = ", ".join(f"{interval}:+{padding}" for interval, padding in encoding.gaps)
    inside = (
        f"offset = {_bases(encoding.offsets)}, block = {_bases(encoding.blocks)}"
        if encoding.offsets
        else f"order = {_list(encoding.order)}, shape = {_list(encoding.shape)}"
        f"{_blocks(encoding.blocks)}"
    )
    return f"#ttg.padded_shared<[{gaps}] {{{inside}}}>"


@written.register
def _registers(encoding: GenericLinear) -> str:
    inputs = (
        ("register", encoding.registers),
        ("lane", encoding.lanes),
        ("warp", encoding.warps),
        ("block", encoding.blocks),
    )
    return f"#ttg.linear<{{{', '.join(f'{name} = {_bases(bases)}' for name, bases in inputs)}}}>"


@written.register
def _linear(encoding: SharedLinear) -> str:
    return (
        f"#ttg.shared_linear<{{offset = {_bases(encoding.offsets)}, "
        f"block = {_bases(encoding.blocks)}}}, alignment = {encoding.alignment}>"
    )


def _list(numbers: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _bases(bases: Bases) -> str:
    return f"[{', '.join(map(_list, bases))}]"


def _blocks(bases: Bases) -> str:
    return f", CGALayout = {_bases(bases)}" if bases else ""
