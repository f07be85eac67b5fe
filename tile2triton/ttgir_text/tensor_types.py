"""Types of TTGIR as text: tensors, and descriptors of shared memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..layouts.errors import layout_error
from .attributes import Alias, Attribute, Value, read_attribute
from .brackets import parts

# A descriptor of a tensor is no tile, and Triton 3.6 writes `tensordesc<tensor<…>>`.
_TYPE = re.compile(r"(?<!tensordesc<)tensor<|!ttg\.memdesc<|-> <")
_SHAPE = re.compile(r"((?:\d+x)*)(.*)$")
_BITS = re.compile(r"(?:bf|f|i|tf)(\d+)")


@dataclass(frozen=True)
class TensorType:
    """`tensor<128x64xf16, #blocked>`; `element` is as written.

    `place` is where its layout begins in the text that it was read from.
    """

    shape: tuple[int, ...]
    element: str
    encoding: Value | None
    place: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class MemoryType:
    """`!ttg.memdesc<128x16xf16, #shared, #smem, mutable, 128x64>`; the last is `whole`."""

    shape: tuple[int, ...]
    element: str
    encoding: Value
    space: str
    whole: tuple[int, ...]
    place: int = field(default=-1, compare=False)


def alias_of(type_: TensorType | MemoryType) -> str:
    """The alias that a type's layout is written as, without its #; empty where it has none."""
    return type_.encoding.name if isinstance(type_.encoding, Alias) else ""


def element_bits(element: str) -> int:
    """The bits that an element, written `f16`, `i8`, `bf16` or `f8E4M3FN`, has in memory."""
    match = _BITS.match(element)
    if match is None:
        raise layout_error("T2T929", "elements of a type that is not known here", element)
    return max(8, int(match[1]))


def types_in(text: str) -> Iterator[TensorType | MemoryType]:
    """The tensors and memory descriptors in an operation's text, in order."""
    for match in _TYPE.finditer(text):
        inside, is_closed = parts(text, match.end())
        if not is_closed:
            found = text[match.start() : match.end() + 60]
            raise layout_error("T2T928", "a type without its end", found)
        shape, element = _shape(inside[0][1])
        place, encoding = inside[1] if len(inside) > 1 else (-1, "")
        if match[0] == "tensor<":
            yield TensorType(shape, element, read_attribute(encoding) if encoding else None, place)
        elif len(inside) >= 3:
            space, last = read_attribute(inside[2][1]), inside[-1][1]
            yield MemoryType(
                shape,
                element,
                read_attribute(encoding),
                space.name if isinstance(space, Alias | Attribute) else "",
                _shape(f"{last}x")[0] if re.fullmatch(r"[\dx]+", last) else shape,
                place,
            )


def _shape(text: str) -> tuple[tuple[int, ...], str]:
    match = _SHAPE.match(text)
    assert match is not None
    return tuple(int(size) for size in match[1].split("x") if size), match[2]
