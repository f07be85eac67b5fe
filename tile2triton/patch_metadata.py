"""What the metadata of a compiled kernel say of its patches, which Triton's caches keep."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# The key of the metadata that has it, as JSON.
KEY = "tile2triton"


@dataclass(frozen=True)
class PatchFate:
    """What became of one patch; `construct` is the hint that asks for it, "" where none does."""

    kind: str
    anchor: str
    arguments: Mapping[str, Any]
    construct: str
    applied: bool
    reason: str

    @property
    def name(self) -> str:
        """As reports call it."""
        return f"{self.kind} of {self.anchor or 'the kernel'}"


@dataclass(frozen=True)
class PatchMetadata:
    """All patches of a kernel, and counts of its machine code without and with them."""

    patches: tuple[PatchFate, ...] = ()
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "PatchMetadata":
        """What was written; nothing for "", which is what kernels without patches have.

        Raises ValueError where something else was written.
        """
        if not text:
            return cls()
        try:
            given = json.loads(text)
            fates = tuple(PatchFate(**one) for one in given["patches"])
            before, after = dict(given["before"]), dict(given["after"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"what is said of patches lacks something: {error}") from error
        if not all(isinstance(one.applied, bool) for one in fates):
            raise ValueError("a patch is applied or not")
        if not all(isinstance(number, int) for number in (*before.values(), *after.values())):
            raise ValueError("counts are numbers")
        return cls(fates, before, after)

    def written(self) -> str:
        return json.dumps(asdict(self))

    @property
    def changed(self) -> dict[str, tuple[int, int]]:
        """The counts that differ, without patches and with them."""
        names = {**self.before, **self.after}
        pairs = {name: (self.before.get(name, 0), self.after.get(name, 0)) for name in names}
        return {name: (old, new) for name, (old, new) in pairs.items() if old != new}

    @property
    def left_out(self) -> tuple[str, ...]:
        """The patches that are not applied though a hint asks for them, and why."""
        return tuple(
            f"{one.name} ({one.construct}): {one.reason}"
            for one in self.patches
            if one.construct and not one.applied
        )
