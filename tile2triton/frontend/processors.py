"""How many multiprocessors the current GPU has."""

from __future__ import annotations

import sys

from tile2triton.frontend.failures import failure


def processor_count() -> int:
    """The number that a persistent kernel has programs for by default."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        raise failure(
            "T2T185",
            "without a GPU the number of its multiprocessors is not known",
            hint="give it: T.PersistentTileScheduler(..., num_workers=132)",
        )
    return int(torch.cuda.get_device_properties("cuda").multi_processor_count)
