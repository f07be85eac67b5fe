"""Types of TTGIR as text: tensors, and descriptors of shared memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .attributes import Alias, Attribute, Value, read_attribute
from .errors import layout_error


@dataclass(frozen=True)
class TensorType:
    """`tensor<128x64xf16, #blocked>`; `element` is as written."""

    shape: tuple[int, ...]
    element: str
    encoding: Value | None


@dataclass(frozen=True)
class MemoryType:
    """`!ttg.memdesc<128x16xf16, #shared, #smem, mutable, 128x64>`; the last is `whole`."""

    shape: tuple[int, ...]
    element: str
    encoding: Value
    space: str
    whole: tuple[int, ...]


def element_bits(element: str) -> int:
    """The bits that an element, written `f16`, `i8`, `bf16` or `f8E4M3FN`, has in memory."""
    match = re.match(r"(?:bf|f|i|tf)(\d+)", element)
    if match is None:
        raise layout_error("T2T929", "elements of a type that is not known here", element)
    return max(8, int(match[1]))


def types_in(text: str) -> Iterator[TensorType | MemoryType]:
    """The tensors and memory descriptors in an operation's text, in order."""
    for match in re.finditer(r"tensor<|!ttg\.memdesc<|-> <", text):
        inside = _balanced(text, match.end())
        parts = _split(inside)
        shape, element = _shape(parts[0])
        if match[0] == "tensor<":
            encoding = read_attribute(parts[1]) if len(parts) > 1 else None
            yield TensorType(shape, element, encoding)
        elif len(parts) >= 3:
            space = read_attribute(parts[2])
            last = parts[-1]
            whole = _shape(f"{last}x")[0] if re.fullmatch(r"[\dx]+", last) else shape
            yield MemoryType(
                shape,
                element,
                read_attribute(parts[1]),
                space.name if isinstance(space, Alias | Attribute) else "",
                whole,
            )


def _balanced(text: str, start: int) -> str:
    """What is between the bracket before `start` and the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        if text[at] == "<":
            depth += 1
        elif text[at] == ">" and text[at - 1] != "-":
            depth -= 1
            if not depth:
                return text[start:at]
    raise layout_error("T2T928", "a type without its end", text[start - 8 : start + 60])


def _split(text: str) -> list[str]:
    """Parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<[{(") - (character in ">]})")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _shape(text: str) -> tuple[tuple[int, ...], str]:
    match = re.match(r"((?:\d+x)*)(.*)$", text)
    assert match is not None
    return tuple(int(size) for size in match[1].split("x") if size), match[2]
