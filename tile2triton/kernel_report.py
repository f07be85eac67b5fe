"""What compiling one kernel for one target gave: resources, instructions, or what went wrong."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .diagnostics import Diagnostic

# Instructions that tell how a kernel moves and multiplies, by the name used in reports.
NVIDIA_INSTRUCTIONS: Mapping[str, str] = {
    "wgmma": r"wgmma\.mma_async",
    "tcgen05.mma": r"tcgen05\.mma",
    "mma.sync": r"mma\.sync",
    "cp.async": r"cp\.async\.c[ag]\.shared",
    "TMA load": r"cp\.async\.bulk\.tensor[^;]*shared::c\w+\.global",
    "TMA store": r"cp\.async\.bulk\.tensor[^;]*global\.shared",
    "ldmatrix": r"ldmatrix",
    "ld.global": r"ld\.global",
    "st.global": r"st\.global",
    "atomic": r"\b(?:atom|red)\.(?:\w+\.)*global",
    "bar.sync": r"bar(?:rier)?\.sync",
}
AMD_INSTRUCTIONS: Mapping[str, str] = {
    "mfma": r"v_s?mfma_\w+",
    "buffer_load": r"buffer_load_\w+(?!.* lds)",
    "buffer_load to lds": r"buffer_load_\w+.* lds",
    "global_load": r"global_load_(?!lds)\w+",
    "global_load to lds": r"global_load_lds_\w+",
    "global_store": r"(?:global|buffer)_store_\w+",
    "atomic": r"(?:global|buffer)_atomic_\w+",
    "ds_read": r"ds_(?:read|load)\w*",
    "ds_write": r"ds_(?:write|store)\w*",
    "s_barrier": r"s_barrier",
    "s_setprio": r"s_setprio",
}


@dataclass(frozen=True)
class KernelReport:
    """One kernel on one target. Sizes are in bytes; `registers` and `spills` are per thread.

    `problem` is None where the kernel compiles and fits; the figures are zero where it does not
    compile.
    """

    kernel: str
    target: str
    problem: Diagnostic | None = None
    registers: int = 0
    spills: int = 0
    shared_memory: int = 0
    shared_limit: int = 0
    num_warps: int = 0
    num_stages: int = 0
    instructions: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    # What the compiler made, as text: "ttgir", "machine", what became of "patches", as JSON, and
    # the "path" of the file that it was made of, to which locations refer.
    listing: Mapping[str, str] = field(default_factory=dict)
    # The patches that hints ask for and the kernel is compiled without, and why.
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.problem is None


def count_instructions(assembly: str, table: Mapping[str, str]) -> dict[str, int]:
    """How often each kind of instruction stands in `assembly`, without those that never do."""
    found = {name: len(re.findall(pattern, assembly)) for name, pattern in table.items()}
    return {name: count for name, count in found.items() if count}
