"""Predicted wavefronts are those of the addresses that compiled code computes, for any layout."""

import re
from collections import Counter

import pytest

pytest.importorskip("triton")

from tests.layout_kernels import compiled_described_gemm, compiled_gemm, compiled_text
from tests.llvm_addresses import wavefronts
from tile2triton.layouts.predicted import predicted
from tile2triton.layouts.ptx_accesses import measured_in_ptx

pytestmark = pytest.mark.compile

# For the first operand, 128 rows of 64 halves, and the second one, 64 rows of 128.
FOLDED = (
    "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], "
    "[2, 16], [4, 32], [8, 8], [16, 16], [32, 32], [64, 8]], block = []}, alignment = 16>"
)
LAYOUTS = {
    "own": None,
    "no phases": "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 1, order = [1, 0]}>",
    "few phases": "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>",
    "small vectors": "#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
    "columns": "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [0, 1]}>",
    "folded": FOLDED,
}


def figures(rows, lines):
    """What the kinds of access of some lines take together."""
    found = {}
    for row in rows:
        if row.line in lines and row.counter:
            issues, ideal, simulated = found.get(row.instruction, (0, 0, 0))
            found[row.instruction] = (
                issues + row.issues, ideal + row.ideal, simulated + row.simulated,
            )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("target", "layout"), [*(("cuda:80", layout) for layout in LAYOUTS), ("cuda:90", "own")]
)
def test_wavefronts_are_those_of_the_addresses_in_ptx(target, layout, tmp_path):
    text = compiled_gemm(target, stages=1)["ttgir"]
    if LAYOUTS[layout]:
        # The first operand gets it; the second one keeps its own.
        own = re.search(r"^#shared = .*$", text, flags=re.MULTILINE)[0]
        text = re.sub(r"(memdesc<128x64xf16, )#shared\b", r"\1#given", text)
        text = text.replace(own, f"{own}\n#given = {LAYOUTS[layout]}")
    ptx = compiled_text(text, tmp_path / "given.ttgir", target)["ptx"]
    predictions = predicted(text)
    # What follows the last product is the conversion of its result.
    end = max(ptx.rfind("mma.sync"), ptx.rfind("wgmma.mma_async"))
    measured = measured_in_ptx(ptx[:end])
    everywhere = {row.line for row in predictions} | {row.line for row in measured}
    assert not any(row.unknown for row in measured)
    assert figures(predictions, everywhere) == figures(measured, everywhere) != {}


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_scratch_memory_of_conversions_is_seen_in_ptx(target):
    compiled = compiled_gemm(target)
    (conversion,) = [row for row in predicted(compiled["ttgir"]) if row.reason]
    assert conversion.operation == "ttg.convert_layout"
    stored = [row for row in measured_in_ptx(compiled["ptx"]) if row.instruction.startswith("st.")]
    assert [(row.issues, row.conflicts, row.unknown) for row in stored] == [(64, 0, 0)]


def test_a_copy_that_meets_one_bank_is_seen_in_ptx():
    compiled = compiled_gemm("cuda:90", "fp32", "nn", 32)
    rows = [row for row in measured_in_ptx(compiled["ptx"]) if row.instruction == "cp.async 4 B"]
    assert sum(row.simulated for row in rows) == 16 * sum(row.ideal for row in rows) > 0


@pytest.mark.parametrize(
    ("target", "compiled"),
    [
        ("hip:gfx942", lambda target: compiled_gemm(target, "fp16", "nt")),
        # Turned in registers, and rotated in memory.
        ("hip:gfx942", lambda target: compiled_gemm(target, "fp16", "tn")),
        ("hip:gfx942", lambda target: compiled_described_gemm(target, turned=True)),
        ("hip:gfx942", lambda target: compiled_gemm(target, "fp32", "nn", 32)),
        # With gaps on Triton 3.9, swizzled on 3.6.
        ("hip:gfx950", lambda target: compiled_gemm(target, "fp16", "nn")),
        ("hip:gfx950", lambda target: compiled_gemm(target, "fp16", "tt")),
    ],
)
def test_wavefronts_are_those_of_the_addresses_in_llvms_code(target, compiled):
    texts = compiled(target)
    measured = wavefronts(texts["llir"], 256, target)
    expected = Counter()
    for row in predicted(texts["ttgir"]):
        if row.operation in ("ttg.local_load", "ttg.local_store"):
            expected[row.instruction, "ideal"] += row.ideal
            expected[row.instruction, "simulated"] += row.simulated
    assert measured.keys() == expected.keys() != set()
    # Loops may be written out more than once.
    for name in {name for name, _ in expected}:
        ways = [
            counted[name, "simulated"] / counted[name, "ideal"] for counted in (expected, measured)
        ]
        assert ways[0] == ways[1], name
