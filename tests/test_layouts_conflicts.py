"""Wavefronts of single instructions, against a count by hand and against known cases."""

import random

import numpy as np
import pytest

from tile2triton.layouts import machines
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.conflicts import Instruction, consecutive
from tile2triton.layouts.dot_operand import DotOperand
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.issues import copies, loads, stores
from tile2triton.layouts.nvidia_mma import NvidiaMma
from tile2triton.layouts.padded_shared import PaddedShared
from tile2triton.layouts.placement import place
from tile2triton.layouts.swizzled_shared import SwizzledShared

PLAIN = SwizzledShared(1, 1, 1, (1, 0))
MMA = NvidiaMma(2, (2, 2), (16, 8))


def counted_by_hand(addresses, width, phases, banks):
    total = 0
    for lanes in phases:
        words = {
            int(addresses[lane]) // 4 + word for lane in lanes for word in range(max(1, width // 4))
        }
        total += max(sum(word % banks == bank for word in words) for bank in range(banks))
    return total


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942", "hip:gfx950"])
def test_wavefronts_are_those_of_the_busiest_bank_of_each_phase(target, width):
    rng = random.Random(width)
    instruction = machines.load(target, width, 8)
    lanes = 64 if target.startswith("hip") else 32
    assert sorted(lane for phase in instruction.phases for lane in phase) == [*range(lanes)]
    for span in (64, 512, 4096):
        addresses = np.array([width * rng.randrange(span // width) for _ in range(lanes)])
        assert instruction.wavefronts(addresses) == counted_by_hand(
            addresses, width, instruction.phases, instruction.banks
        )


def test_one_word_for_all_lanes_is_no_conflict():
    instruction = Instruction("ld", 4, consecutive(32, 32))
    assert instruction.wavefronts(np.zeros((1, 32), dtype=np.int64)).tolist() == [1]
    assert instruction.wavefronts(np.arange(32)[None] % 4 + 4).tolist() == [1]


@pytest.mark.parametrize(("stride", "ways"), [(1, 1), (2, 2), (32, 32), (33, 1), (8, 8)])
def test_strides_conflict_as_often_as_they_meet_a_bank(stride, ways):
    instruction = machines.load("cuda:80", 4, 32)
    assert instruction.wavefronts(4 * stride * np.arange(32)) == ways


def figures(issues):
    return issues.instruction.name, issues.count, issues.ideal, issues.simulated


def test_columns_of_plain_rows_all_meet_the_same_banks():
    column = Blocked((1, 1), (32, 1), (1, 1), (0, 1))
    placement = place(column, PLAIN, (32, 32), 32)
    assert figures(loads(placement, "cuda:90")) == ("ld.shared.v4.b32", 8, 32, 256)


@pytest.mark.parametrize(
    ("memory", "simulated"),
    [
        (SwizzledShared(8, 1, 8, (1, 0)), 128),
        (SwizzledShared(8, 1, 4, (1, 0)), 256),
        (SwizzledShared(8, 1, 1, (1, 0)), 1024),
    ],
)
def test_matrix_loads_conflict_where_the_swizzle_has_too_few_phases(memory, simulated):
    operand = place(DotOperand(0, MMA, 2), memory, (64, 64), 16)
    # 2 warps of rows, which 2 others repeat, have 32 rows of 64: 4 matrices of 8 by 8 an access.
    assert figures(loads(operand, "cuda:80")) == ("ldmatrix.x4", 8, 128, simulated)


def test_operands_along_columns_load_transposed_matrices():
    operand = place(DotOperand(1, MMA, 2), SwizzledShared(8, 1, 8, (1, 0)), (64, 64), 16)
    assert figures(loads(operand, "cuda:80")) == ("ldmatrix.x4.trans", 8, 128, 128)


def test_what_matrices_do_not_fit_takes_vectors():
    rows = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
    swizzled = SwizzledShared(8, 1, 8, (1, 0))
    assert figures(stores(place(rows, swizzled, (64, 64), 16), "cuda:80")) == (
        "st.shared.v4.b32", 4, 64, 64,
    )  # fmt: skip
    # Swizzling in groups of four elements takes the vectors apart.
    assert (
        stores(
            place(rows, SwizzledShared(4, 1, 8, (1, 0)), (64, 64), 16), "cuda:80"
        ).instruction.width
        == 8
    )
    # Older ones have no matrices.
    operand = place(DotOperand(0, MMA, 2), swizzled, (64, 64), 16)
    assert loads(operand, "cuda:70").instruction.name == "ld.shared.b32"


def test_results_are_stored_as_matrices_from_hopper_on():
    placement = place(MMA, SwizzledShared(8, 1, 8, (1, 0)), (64, 64), 16)
    assert stores(placement, "cuda:90").instruction.name == "stmatrix.x4"
    assert stores(placement, "cuda:80").instruction.name == "st.shared.b32"


def test_copies_are_as_wide_as_what_is_contiguous_in_both_memories():
    rows = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
    placement = place(rows, SwizzledShared(8, 1, 8, (1, 0)), (64, 64), 16)
    assert copies(placement, "cuda:80", 8).instruction.name == "cp.async 16 B"
    assert copies(placement, "cuda:80", 4).instruction.name == "cp.async 8 B"


def test_gaps_spread_columns_over_the_banks():
    column = Blocked((1, 1), (64, 1), (1, 1), (0, 1))
    for memory, ways in ((PaddedShared(((64, 4),), (1, 0)), 1), (PLAIN, 8)):
        made = loads(place(column, memory, (64, 64), 32), "hip:gfx942")
        assert made.instruction.name == "ds_read_b128"
        assert made.simulated == ways * made.ideal


def test_views_of_a_swizzled_buffer_start_at_their_corner():
    rows = Blocked((1, 1), (1, 32), (1, 1), (1, 0))
    memory = SwizzledShared(8, 1, 8, (1, 0))
    whole = place(rows, memory, (8, 64), 32).addresses(range(16), range(32))
    part = place(rows, memory, (4, 32), 32, (8, 64), (4, 32)).addresses(range(4), range(32))
    # Registers count columns of 32 lanes first, then rows.
    assert part[:, 0].tolist() == whole[9:16:2, 0].tolist()


def test_other_targets_are_refused():
    with pytest.raises(LayoutError) as caught:
        machines.is_amd("hip:gfx1100")
    assert caught.value.diagnostics[0].code == "T2T930"
