"""Every environment variable that tile2triton reads, as one table."""

import math
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Variable:
    """A variable, what holds without it, and what it is for."""

    name: str
    default: str
    meaning: str
    # Names that programs written for TileLang set.
    also: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """What is set at this moment; an empty value counts as unset."""
        found = (os.environ.get(name) for name in (self.name, *self.also))
        return next(filter(None, found), self.default)


CACHE_DIR = Variable(
    name="TILE2TRITON_CACHE_DIR",
    default="~/.cache/tile2triton",
    meaning="where emitted modules are written so that Triton and debuggers find their source",
)

DISABLE_CACHE = Variable(
    name="TILE2TRITON_DISABLE_CACHE",
    default="0",
    meaning="whether results of tuning are neither read from the cache directory nor kept there",
    also=("TILELANG_DISABLE_CACHE", "TILELANG_AUTO_TUNING_DISABLE_CACHE"),
)
TUNE_PROCESSES = Variable(
    name="TILE2TRITON_TUNE_PROCESSES",
    default="",
    meaning="how many processes compile configurations for tuning; else one for each processor",
)

SCHEDULES = Variable(
    name="TILE2TRITON_SCHEDULES",
    default="~/.config/tile2triton/schedules",
    meaning="where your own schedules are, by name; they come before those that are shipped",
)

PATCH_SECONDS = Variable(
    name="TILE2TRITON_PATCH_SECONDS",
    default="180",
    meaning="for how long a kernel may compile when its patches are tried for the first time",
)

DIRECT_LAUNCHES = Variable(
    name="TILE2TRITON_DIRECT_LAUNCHES",
    default="1",
    meaning="whether what was launched before is launched without asking Triton anew",
)

VARIABLES = (CACHE_DIR, DISABLE_CACHE, TUNE_PROCESSES, SCHEDULES, PATCH_SECONDS, DIRECT_LAUNCHES)
_NO = ("0", "false", "no", "off")


def patch_seconds() -> float:
    """The limit of a trial; what is no time to wait is said once, and the default holds."""
    given = PATCH_SECONDS.value
    with suppress(ValueError):
        if 0 < float(given) < math.inf:
            return float(given)
    warnings.warn(
        f"{PATCH_SECONDS.name}={given} is no number of seconds above 0: "
        f"{PATCH_SECONDS.default} seconds hold",
        RuntimeWarning,
        stacklevel=2,
    )
    return float(PATCH_SECONDS.default)


def cache_directory() -> Path:
    """The directory for emitted modules; it need not exist."""
    return Path(os.path.expanduser(CACHE_DIR.value)).absolute()


@dataclass
class Caching:
    """What a program says of results on disk, besides the variables."""

    is_enabled: bool = True


CACHING = Caching()


def is_caching() -> bool:
    """Whether results of tuning are kept on disk."""
    return CACHING.is_enabled and DISABLE_CACHE.value.lower() in _NO


def launches_directly() -> bool:
    """Whether a kernel that is loaded launches by itself what Triton has launched before."""
    return DIRECT_LAUNCHES.value.lower() not in _NO
