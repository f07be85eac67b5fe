"""Names of single loads and products of a variable that is assigned several: "a (1 of 2)"."""

import re
from dataclasses import dataclass

# What a variable's name may have behind it, as part of a regular expression.
SUFFIX = r"(?: \(\d+ of \d+\))?"
_SITE = re.compile(r"(\w+) \((\d+) of (\d+)\)")


@dataclass(frozen=True)
class SiteName:
    """The load or product with a number, from 1, of so many that are assigned to the variable."""

    variable: str
    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.variable} ({self.number} of {self.count})"


def site_name(text: str) -> SiteName | None:
    """What the name of a single load or product says; None for the name of a variable."""
    found = _SITE.fullmatch(text)
    return SiteName(found[1], int(found[2]), int(found[3])) if found else None


def variable_of(name: str) -> str:
    """The variable that a name is of."""
    found = site_name(name)
    return found.variable if found else name


def is_meant(name: str, wanted: str) -> bool:
    """Whether `wanted` means what has that name: a variable means all that is assigned to it."""
    return wanted in (name, variable_of(name))
