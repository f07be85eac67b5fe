"""Programs whose tiles are values become the Triton of those that allocate them and loop."""

import importlib
import re
from collections import Counter
from typing import Any

import pytest

from tile2triton import Error, Schedule, transpile

SEQUENCE = {"batch": 4, "seq_len": 4096, "heads": 16, "dim_K": 128, "dim_V": 128}
MAMBA = {"batch": 8, "seq_len": 4096, "chunks": 16, "chunk": 256, "groups": 1}
MAMBA |= {"heads": 80, "dim": 64, "dim_state": 128}
PROGRAMS: dict[str, dict[str, Any]] = {
    "retention": SEQUENCE,
    "gated_delta_rule": SEQUENCE,
    "attention_backward": {"batch": 4, "heads": 16, "seq_len": 4096, "is_causal": True},
    "chunk_scan": MAMBA,
    "chunk_state": MAMBA,
    "block_scaled_gemm": {"M": 1000, "N": 7168, "K": 2048, "groups_N": 56, "groups_K": 16},
    "latent_attention": {"batch": 1, "heads": 128, "kv_len": 8192},
}
SCHEDULES = (
    Schedule(),
    Schedule(split=4),
    Schedule(persistent=132),
    Schedule(rotate=True, split_masks=True),
    Schedule(warp_specialize=2),
)

# What they compute asks nothing of Triton's version.
pytestmark = pytest.mark.slow
# What takes time; casts may stand in another place.
COSTS = r"\btl\.\w+\(|\.load\(|\.store\(|\bfor\b|\bif\b|gl\.\w+|async_copy\w*|wgmma\w*"


def costs(file: str, program: str, schedule: Schedule, target: str) -> Counter[str] | str:
    """How often the kernels do what takes time, or the error's code."""
    kernel = getattr(importlib.import_module(f"tests.kernels.{file}"), program)
    try:
        made = transpile(kernel.scheduled(schedule), **PROGRAMS[program], target=target)
    except Error as error:
        return str(error).partition(":")[0]
    kernels = made.triton_source.partition("# The constants of the kernels")[0]
    code = "\n".join(line.partition("# ")[0] for line in kernels.splitlines())
    return Counter(re.findall(COSTS, code))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_values_cost_nothing(program: str, schedule: Schedule) -> None:
    for target in ("cuda:90", "hip:gfx942"):
        found = costs(f"values.{program}", program, schedule, target)
        assert found == costs(program, program, schedule, target)
        assert schedule or isinstance(found, Counter)
