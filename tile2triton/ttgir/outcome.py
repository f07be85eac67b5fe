"""What a trial of a kernel's patches found, and its two written forms."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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

    def without(self, reason: str) -> "Outcome":
        """The same with nothing applied."""
        refused = {**self.refused, **dict.fromkeys(self.applied, reason)}
        return Outcome((), refused, self.before, self.before)

    def to_json(self, requests: Sequence[Request]) -> str:
        """For a compiled kernel's metadata, which are read by people."""
        patches = [
            {
                "kind": request.kind,
                "anchor": request.anchor,
                "arguments": dict(request.arguments),
                "construct": request.construct,
                "applied": index in self.applied,
                "reason": self.refused.get(index, ""),
            }
            for index, request in enumerate(requests)
        ]
        counts = {"before": dict(self.before), "after": dict(self.after)}
        return json.dumps({"patches": patches, **counts})

    @classmethod
    def from_json(cls, text: str) -> "Outcome":
        given: dict[str, Any] = json.loads(text)
        patches = given["patches"]
        return cls(
            tuple(index for index, one in enumerate(patches) if one["applied"]),
            {index: one["reason"] for index, one in enumerate(patches) if not one["applied"]},
            given["before"],
            given["after"],
        )
