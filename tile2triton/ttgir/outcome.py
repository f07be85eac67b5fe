"""What a trial of a kernel's patches found, and its two written forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..patch_metadata import PatchFate, PatchMetadata
from .patching import Request


@dataclass(frozen=True)
class Outcome:
    """Which requests are applied, by their numbers, and why others are not.

    `before` and `after` count what is in the machine code without and with them.
    """

    applied: tuple[int, ...]
    refused: Mapping[int, str]
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    # Whether another trial would find the same, so that this may be kept.
    is_lasting: bool = True

    def without(self, reason: str) -> "Outcome":
        """The same with nothing applied."""
        refused = {**self.refused, **dict.fromkeys(self.applied, reason)}
        return Outcome((), refused, self.before, self.before, is_lasting=False)

    def to_json(self, requests: Sequence[Request]) -> str:
        """For a compiled kernel's metadata, which are read by people."""
        patches = tuple(
            PatchFate(
                kind=request.kind,
                anchor=request.anchor,
                arguments=dict(request.arguments),
                construct=request.construct,
                applied=index in self.applied,
                reason=self.refused.get(index, ""),
            )
            for index, request in enumerate(requests)
        )
        return PatchMetadata(patches, dict(self.before), dict(self.after)).written()

    @classmethod
    def from_json(cls, text: str, requests: Sequence[Request]) -> "Outcome":
        """What was found for these requests; raises ValueError where it is not, or damaged."""
        given = PatchMetadata.read(text)
        fates = list(enumerate(given.patches))
        if [(one.kind, one.anchor) for _, one in fates] != [
            (one.kind, one.anchor) for one in requests
        ]:
            raise ValueError("it is of other patches")
        return cls(
            tuple(index for index, one in fates if one.applied),
            {index: one.reason for index, one in fates if not one.applied},
            given.before,
            given.after,
        )
