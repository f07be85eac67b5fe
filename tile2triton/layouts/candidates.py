"""The layouts of shared memory that a target's units allow for a buffer, given its uses."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

from . import machines
from .encoding import Encoding
from .generic_linear import SharedLinear
from .linear import bits_of
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .swizzled_shared import SwizzledShared
from .uses import COPY, Use

_ROW_OF_BANKS = 128
_MOST_PHASES = 16
# Gaps in bytes: those of a row's banks would move nothing.
_GAPS = (8, 16, 32, 64)


def candidates(
    own: Encoding, uses: Sequence[Use], shape: tuple[int, ...], bits: int, target: str
) -> Iterator[Encoding]:
    """Layouts for a buffer that has its `own` one, which comes first."""
    yield own
    if len(shape) != 2:
        return
    if any(use.needs_units_layout for use in uses):
        if isinstance(own, NvmmaShared):
            inner = shape[0 if own.transposed else -1]
            for swizzle in (128, 64, 32):
                if swizzle * 8 // bits <= inner:
                    yield replace(own, swizzle=swizzle)
    elif not machines.is_amd(target):
        yield from _swizzled(shape, bits)
        yield from _folded(shape, bits)
    elif any(use.kind == COPY for use in uses):
        yield from _other_gaps(own, shape, bits)
    else:
        yield from _swizzled(shape, bits)
        yield from _gaps(shape, bits)


def _orders() -> tuple[tuple[int, int], ...]:
    return (1, 0), (0, 1)


def _vectors(bits: int) -> list[int]:
    """Elements of 16 bytes, 8, 4 and so on."""
    most = machines.PIECE_BYTES * 8 // bits
    return [most >> bit for bit in range(len(bits_of(most)) + 1)]


def _swizzled(shape: tuple[int, ...], bits: int) -> Iterator[Encoding]:
    for order in _orders():
        for vec in _vectors(bits):
            most = min(_MOST_PHASES, shape[order[0]] // vec)
            for phases in bits_of(max(1, most)):
                for per_phase in (1, 2, 4, 8):
                    yield SwizzledShared(vec, per_phase, 2 << phases, order)


def _folded(shape: tuple[int, ...], bits: int) -> Iterator[Encoding]:
    """All bits of the row take part in the XOR, for loads along both dimensions."""
    for inner, outer in _orders():
        columns, rows = shape[inner], shape[outer]
        for vec in _vectors(bits):
            groups = min(_ROW_OF_BANKS * 8 // bits, columns) // vec
            if groups < 2:
                continue
            width = len(bits_of(groups))
            bases = [(0, 1 << bit) for bit in bits_of(columns)]
            bases += [(1 << bit, vec << bit % width) for bit in bits_of(rows)]
            offsets = tuple(basis if inner else (basis[1], basis[0]) for basis in bases)
            yield SharedLinear(offsets)


def _gaps(shape: tuple[int, ...], bits: int) -> Iterator[Encoding]:
    """After each row, or each row of banks where rows are shorter."""
    for inner, outer in _orders():
        rising = [(0, 1 << bit) for bit in bits_of(shape[inner])]
        rising += [(1 << bit, 0) for bit in bits_of(shape[outer])]
        offsets = tuple(basis if inner else (basis[1], basis[0]) for basis in rising)
        interval = max(shape[inner], _ROW_OF_BANKS * 8 // bits)
        for gap in _GAPS:
            if gap * 8 // bits:
                yield PaddedShared(((interval, gap * 8 // bits),), (), offsets)


def _other_gaps(own: Encoding, shape: tuple[int, ...], bits: int) -> Iterator[Encoding]:
    """Waves write neighbours past registers, so that only what is between waves can change."""
    offsets = own.linear(shape).bases("offset")
    elements = 1 << len(offsets)
    if isinstance(own, SwizzledShared) and own.max_phase > 1:
        return
    intervals = [interval for interval, _ in own.gaps] if isinstance(own, PaddedShared) else []
    least = 64 * machines.PIECE_BYTES * 8 // bits
    interval = gcd(*intervals) if intervals else least
    while interval < elements:
        for gap in _GAPS:
            if gap * 8 // bits:
                yield PaddedShared(((interval, gap * 8 // bits),), (), offsets)
        interval *= 2
