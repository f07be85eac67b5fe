"""One buffer of shared memory in a module's text: the types that mention it, and its layout."""

from collections.abc import Callable, Iterator

from ..ttgir_text.module import is_shared
from ..ttgir_text.tensor_types import MemoryType, alias_of, element_bits
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
        self._follow(self.listing[index].results[0], index, False)

    def _follow(self, value: str, index: int, is_transposed: bool) -> None:
        for reader in self.listing.readers_of(value, index):
            one = self.listing[reader]
            self.operations.add(one.name)
            if one.name in _PLAIN:
                for position in range(len(memories(self.listing, reader))):
                    self._rename(reader, position, is_transposed)
                if one.name.startswith("ttg.memdesc_"):
                    self._follow(one.results[0], reader, is_transposed)
            elif one.name == "ttg.memdesc_trans":
                self._rename(reader, 0, is_transposed)
                self._rename(reader, 1, not is_transposed)
                self._follow(one.results[0], reader, not is_transposed)
            elif one.name in _PRODUCTS or one.name == "scf.yield":
                self._rename_type(reader, one.operands.index(value), is_transposed)
            elif one.name == "scf.for":
                self._follow_into_loop(value, reader, is_transposed)
            else:
                raise RefusedError(f"its buffer is read by {one.name}")

    def _follow_into_loop(self, value: str, index: int, is_transposed: bool) -> None:
        """A loop hands a buffer from turn to turn, and on to what follows it."""
        loop = self.listing[index]
        for place, (inside, given) in enumerate(loop.carried):
            if given == value:
                self._rename_type(index, place, is_transposed)
                self._follow(inside, index, is_transposed)
                self._follow(loop.handed_out(place), index, is_transposed)

    def _rename_type(self, index: int, place: int, is_transposed: bool) -> None:
        """Rename the layout in a line's type number `place`, which may be of any kind."""
        start, _ = self.listing[index].signature[place]
        before = [one for one in memories(self.listing, index) if one.place < start]
        self._rename(index, len(before), is_transposed)

    def _rename(self, index: int, position: int, is_transposed: bool) -> None:
        found = memories(self.listing, index)
        if not -1 <= position < len(found):
            name = self.listing[index].name
            raise RefusedError(f"{name} names no buffer where one was expected")
        old = f"#{alias_of(found[position])}"
        if old in self.names.values():
            return
        if (old, is_transposed) not in self.names:
            meaning = self.change(self.listing.alias(old), is_transposed)
            self.names[old, is_transposed] = self.listing.define("shared_of", meaning)
        self.listing.set_layout(index, found[position], old, self.names[old, is_transposed])


def memories(listing: Listing, index: int) -> list[MemoryType]:
    """The shared memory in a line's types whose layout has a name, in order."""
    return [
        one
        for one in listing[index].types
        if isinstance(one, MemoryType) and alias_of(one) and is_shared(one, listing.aliases)
    ]


def layout_kind(listing: Listing, index: int) -> str:
    """What kind of layout the buffer has that a line makes, as "ttg.padded_shared"."""
    meaning = listing.alias(f"#{alias_of(memories(listing, index)[-1])}")
    return meaning.lstrip("#").partition("<")[0]


def buffers_of(listing: Listing, load: int) -> Iterator[int]:
    """The lines that put what a load gives into shared memory."""
    for reader in listing.readers(load):
        if listing[reader].name == "ttg.local_alloc":
            yield reader


def buffer_shape(listing: Listing, index: int) -> tuple[int, int]:
    """The rows and columns of the buffer that a line makes, without the number of its copies."""
    extents = memories(listing, index)[-1].shape
    if len(extents) < 2:
        raise RefusedError("the buffer has one dimension")
    return extents[-2], extents[-1]


def buffer_bits(listing: Listing, index: int) -> int:
    """The bits of an element of the buffer that a line makes."""
    return element_bits(memories(listing, index)[-1].element)
