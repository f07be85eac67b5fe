"""The layout that a buffer has in a view with its two dimensions exchanged."""

from dataclasses import replace
from functools import singledispatch

from .encoding import Encoding
from .errors import layout_error
from .generic_linear import SharedLinear
from .linear import Bases
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .swizzled_shared import SwizzledShared


@singledispatch
def turned(encoding: Encoding) -> Encoding:
    """The encoding of the turned view; raises LayoutError where there is none."""
    raise layout_error(
        "T2T929", "only layouts of shared memory are turned", type(encoding).__name__
    )


@turned.register
def _swizzled(encoding: SwizzledShared) -> Encoding:
    order = tuple(1 - axis for axis in encoding.order)
    return replace(encoding, order=order, blocks=_bases(encoding.blocks))


@turned.register
def _nvmma(encoding: NvmmaShared) -> Encoding:
    blocks = _bases(encoding.blocks)
    return replace(encoding, transposed=not encoding.transposed, blocks=blocks)


@turned.register
def _padded(encoding: PaddedShared) -> Encoding:
    order = tuple(1 - axis for axis in encoding.order)
    return replace(
        encoding,
        order=order,
        offsets=_bases(encoding.offsets),
        blocks=_bases(encoding.blocks),
        shape=encoding.shape[::-1],
    )


@turned.register
def _linear(encoding: SharedLinear) -> Encoding:
    return replace(encoding, offsets=_bases(encoding.offsets), blocks=_bases(encoding.blocks))


def _bases(bases: Bases) -> Bases:
    return tuple((basis[1], basis[0]) for basis in bases)
