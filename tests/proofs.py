"""Which test proves which row of the table of hints, on which targets."""

from collections.abc import Iterable
from typing import Any

import pytest

from tile2triton.hints.table import GROUPS, HintRow

NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
AMD = ("hip:gfx942", "hip:gfx950")
ALL = (*NVIDIA, *AMD)
# How the table writes targets.
CLAIMS = {"none": (), "all": ALL, "NVIDIA": NVIDIA, "AMD": AMD}
CLAIMS |= {f"sm_{one.removeprefix('cuda:')}": (one,) for one in NVIDIA}
CLAIMS |= {one.removeprefix("hip:"): (one,) for one in AMD}

ROWS = tuple(row for group in GROUPS for row in group.rows)
# The targets for which rows are proved, by a part of how they are written.
PROVED: dict[str, set[str]] = {}


def proves(*parts: str, on: Iterable[Any], names: str = "target") -> pytest.MarkDecorator:
    """Run a test for each case of `on`; it shows what becomes of hints whose rows have a part.

    A case is a target, or a tuple that starts with one, of what `names` says.
    """
    cases = list(on)
    for part in parts:
        record(part, (case if isinstance(case, str) else case[0] for case in cases))
    return pytest.mark.parametrize(names, cases)


def record(part: str, targets: Iterable[str]) -> None:
    """Set down that a test shows what becomes of hints whose rows have the part."""
    PROVED.setdefault(part, set()).update(targets)


def claimed(row: HintRow) -> set[str]:
    """The targets that a row says have the hint."""
    return {target for word in row.targets.split(", ") for target in CLAIMS[word]}


def proved(row: HintRow) -> set[str]:
    """Those of which a test shows it."""
    return {one for part, targets in PROVED.items() if part in row.written for one in targets}
