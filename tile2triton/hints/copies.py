"""The hints of T.copy: which instruction moves a region, how much at once, what caches keep."""

import ast
from typing import TYPE_CHECKING

from rewrites.access_hints import AccessHints
from rewrites.descriptors import has_tma
from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two
from rewrites.erase_protocol import ASYNCHRONOUS
from rewrites.facts import Claim
from rewrites.hint_notes import as_user_wrote, note, request, with_option
from rewrites.lowering import Lowering
from rewrites.tensors import strides
from tile2triton.hints.caching import caching
from tile2triton.targets import target

if TYPE_CHECKING:
    from tile2triton.ops.regions import CopyMatch

# What `prefer_instruction` may be.
TMA, CP_ASYNC, PLAIN = "tma", ("cp_async", "cp.async", ASYNCHRONOUS), "sync"
# The most bytes that a thread moves at once.
WIDEST = 16
_UNKNOWN = "it is none of tma, cp_async and sync"


class CopyHints:
    """What one copy asks for. One of `idle`, `by_tma` and `by_pointers` says what becomes of it."""

    def __init__(self, lowering: Lowering, call: ast.Call, match: "CopyMatch") -> None:
        self.lowering = lowering
        self.facts = lowering.facts
        self.call = call
        self.match = match
        self.said: dict[str, bool | int | str] = {}
        for keyword in call.keywords:
            value = keyword.value
            if not isinstance(value, ast.Constant):
                self.said[keyword.arg or ""] = ast.unparse(value)
            elif isinstance(value.value, (int, str)) and value.value is not False:
                self.said[keyword.arg or ""] = value.value

    @property
    def _is_nvidia(self) -> bool:
        return target(self.facts.target).backend == "cuda"

    @property
    def instruction(self) -> str:
        return str(self.said.get("prefer_instruction", ""))

    @property
    def _is_known(self) -> bool:
        return self.instruction in (TMA, *CP_ASYNC, PLAIN)

    @property
    def prefer_tma(self) -> bool:
        return self.instruction == TMA

    @property
    def avoid_tma(self) -> bool:
        is_plain = self.instruction in (*CP_ASYNC, PLAIN) and self.instruction != ASYNCHRONOUS
        return bool(self.said.get("disable_tma")) or is_plain

    def idle(self, reason: str) -> None:
        """Nothing is moved that the hints could be of."""
        for name in self.said:
            self._note(name, "none", reason)

    def by_tma(self) -> None:
        """A TMA descriptor moves the region."""
        for name in self.said:
            if name == "prefer_instruction" and not self._is_known:
                self._note(name, "none", _UNKNOWN)
            elif name == "prefer_instruction":
                self._note(name, "native", "a TMA descriptor moves it, asynchronously in loops")
            elif name == "eviction_policy":
                reason = (
                    "Triton 3.6 has no words for caches at TMA; disable_tma=True takes pointers"
                )
                self._note(name, "none", reason)
            else:
                self._note(name, "none", "TMA moves whole blocks, and no thread has a part of it")

    def by_pointers(self) -> AccessHints:
        """What loads and stores by pointers are to say."""
        if not (self.match.source.is_tensor or self.match.destination.is_tensor):
            self.idle("tiles are values on the chip, and no memory is read or written")
            return AccessHints()
        eviction, modifier = "", ""
        if "eviction_policy" in self.said:
            is_load, policy = self.match.source.is_tensor, self.said["eviction_policy"]
            eviction, modifier = caching(self.facts, self.call, policy, is_load)
        for name in self.said:
            if name in ("annotations", "loop_layout"):
                self._note(name, "none", "which thread moves what is Triton's to choose")
        if "disable_tma" in self.said:
            self._note("disable_tma", "native", "pointers move it")
        if self.instruction:
            self._prefer()
        return AccessHints(eviction, modifier, self._width())

    def _note(self, name: str, how: str, detail: str, claim: Claim | None = None) -> None:
        note(self.facts, self.call, self._construct(name), how, detail, claim)

    def _construct(self, name: str) -> str:
        if name == "prefer_instruction" and self.instruction == ASYNCHRONOUS:
            operands = [as_user_wrote(self.facts, one) for one in self.call.args]
            return f"T.async_copy({', '.join(operands)})"
        return with_option(self.facts, self.call, name)

    def _prefer(self) -> None:
        name = "prefer_instruction"
        if self.prefer_tma:
            self._note(name, "none", self._lack_of_tma())
        elif self.instruction == PLAIN:
            said = "pointers move it; under T.Pipelined, Triton may load it ahead nevertheless"
            self._note(name, "native", said)
        elif self.instruction in CP_ASYNC and self.match.source.is_tensor:
            anchor, block = self.match.destination.buffer, self.lowering.block_number
            construct = self._construct(name)
            request(self.facts, self.call, construct, block, "async_outside_loop", anchor)
        elif self.instruction in CP_ASYNC:
            self._note(name, "none", "cp.async loads, and this is a store")
        else:
            self._note(name, "none", _UNKNOWN)

    def _lack_of_tma(self) -> str:
        if not has_tma(self.facts.target):
            return "the target has no TMA"
        if self.said.get("disable_tma"):
            return "`disable_tma=True` of the same copy takes pointers"
        if self.facts.hints.get("descriptors") is False:
            return "a pass config takes pointers"
        return (
            "TMA takes whole tiles of tensors that are read or written only, whose rows are known "
            "and multiples of 16 bytes"
        )

    def _width(self) -> int:
        """The most elements at once, where that is less than Triton takes by itself."""
        width = self.said.get("coalesced_width")
        if width is None:
            return 0
        name = "coalesced_width"
        if not isinstance(width, int) or width < 1 or width != next_power_of_two(width):
            self._note(name, "none", f"{width!r} is no power of two")
            return 0
        region = self.match.source if self.match.source.is_tensor else self.match.destination
        is_source = self.match.source.is_tensor
        axes = self.match.source_axes if is_source else self.match.destination_axes
        size = self.match.sizes[-1]
        tensor = self.facts.tensors[region.buffer]
        is_row = axes[-1] == tensor.rank - 1 and strides(tensor)[-1] is None
        size_of_all, is_nvidia = width * bits(tensor.dtype) // 8, self._is_nvidia
        if size_of_all >= WIDEST:
            said = "Triton takes 16 bytes at once wherever it proves them"
            self._note(name, "native", said, Claim("bytes", (WIDEST,)) if is_nvidia else None)
        elif not is_nvidia:
            self._note(name, "none", "LLVM joins narrow loads of AMD's again")
        elif not is_row or size is None or size % width:
            self._note(name, "none", f"the region has no rows of {width} elements in memory")
        else:
            said = f"`tl.max_contiguous` of its pointers: {width} at once at most"
            self._note(name, "native", said, Claim("bytes", (size_of_all,)))
            return width
        return 0
