"""Every environment variable that tile2triton reads, as one table."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Variable:
    """A variable, what holds without it, and what it is for."""

    name: str
    default: str
    meaning: str

    @property
    def value(self) -> str:
        """What is set at this moment; an empty value counts as unset."""
        return os.environ.get(self.name) or self.default


CACHE_DIR = Variable(
    name="TILE2TRITON_CACHE_DIR",
    default="~/.cache/tile2triton",
    meaning="where emitted modules are written so that Triton and debuggers find their source",
)

VARIABLES = (CACHE_DIR,)


def cache_directory() -> Path:
    """The directory for emitted modules; it need not exist."""
    return Path(os.path.expanduser(CACHE_DIR.value)).absolute()
