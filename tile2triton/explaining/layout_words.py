"""Layouts, as TTGIR writes them, in a few words."""

from collections.abc import Callable, Mapping
from typing import Any

from tile2triton.ttgir_text.attributes import Attribute, read_attribute


def warps_of(layout: str) -> tuple[int, ...]:
    """The warps that a layout of a product has along each dimension; empty if it says none."""
    found: Any = _read(layout).fields.get("warpsPerCTA", ())
    return tuple(found)


def described(layout: str) -> str:
    """A layout of shared memory in a few words."""
    attribute = _read(layout)
    kind = attribute.name.partition(".")[2] or layout
    return _WORDS[kind](attribute) if kind in _WORDS else kind.replace("_", " ")


def _read(layout: str) -> Attribute:
    found = read_attribute(layout) if layout else None
    return found if isinstance(found, Attribute) else Attribute("")


def _swizzled_bytes(attribute: Attribute) -> str:
    width = attribute.fields["swizzlingByteWidth"]
    return f"swizzled by {width} bytes" if width else "not swizzled"


def _swizzled(attribute: Attribute) -> str:
    vector, rows, phases = (attribute.fields[key] for key in ("vec", "perPhase", "maxPhase"))
    if phases == 1:
        return "not swizzled"
    return f"swizzled, {vector} elements, {phases} phases of {rows} rows"


def _padded(attribute: Attribute) -> str:
    gaps: Any = attribute.positional[0]
    return f"padded {', '.join(f'{interval}:+{padding}' for interval, padding in gaps)}"


_WORDS: Mapping[str, Callable[[Attribute], str]] = {
    "nvmma_shared": _swizzled_bytes,
    "swizzled_shared": _swizzled,
    "padded_shared": _padded,
}
