"""One buffer of shared memory in a module's text: the types that mention it, and its layout."""

import re
from collections.abc import Callable, Iterator

from .listing import Listing
from .patching import RefusedError

# AMD's loads that write to shared memory, as Triton 3.9 and 3.6 call them.
DIRECT_LOADS = ("amdg.buffer_load_to_local", "amdgpu.buffer_load_to_local")
# Operations all of whose shared memory is one buffer.
_PLAIN = (
    "ttg.memdesc_index",
    "ttg.memdesc_subslice",
    "ttg.local_load",
    "ttg.local_store",
    "ttg.local_dealloc",
    "ttg.async_copy_global_to_local",
    *DIRECT_LOADS,
)
_PRODUCTS = ("ttng.warp_group_dot", "ttng.tc_gen5_mma")
_MEMORY = re.compile(r"<(\d+(?:x\d+)*)x([a-z]\w*), (#\w+), #smem")
_OPERATION = re.compile(r"^\s*(?:%[\w#]+(?::\d+)?(?:, %[\w#]+)* = )?([a-z]+[\w.]*)")
_CARRIED = re.compile(r"(%[\w#]+) = (%[\w#]+)")

# What a layout means, and whether it is that of the buffer's transpose → what it is to mean.
Change = Callable[[str, bool], str]


class Buffer:
    """A buffer whose layout is changed in all types that mention it."""

    def __init__(self, listing: Listing, change: Change) -> None:
        self.listing = listing
        self.change = change
        # The names of layouts before → after, of the buffer and of its transpose.
        self.names: dict[tuple[str, bool], str] = {}
        # The operations that read or write it.
        self.operations: set[str] = set()

    def follow(self, index: int) -> None:
        """Change the layout of what a `ttg.local_alloc` makes, for all that it is passed on to."""
        self._rename(index, -1, False)
        self._follow(self.listing.result(index), index, False)

    def _follow(self, value: str, index: int, is_transposed: bool) -> None:
        for reader in self.listing.readers_of(value, index):
            operation = operation_of(self.listing.lines[reader])
            self.operations.add(operation)
            if operation in _PLAIN:
                for position in range(len(_MEMORY.findall(self.listing.lines[reader]))):
                    self._rename(reader, position, is_transposed)
                if operation.startswith("ttg.memdesc_"):
                    self._follow(self.listing.result(reader), reader, is_transposed)
            elif operation == "ttg.memdesc_trans":
                self._rename(reader, 0, is_transposed)
                self._rename(reader, 1, not is_transposed)
                self._follow(self.listing.result(reader), reader, not is_transposed)
            elif operation in _PRODUCTS:
                operands = self.listing.operands(reader)
                self._rename_type(reader, operands.index(value), is_transposed)
            elif operation == "scf.yield":
                self._rename_type(reader, self.listing.operands(reader).index(value), is_transposed)
            elif operation == "scf.for":
                self._follow_into_loop(value, reader, is_transposed)
            else:
                raise RefusedError(f"its buffer is read by {operation}")

    def _follow_into_loop(self, value: str, index: int, is_transposed: bool) -> None:
        """A loop hands a buffer from turn to turn, and on to what follows it."""
        line = self.listing.lines[index]
        carried = _CARRIED.findall(line.partition("iter_args(")[2].partition(") -> ")[0])
        for place, (inside, given) in enumerate(carried):
            if given == value:
                self._rename_type(index, place, is_transposed)
                self._follow(inside, index, is_transposed)
                self._follow(f"{self.listing.result(index)}#{place}", index, is_transposed)

    def _rename_type(self, index: int, place: int, is_transposed: bool) -> None:
        """Rename the layout in a line's type number `place`, of those that are no shared memory."""
        before = types_of(self.listing.lines[index])[:place]
        position = sum(1 for one in before if _MEMORY.search(one))
        self._rename(index, position, is_transposed)

    def _rename(self, index: int, position: int, is_transposed: bool) -> None:
        line = self.listing.lines[index]
        found = list(_MEMORY.finditer(line))
        if not -1 <= position < len(found):
            raise RefusedError(f"{operation_of(line)} names no buffer where one was expected")
        old = found[position][3]
        if old in self.names.values():
            return
        if (old, is_transposed) not in self.names:
            meaning = self.change(self.listing.alias(old), is_transposed)
            self.names[old, is_transposed] = self.listing.define("shared_of", meaning)
        start, end = found[position].span(3)
        self.listing.lines[index] = line[:start] + self.names[old, is_transposed] + line[end:]


def buffers_of(listing: Listing, load: int) -> Iterator[int]:
    """The lines that put what a load gives into shared memory."""
    for reader in listing.readers(load):
        if operation_of(listing.lines[reader]) == "ttg.local_alloc":
            yield reader


def buffer_shape(line: str) -> tuple[int, int]:
    """The rows and columns of the buffer that a line makes, without the number of its copies."""
    extents = [int(extent) for extent in _MEMORY.findall(line)[-1][0].split("x")]
    if len(extents) < 2:
        raise RefusedError("the buffer has one dimension")
    return extents[-2], extents[-1]


def buffer_bits(line: str) -> int:
    """The bits of an element of the buffer that a line makes."""
    found = re.search(r"\d+", _MEMORY.findall(line)[-1][1])
    if found is None:
        raise RefusedError("the buffer's elements have no size in Triton's text")
    # f8E4M3FN has more numbers in its name than its size.
    return int(found[0])


def operation_of(line: str) -> str:
    """The operation that a line is."""
    found = _OPERATION.match(line)
    return found[1] if found else line.strip()[:40]


def types_of(line: str) -> list[str]:
    """The types that a line ends with: of operands, or of what a loop hands on."""
    if " scf.for " in line:
        return split(line.partition(") -> (")[2])
    depth = 0
    for index, sign in enumerate(line):
        depth += (sign in "{<") - (sign in ">}" and line[index - 1] != "-")
        # What stands in braces are attributes, with types of their own.
        if not depth and line.startswith(" : ", index):
            return split(line[index + 3 :].replace("->", ",").replace(" * ", ","))
    return []


def split(text: str) -> list[str]:
    """The parts between commas, to the bracket that ends them."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<({") - (sign in ">)}")
        if depth < 0:
            break
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
