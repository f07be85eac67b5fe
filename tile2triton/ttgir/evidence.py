"""What machine code shows of how a kernel moves and multiplies: counts of instructions."""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..kernel_report import AMD_INSTRUCTIONS, NVIDIA_INSTRUCTIONS, count_instructions
from ..knobs import cuobjdump_path

NVIDIA: Mapping[str, str] = {
    **NVIDIA_INSTRUCTIONS,
    "cp.async 16": r"cp\.async\.c[ag]\.shared[^;]*, 0x10,|cp\.async\.c[ag]\.shared[^;]*, 16,",
    "ld.global 16": r"ld\.global[.\w:]*\.v4\.b32|ld\.global[.\w:]*\.v2\.b64",
    "ld.global 8": r"ld\.global[.\w:]*\.v2\.b32|ld\.global[.\w:]*\.b64",
    "ld.global 4": r"ld\.global(?!\S*\.v\d)\S*\.b32",
    "ld.global 2": r"ld\.global(?!\S*\.v\d)\S*\.b16",
    "stmatrix": r"stmatrix",
    "ld.shared": r"ld\.shared",
    "st.shared": r"st\.shared",
    "mbarrier.init": r"mbarrier\.init",
    "cp.async.wait": r"cp\.async\.wait_group",
    "wgmma.wait": r"wgmma\.wait_group",
    "setmaxnreg": r"setmaxnreg",
    "xor": r"\bxor\.b32|\blop3\.b32",
}
AMD: Mapping[str, str] = {
    **AMD_INSTRUCTIONS,
    "mfma 16x16": r"v_s?mfma\w*_16x16",
    "mfma 32x32": r"v_s?mfma\w*_32x32",
    "ds_read_tr": r"ds_read_b64_tr",
    "s_setprio": r"s_setprio",
    "s_waitcnt": r"s_waitcnt",
    "xor": r"v_xor",
}

_DESCRIPTION = re.compile(r"(?:or\.b|add\.s)64\s+%rd\d+, %rd\d+, (-?\d{19,});")
_HALF = re.compile(r"mov\.b32\s+(%r\d+), (-?\d{10,});")
_JOINED = re.compile(r"mov\.b64\s+%rd\d+, \{%r\d+, (%r\d+)\};")
_SWIZZLES = {1: 128, 2: 64, 3: 32}


def count(assembly: Mapping[str, Any]) -> dict[str, int]:
    """Instructions by name, with registers and spills of a thread, of a compiled kernel."""
    if "ptx" in assembly:
        text = assembly["ptx"]
        return count_instructions(text, NVIDIA) | _swizzles(text) | _resources(assembly["cubin"])
    text = assembly["amdgcn"]
    figures = (
        ("registers", r"\.vgpr_count:\s+(\d+)"),
        ("spills", r"\.vgpr_spill_count:\s+(\d+)"),
        ("occupancy", r"; Occupancy: (\d+)"),
    )
    found = {name: re.search(pattern, text) for name, pattern in figures}
    return count_instructions(text, AMD) | {
        name: int(match[1]) for name, match in found.items() if match
    }


def _swizzles(text: str) -> dict[str, int]:
    """How often a product on Hopper or later is told that rows of so many bytes are permuted."""
    # The two highest bits of what describes an operand say so.
    modes = [int(number) >> 62 & 3 for number in _DESCRIPTION.findall(text)]
    # Triton 3.9 writes them as halves for Blackwell.
    halves = dict(_HALF.findall(text))
    modes += [int(halves[high]) >> 30 & 3 for high in _JOINED.findall(text) if high in halves]
    found = Counter(_SWIZZLES[mode] for mode in modes if mode)
    return {f"swizzle {width} B": number for width, number in found.items()}


def _resources(binary: bytes) -> dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = (cuobjdump_path(), "--dump-resource-usage", file.name)
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", listing)
    assert found is not None, "cuobjdump lists no registers"
    return {"registers": int(found[1]), "spills": int(found[2]) // 4}
