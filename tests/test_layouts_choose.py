"""Layouts that are chosen for buffers: the cheapest of those that the units allow, or Triton's."""

from dataclasses import replace

import pytest

from tests.test_layouts_parse import MODULE
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.choose import choose
from tile2triton.layouts.cost import Part, cheapest
from tile2triton.layouts.dot_operand import DotOperand
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.generic_linear import SharedLinear
from tile2triton.layouts.nvidia_mma import NvidiaMma
from tile2triton.layouts.nvmma_shared import NvmmaShared
from tile2triton.layouts.padded_shared import PaddedShared
from tile2triton.layouts.predicted import predicted
from tile2triton.layouts.reading import encoding_of
from tile2triton.layouts.swizzled_shared import SwizzledShared
from tile2triton.layouts.turning import turned
from tile2triton.layouts.uses import BOX, COPY, LOAD, OPERAND, STORE, Use
from tile2triton.layouts.writing import written
from tile2triton.ttgir_text.attributes import read_attribute

PLAIN = SwizzledShared(1, 1, 1, (1, 0))
ROWS = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
MMA = NvidiaMma(2, (2, 2), (16, 8))
OPERAND_A = Use(LOAD, (64, 64), 16, DotOperand(0, MMA, 2))
COPIED = Use(COPY, (64, 64), 16, ROWS, contiguity=8)


def best_of(own, uses, target="cuda:80", shape=(64, 64), bits=16):
    return cheapest(own, [Part(use, 8) for use in uses], shape, bits, target)


def test_tritons_own_choice_stays_where_nothing_conflicts():
    own = SwizzledShared(8, 1, 8, (1, 0))
    best, before, after = best_of(own, [COPIED, OPERAND_A])
    assert best is own and before == after and before.wavefronts == before.ideal


def test_rows_of_matrices_get_a_swizzle():
    best, before, after = best_of(PLAIN, [COPIED, OPERAND_A])
    assert before.wavefronts > 4 * before.ideal
    assert best.linear((64, 64)) == SwizzledShared(8, 1, 8, (1, 0)).linear((64, 64))
    assert after.wavefronts == after.ideal


def test_copies_never_become_narrower():
    best, _, _ = best_of(PLAIN, [COPIED, OPERAND_A])
    instruction = COPIED.made(best, "cuda:80").instruction
    assert instruction.width == 16


def test_stores_of_rows_and_loads_of_columns_share_a_layout_without_conflicts():
    stored = Use(STORE, (32, 32), 32, Blocked((1, 1), (1, 32), (4, 1), (1, 0)))
    loaded = Use(LOAD, (32, 32), 32, Blocked((1, 1), (32, 1), (1, 4), (0, 1)))
    _, before, after = best_of(PLAIN, [stored, loaded], shape=(32, 32), bits=32)
    assert before.wavefronts > after.wavefronts == after.ideal


def test_units_of_hopper_leave_their_own_layouts_only():
    own = NvmmaShared(0, False, 16)
    uses = [Use(BOX, (64, 64), 16), Use(OPERAND, (64, 64), 16, unit="wgmma", instructions=4)]
    best, before, after = best_of(own, uses, "cuda:90")
    assert best == NvmmaShared(128, False, 16)
    assert before.wavefronts > after.wavefronts == after.ideal
    own = NvmmaShared(64, True, 16)
    assert best_of(own, uses, "cuda:90")[0] is own


def test_copies_past_registers_on_amd_stay_in_order():
    lanes = Blocked((1, 8), (8, 8), (4, 1), (1, 0))
    copied = Use(COPY, (64, 64), 16, lanes, contiguity=8)
    loaded = Use(LOAD, (64, 64), 16, Blocked((1, 8), (64, 1), (1, 4), (0, 1)))
    own = SwizzledShared(8, 1, 1, (1, 0))
    best, before, after = best_of(own, [copied, loaded], "hip:gfx950")
    assert before.wavefronts > after.wavefronts
    assert isinstance(best, PaddedShared) and {gap for gap, _ in best.gaps} == {512}
    # Without such copies rows may be swizzled or padded.
    stored = replace(copied, kind=STORE)
    _, _, freer = best_of(own, [stored, loaded], "hip:gfx950")
    assert freer.wavefronts < after.wavefronts


def test_uses_of_a_turned_view_see_the_turned_layout():
    column_major = Use(LOAD, (64, 64), 16, DotOperand(1, MMA, 2))
    parts = [Part(COPIED, 8), Part(column_major, 8, turned=True)]
    best, before, after = cheapest(PLAIN, parts, (64, 64), 16, "cuda:80")
    assert before.wavefronts > after.wavefronts == after.ideal
    assert column_major.made(turned(best), "cuda:80").instruction.name == "ldmatrix.x4"


@pytest.mark.parametrize(
    "encoding",
    [
        SwizzledShared(8, 2, 4, (1, 0)),
        SwizzledShared(4, 1, 16, (0, 1), rotating=True),
        NvmmaShared(64, True, 16),
        NvmmaShared(128, False, 8, blocks=((1, 0),)),
        SharedLinear(((0, 1), (1, 1), (2, 0)), (), 128),
        PaddedShared(((512, 8), (64, 4)), (), ((0, 1), (0, 2), (1, 0))),
        PaddedShared(((16, 8),), (1, 0), shape=(4, 4)),
    ],
)
def test_encodings_are_read_as_they_are_written_and_turned_twice_the_same(encoding):
    assert encoding_of(read_attribute(written(encoding)), {}) == encoding
    assert turned(turned(encoding)) == encoding
    if not isinstance(encoding, NvmmaShared):
        there = encoding.linear((4, 4)).bases("offset")
        assert turned(encoding).linear((4, 4)).bases("offset") == tuple(
            (basis[1], basis[0]) for basis in there
        )


@pytest.mark.parametrize("change", [written, turned])
def test_layouts_of_registers_are_neither_written_nor_turned(change):
    with pytest.raises(LayoutError) as caught:
        change(ROWS)
    assert caught.value.diagnostics[0].code == "T2T929"


CONFLICTING = MODULE.replace("maxPhase = 8", "maxPhase = 1")


def test_a_text_whose_buffers_are_free_of_conflicts_has_no_better_layouts():
    assert choose(MODULE) == []


def test_a_text_gets_the_layouts_that_its_aliases_should_be():
    (choice,) = choose(CONFLICTING)
    assert (choice.buffer, choice.value, choice.shape, choice.bits) == ("x", "%x_1", (64, 64), 16)
    # Seven trips of 64 by 16 halves, and one copy of all.
    assert choice.heat == 7 * 64 * 16 * 2 + 64 * 64 * 2
    line = next(text for text in CONFLICTING.splitlines() if text.startswith("#shared ="))
    better = CONFLICTING.replace(line, f"#shared = {written(choice.best)}")
    assert [row.ways for row in predicted(better)] == [1.0, 1.0]
    assert choose(better) == []
    assert choose(CONFLICTING) == [choice]


def test_buffers_with_uses_that_are_not_known_are_left_alone():
    use = "    ttg.local_gather %x_2 : i32\n    tt.return"
    assert choose(CONFLICTING.replace("    tt.return", use)) == []
    assert choose(CONFLICTING.replace("versionMajor = 2", "versionMajor = 5")) == []
