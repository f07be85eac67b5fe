"""Predicted wavefronts are those of the addresses that compiled code computes, for any layout."""

import re
from collections import Counter

import pytest

pytest.importorskip("triton")

from tests.layout_kernels import compiled_gemm, compiled_text
from tests.ptx_addresses import wavefronts
from tile2triton.layouts.predicted import predicted

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


def of_rows(rows):
    """Wavefronts for each kind of access, as `wavefronts` names them."""
    found = Counter()
    for row in rows:
        kind = re.match(r"ldmatrix|stmatrix|ld\.shared|st\.shared", row.instruction)
        if kind and row.depth:
            found[kind[0]] += row.simulated
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wavefronts_are_those_of_the_addresses_in_ptx(layout, tmp_path):
    text = compiled_gemm("cuda:80", stages=1)["ttgir"]
    if LAYOUTS[layout]:
        # The first operand gets it; the second one keeps its own.
        own = re.search(r"^#shared = .*$", text, flags=re.MULTILINE)[0]
        text = re.sub(r"(memdesc<128x64xf16, )#shared\b", r"\1#given", text)
        text = text.replace(own, f"{own}\n#given = {LAYOUTS[layout]}")
    ptx = compiled_text(text, tmp_path / "given.ttgir", "cuda:80")["ptx"]
    expected = wavefronts(ptx, 128)
    assert expected and of_rows(predicted(text)) == expected
