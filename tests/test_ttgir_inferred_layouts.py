"""Layouts by inference: fewer conflicts where units leave a choice, and nothing elsewhere."""

import functools
import json

import pytest

from tests.kernels.gemm import gemm
from tests.kernels.linear_attention import linear_attention
from tests.kernels.softmax import softmax
from tests.patched import Wanted, assembly, compiled_as_emitted, patched, product
from tile2triton import CompiledKernel, transpile
from tile2triton.layouts.predicted import predicted
from tile2triton.ttgir.stages import BlockedError

WANTED: Wanted = ("inferred_layouts", "", {})


@functools.cache
def of_columns(target: str) -> CompiledKernel:
    """A·Bᵀ, for which Triton stores B in two-way conflicts and reads it in worse ones on gfx942."""
    sizes = {**dict.fromkeys("MNK", 1024), "block_N": 128, "num_stages": 2}
    return transpile(gemm, target=target, transpose_B=True, **sizes)


@functools.cache
def chunks(target: str) -> CompiledKernel:
    sizes = {"batch": 1, "seq_len": 1024, "heads": 2, "dim_K": 128, "dim_V": 128}
    return transpile(linear_attention, target=target, **sizes)


def conflicts(kernel: CompiledKernel, *wanted: Wanted) -> int:
    rows = predicted(assembly(kernel, *wanted)["ttgir"], kernel.target)
    return sum(row.conflicts * (row.trips or 1) for row in rows)


@pytest.mark.parametrize(
    ("target", "is_patched"), [("hip:gfx942", True), ("hip:gfx950", True), ("cuda:90", False)]
)
def test_amds_products_ask_for_it_without_a_word(target: str, is_patched: bool) -> None:
    asks = 'patch(gemm_kernel, ("inferred_layouts", "", {}))'
    assert (asks in of_columns(target).triton_source) == is_patched


def test_kernels_without_products_do_not() -> None:
    kernel = transpile(softmax, target="hip:gfx942", M=64, N=512)
    assert "inferred_layouts" not in kernel.triton_source


@pytest.mark.compile
@pytest.mark.parametrize(
    ("make", "target"),
    [(of_columns, "hip:gfx942"), (chunks, "hip:gfx942"), (chunks, "hip:gfx950")],
)
def test_tiles_meet_in_fewer_banks(make, target: str) -> None:
    kernel = make(target)
    before, after = conflicts(kernel), conflicts(kernel, WANTED)
    assert after * 2 < before
    # The products, and the bytes that are moved for them, are the same.
    machine = patched(kernel), patched(kernel, WANTED)
    assert len({counts["mfma"] for counts in machine}) == 1
    assert machine[0] != machine[1]


@pytest.mark.compile
@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (product("cuda:90"), "TMA from Hopper on read layouts of their own"),
        (product("cuda:80"), "no tile has a layout that costs less"),
        (product("hip:gfx942"), "no tile has a layout that costs less"),
    ],
    ids=["sm_90", "sm_80", "gfx942"],
)
def test_where_nothing_is_better_the_reason_is_said(kernel: CompiledKernel, reason: str) -> None:
    with pytest.raises(BlockedError, match=reason):
        patched(kernel, WANTED)


def padded(tile: str) -> Wanted:
    return "shared_layout", tile, {"kind": "padded", "interval": 32, "padding": 16}


def figures(kernel: CompiledKernel, *wanted: Wanted) -> dict[str, set[int]]:
    """What accesses to each tile take."""
    found: dict[str, set[int]] = {}
    for row in predicted(assembly(kernel, *wanted)["ttgir"], kernel.target):
        found.setdefault(row.buffer, set()).add(row.simulated)
    return found


@pytest.mark.compile
def test_a_tile_that_a_hint_lays_out_is_left_out_and_no_other() -> None:
    kernel = of_columns("hip:gfx942")
    inferred = figures(kernel, WANTED)
    assert inferred["B_shared"] != figures(kernel)["B_shared"]
    assert figures(kernel, padded("A_shared"), WANTED)["B_shared"] == inferred["B_shared"]
    assert "padded_shared<[32:+16]" in assembly(kernel, padded("A_shared"), WANTED)["ttgir"]
    hinted = figures(kernel, padded("B_shared"))
    assert hinted["B_shared"] != inferred["B_shared"]
    with pytest.raises(BlockedError, match="no tile has a layout that costs less"):
        patched(kernel, padded("B_shared"), WANTED)


@pytest.mark.compile
def test_what_nobody_asked_for_is_reported_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    kernel = transpile(gemm, target="hip:gfx942", M=256, N=256, K=256, block_N=128, block_K=32)
    (patch,) = json.loads(compiled_as_emitted(kernel).metadata.tile2triton)["patches"]
    assert not patch["applied"]
    assert "no tile has a layout that costs less" in patch["reason"]
    assert not [one for one in recwarn if "not applied" in str(one.message)]
