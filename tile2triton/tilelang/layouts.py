"""Makers of layouts: `make_swizzled_layout` and its kin, whose layouts are hints."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from tile2triton.frontend.layouts import Fragment, Layout


class SwizzleMode(enum.Enum):
    """How many bytes of a shared tile are permuted at a time; a hint."""

    NONE = 1
    SWIZZLE_32B = 32
    SWIZZLE_64B = 64
    SWIZZLE_128B = 128

    def is_none(self) -> bool:
        return self is SwizzleMode.NONE

    def swizzle_byte_size(self) -> int:
        return self.value


def _maker(name: str) -> Callable[..., Layout]:
    """The function `name`, whose layouts remember it."""

    def layout_of(buffer: Any, *arguments: Any, **keywords: Any) -> Layout:
        """The layout of a buffer or region, which T.annotate_layout takes; a hint."""
        layout = Layout(getattr(buffer, "shape", ()))
        layout.maker = f"{name}({getattr(buffer, 'name', '…')})"
        return layout

    return layout_of


def _fragment(*arguments: Any, **keywords: Any) -> Fragment:
    """The layout of a fragment, which is a hint."""
    return Fragment(getattr(arguments[0], "shape", ()) if arguments else (8, 8))


def get_swizzle_layout(row_idx: Any, col_idx: Any, row_size: Any, dtype: Any, *more: Any) -> Any:
    """Where an element of a swizzled tile lies: where it is, as tiles have no banks here."""
    return row_idx, col_idx


LAYOUTS: dict[str, Callable[..., Layout]] = {
    name: _maker(name)
    for name in """
    make_swizzled_layout make_volta_swizzled_layout make_wgmma_swizzled_layout
    make_tcgen05mma_swizzled_layout make_full_bank_swizzled_layout make_half_bank_swizzled_layout
    make_quarter_bank_swizzled_layout make_linear_layout make_cutlass_metadata_layout
    make_mma_swizzle_layout
    """.split()
}
FRAGMENTS: dict[str, Callable[..., Fragment]] = dict.fromkeys(
    """
    make_gemm_fragment_8x8 make_gemm_fragment_8x8_transposed make_fully_replicated_layout_fragment
    """.split(),
    _fragment,
)
