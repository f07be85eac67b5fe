"""The kinds of patches, one a file."""

from . import load_latency

PATCHES = (load_latency.LOAD_LATENCY,)

KINDS = {kind.name: kind for kind in PATCHES}
