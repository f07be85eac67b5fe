"""One name for one thing in the whole program, as close to the user's as can be."""

from __future__ import annotations

import keyword

# Names that the emitted module uses itself.
_RESERVED = frozenset(
    "T tl triton torch libdevice TensorDescriptor range float int bool str min max abs len tuple "
    "list isinstance type getattr print any all zip enumerate ValueError TypeError RuntimeError "
    "self grid num_stages num_warps num_ctas maxnreg warmup debug launch_pdl "
    "launch_cooperative_grid waves_per_eu matrix_instr_nonkdim kpack".split()
)


class Names:
    """Hands out names; a reserved one gets an underscore, a taken one a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._constants: dict[tuple[str, str], str] = {}
        self._counters: dict[tuple[str, str], str] = {}
        # What names that are made later begin with.
        self.kept_free = ""

    def claim(self, wanted: str) -> str:
        """A name that nothing else has."""
        name = wanted.lstrip("_") or "unused"
        is_kept = name in _RESERVED or (self.kept_free and name.startswith(self.kept_free))
        if keyword.iskeyword(name) or is_kept or not name[0].isalpha():
            name = f"{wanted}_" if wanted.isidentifier() and wanted[0].isalpha() else f"x{wanted}"
        candidate, count = name, 0
        while candidate in self._taken:
            count += 1
            candidate = f"{name}_{count}"
        self._taken.add(candidate)
        return candidate

    def constant(self, wanted: str, value: int | float) -> tuple[str, bool]:
        """The name of a number, and whether it is new; namesakes of other values get a suffix."""
        key = (wanted, repr(value))
        known = self._constants.get(key)
        if known is not None:
            return known, False
        name = self._constants[key] = self.claim(wanted)
        return name, True

    def known_constant(self, wanted: str, value: int | float) -> str | None:
        return self._constants.get((wanted, repr(value)))

    def counter(self, wanted: str, extent: str, is_free: bool) -> str:
        """The name of a loop or block variable: that of an earlier one which ran the same way."""
        key = (wanted, extent)
        known = self._counters.get(key)
        if known is not None and is_free:
            return known
        name = self.claim(wanted)
        self._counters.setdefault(key, name)
        return name

    def known_counter(self, wanted: str, extent: str) -> str | None:
        return self._counters.get((wanted, extent))
