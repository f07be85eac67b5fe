"""The page that says of every name of TileLang's language what becomes of it here."""

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tile2triton.language as T
from rewrites import dtypes
from tile2triton.diagnostics import TileError
from tile2triton.frontend.dtypes import DType, dtype_name
from tile2triton.frontend.refused_names import RefusedName
from tile2triton.ops import OPERATORS

# `tilelang.language.__all__` of TileLang 0.1.13.
NAMES = tuple((Path(__file__).parent / "tilelang_names.txt").read_text().split())

KINDS = {
    "supported": "An operator with a meaning of its own: see [operators.md](operators.md).",
    "rewritten": "Resolved while the kernel is traced: the tile program holds what it makes.",
    "hint": "It changes no result, and is applied or reported: see [hints.md](hints.md).",
    "refused": "Using it is an error with this code, reason and way out.",
}
# Front-end names whose objects have no docstring of their own that says it.
MADE_OF = {
    "Buffer": "The type of tiles and tensors, for annotations.",
    "SharedBuffer": "An annotation of a macro's parameter; what is passed decides.",
    "FragmentBuffer": "An annotation of a macro's parameter; what is passed decides.",
    "LocalBuffer": "An annotation of a macro's parameter; what is passed decides.",
    "Cast": "`T.cast` with its arguments the other way round.",
    "dtype": "The type of element types, for annotations.",
    "AnyDType": "Every spelling of an element type, for annotations.",
    "JITFunc": "The class of kernels in the eager style, for annotations and `isinstance`.",
    "Any": "Python's `typing.Any`, for annotations.",
}


@dataclass(frozen=True)
class Verdict:
    """What becomes of a name: one of KINDS, and a sentence; for refusals also code and way out."""

    kind: str
    note: str
    code: str = ""
    instead: str = ""


UNKNOWN = Verdict(
    "refused",
    "is a name that this version does not know",
    "T2T110",
    "write it with the operators that there are",
)


def verdict(name: str) -> Verdict:
    """What becomes of `T.<name>`."""
    if name not in T.__all__ and name not in MADE_OF:
        return UNKNOWN
    found = getattr(T, name)
    if isinstance(found, RefusedName):
        refusal = found.refusal
        return Verdict("refused", refusal.reason, refusal.code, refusal.instead)
    if isinstance(found, DType):
        return _of_type(name, found)
    if name in OPERATORS:
        operator = OPERATORS[name]
        kind = "hint" if operator.kind == "hint" else "supported"
        note = _first_sentence(operator.surface)
        if operator.name != name:
            note = f"`T.{operator.name}`."
        return Verdict(kind, note)
    return Verdict("rewritten", MADE_OF.get(name) or _first_sentence(found))


def _of_type(name: str, dtype: DType) -> Verdict:
    try:
        dtype_name(dtype)
    except TileError as error:
        (problem,) = error.diagnostics
        return Verdict(
            "refused",
            "is a vector of one thread or packed bits, which Triton has no tiles of",
            problem.code,
            "keep single elements, or the packed bits in uint8",
        )
    row = dtypes.BY_NAME[str(dtype)]
    return Verdict("supported", f"An element type: Triton's `tl.{row.triton}`.")


def _first_sentence(found: Any) -> str:
    text = inspect.getdoc(found) or ""
    return re.split(r"(?<=\.)\s", text.split("\n\n")[0].replace("\n", " "))[0]


def page() -> str:
    """Every name once, under the verdict on it."""
    verdicts = {name: verdict(name) for name in NAMES}
    counts = ", ".join(f"{sum(v.kind == kind for v in verdicts.values())} {kind}" for kind in KINDS)
    lines = [
        "# The names of TileLang's language",
        "",
        "This page is made from the code by `make docs`.",
        "",
        f"`tilelang.language` exports {len(NAMES)} names: {counts}.",
    ]
    for kind, meaning in KINDS.items():
        chosen = {name: found for name, found in verdicts.items() if found.kind == kind}
        lines += ["", f"## {kind.capitalize()}", "", meaning, ""]
        lines += _refusals(chosen) if kind == "refused" else _table(chosen)
    return "\n".join(lines).rstrip() + "\n"


def _table(chosen: dict[str, Verdict]) -> list[str]:
    lines = ["| name | |", "|---|---|"]
    return lines + [f"| `T.{name}` | {found.note} |" for name, found in chosen.items()]


def _refusals(chosen: dict[str, Verdict]) -> list[str]:
    """One paragraph for each reason, with the names that it holds for."""
    groups: dict[Verdict, list[str]] = {}
    for name, found in chosen.items():
        groups.setdefault(found, []).append(name)
    lines = []
    for found, names in sorted(groups.items(), key=lambda group: group[0].code):
        listed = ", ".join(f"`T.{name}`" for name in names)
        lines += [f"**{found.code}**: {found.note}; {found.instead}.", "", listed, ""]
    return lines
