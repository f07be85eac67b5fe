"""Each patch shows in the machine code of each target that it is for; elsewhere it says why not."""

import pytest
import triton

from tests.patched import assembly, attention, patched, product, stock
from tile2triton.layouts.predicted import predicted
from tile2triton.layouts.warp_policy import shared_out
from tile2triton.ttgir.evidence import count
from tile2triton.ttgir.stages import BlockedError

pytestmark = pytest.mark.compile


@pytest.mark.parametrize(
    ("target", "instruction", "each"),
    # A copy of A_shared is 8 KiB: two times 16 bytes for each of 256 threads.
    [("cuda:80", "cp.async", 2), ("cuda:90", "TMA load", 1), ("cuda:100", "TMA load", 1)],
)
def test_one_load_has_more_stages_than_others(target: str, instruction: str, each: int) -> None:
    kernel = product(target)
    after = patched(kernel, ("load_latency", "A_shared", {"stages": 4}))
    # Two stages copy once before the loop, four copy three times.
    assert after[instruction] == stock(kernel)[instruction] + 2 * each


def test_load_that_is_not_asynchronous_goes_through_registers() -> None:
    kernel = product("cuda:80")
    after = patched(kernel, ("load_latency", "B_shared", {"async": False}))
    assert "ld.global" not in stock(kernel)
    assert after["ld.global"] > 0
    assert 0 < after["cp.async"] < stock(kernel)["cp.async"]


@pytest.mark.parametrize(
    ("target", "instruction", "unit"),
    [
        ("cuda:80", "ldmatrix", "mma.sync"),
        ("cuda:90", "wgmma", "TMA load"),
        ("hip:gfx942", "ds_read", "mfma"),
        ("hip:gfx950", "ds_read_tr", "mfma"),
    ],
)
def test_warps_share_out_columns(target: str, instruction: str, unit: str) -> None:
    kernel = product(target)
    before, after = stock(kernel), patched(kernel, ("gemm_warps", "C_local", {"policy": "FullCol"}))
    assert after[instruction] / after[unit] != before[instruction] / before[unit]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_products_of_one_kernel_differ_in_warps(target: str) -> None:
    kernel = attention(target)
    name = "mma.sync" if target == "cuda:80" else "wgmma"
    after = patched(kernel, ("gemm_warps", "scores", {"policy": "FullCol"}))
    # The weights change hands between the products: through shared memory.
    assert after["bar.sync"] > stock(kernel)["bar.sync"]
    assert after[name] >= stock(kernel)[name]


def test_wgmma_takes_four_warps_along_rows() -> None:
    assert shared_out("FullCol", (128, 128), (16, 8), 8, group=4) == (4, 2)
    assert shared_out("FullRow", (128, 128), (16, 8), 8, group=4) == (8, 1)
    assert shared_out("Square", (32, 128), (16, 8), 4, group=4) is None


def test_policies_leave_no_warp_without_work() -> None:
    assert shared_out("FullRow", (32, 128), (16, 8), 8) == (2, 4)
    assert shared_out("FullCol", (128, 16), (16, 8), 8) == (4, 2)
    assert shared_out("Square", (64, 256), (16, 8), 4) == (1, 4)


def schedule(**places: tuple[int, int]) -> dict[str, tuple[str | int, ...]]:
    """Stages and orders of variables, as a patch takes them."""
    kinds = (("stages", 0), ("orders", 1))
    return {
        kind: tuple(part for name, place in places.items() for part in (name, place[index]))
        for kind, index in kinds
    }


WIDE = {"kind": "swizzled", "bytes": 128}
PADDED = {"kind": "padded", "interval": 32, "padding": 8}
# A tile of 128x32: four parts of 16 bytes in a row, permuted by two bits of the row's number.
PERMUTED = tuple(
    part
    for row, column in (
        *((0, 1 << bit) for bit in range(5)),
        *((1 << bit, {4: 8, 5: 16}.get(bit, 0)) for bit in range(7)),
    )
    for part in (row, column)
)


def test_rows_that_are_not_permuted_need_no_arithmetic() -> None:
    kernel = product("cuda:80")
    for target, instruction in (("cuda:80", "xor"), ("hip:gfx942", "xor")):
        kernel = product(target)
        after = patched(kernel, ("shared_layout", "A_shared", {"kind": "none"}))
        assert after[instruction] < stock(kernel)[instruction]


def test_layout_may_be_any_exclusive_or() -> None:
    kernel = product("cuda:80")
    made = assembly(kernel, ("shared_layout", "A_shared", {"kind": "linear", "offsets": PERMUTED}))
    after = count(made)
    assert "#ttg.shared_linear<" in made["ttgir"]
    for instruction in ("cp.async 16", "ldmatrix"):
        assert after[instruction] == stock(kernel)[instruction]
    assert after["xor"] != stock(kernel)["xor"]


def test_rows_that_are_permuted_within_their_length_do_not_meet_in_banks() -> None:
    """The tiles have rows of 64 bytes, two of which all banks hold side by side."""
    made = assembly(
        product("cuda:80"), ("shared_layout", "A_shared", {"kind": "swizzled", "bytes": 64})
    )
    rows = [row for row in predicted(made["ttgir"]) if row.buffer == "A_shared"]
    assert rows and not any(row.conflicts for row in rows)


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_operands_of_matrix_units_are_permuted_in_narrower_rows(target: str) -> None:
    wanted = ("shared_layout", "K_shared", {"kind": "swizzled", "bytes": 64})
    kernel = attention(target)
    after = patched(kernel, wanted)
    assert "swizzle 64 B" not in stock(kernel)
    assert after["swizzle 64 B"] > 0 and after["swizzle 128 B"] > 0


def test_rows_are_padded_on_amd() -> None:
    for target in ("hip:gfx942", "hip:gfx950"):
        wanted = ("shared_layout", "A_shared", PADDED)
        kernel = product(target)
        if target == "hip:gfx950" and triton.__version__ >= "3.9":
            with pytest.raises(BlockedError, match="leave nothing free between rows"):
                patched(kernel, wanted)
            continue
        made = assembly(kernel, wanted)
        assert "padded_shared<[32:+8]" in made["ttgir"]
        assert made["shared memory"] > stock(kernel)["shared memory"]


@pytest.mark.parametrize("padding", [1, 4])
def test_gaps_that_rows_are_not_aligned_behind_are_refused(padding: int) -> None:
    wanted = ("shared_layout", "A_shared", {**PADDED, "padding": padding})
    reason = (
        f"rows {64 + 2 * padding} bytes apart are not aligned to the 16 bytes that a thread moves "
        "at once: leave 8 elements free"
    )
    with pytest.raises(BlockedError, match=reason):
        patched(product("hip:gfx942"), wanted)


def test_load_outside_of_loops_is_an_asynchronous_copy() -> None:
    kernel = attention("cuda:80")
    after = patched(kernel, ("async_outside_loop", "Q_shared", {}))
    # A copy of Q_shared is 16 KiB: four times 16 bytes for each of 256 threads.
    assert after["cp.async 16"] == stock(kernel)["cp.async 16"] + 4
    assert stock(kernel)["ld.global"] == 4 and "ld.global" not in after


def test_hopper_multiplies_as_ampere_does() -> None:
    after = patched(product("cuda:90"), ("mma_version", "C_local", {"version": 2}))
    assert "wgmma" in stock(product("cuda:90")) and "wgmma" not in after
    assert after["mma.sync"] > 0


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_matrix_cores_compute_smaller_tiles(target: str) -> None:
    after = patched(product(target), ("mfma_shape", "C_local", {"size": 16}))
    assert "mfma 32x32" in stock(product(target)) and "mfma 32x32" not in after
    assert after["mfma 16x16"] > 0


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_loads_write_to_lds_directly(target: str) -> None:
    wanted = ("direct_to_lds", "A_shared", {})
    if target == "hip:gfx950" and triton.__version__ >= "3.9":
        with pytest.raises(BlockedError, match="does so on gfx950 by itself"):
            patched(product(target), wanted)
        return
    after = patched(product(target), wanted)
    to_lds = ("buffer_load to lds", "global_load to lds")
    assert not any(name in stock(product(target)) for name in to_lds)
    assert any(name in after for name in to_lds)
    assert after.get("ds_write", 0) < stock(product(target))["ds_write"]


BACKWARDS = schedule(A_shared=(1, 0), B_shared=(0, 0), C_local=(0, 1))


@pytest.mark.parametrize(
    ("target", "instruction", "each"), [("cuda:80", "cp.async", 2), ("cuda:90", "TMA load", 1)]
)
def test_loads_of_a_loop_have_stages_of_their_own(target: str, instruction: str, each: int) -> None:
    kernel = product(target)
    places = schedule(A_shared=(0, 2), B_shared=(1, 0), C_local=(2, 1))
    after = patched(kernel, ("pipeline_schedule", "A_shared", places))
    # A is copied twice before the first turn, B once.
    assert after[instruction] == stock(kernel)[instruction] + each


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_first_product_of_attention_runs_a_turn_ahead(target: str) -> None:
    kernel = attention(target)
    places = schedule(K_shared=(0, 2), scores=(1, 0), V_shared=(1, 3), acc=(2, 1))
    wanted = ("pipeline_schedule", "K_shared", places)
    if target == "cuda:90" and triton.__version__ < "3.7":
        with pytest.raises(BlockedError, match="wgmma in the last stage of a loop only"):
            patched(kernel, wanted)
        return
    unit = "mma.sync" if target == "cuda:80" else "wgmma"
    # The product stands in front of the loop once, too.
    assert patched(kernel, wanted)[unit] > stock(kernel)[unit]


@pytest.mark.parametrize(
    ("target", "wanted", "reason"),
    [
        ("hip:gfx942", ("load_latency", "A_shared", {"stages": 3}), "the same number of stages"),
        ("cuda:90", ("load_latency", "X_shared", {"stages": 3}), "no load named `X_shared`"),
        # There is one load, and not two of which the first is meant.
        ("cuda:90", ("load_latency", "A_shared (1 of 2)", {"stages": 3}), r"`A_shared \(1 of 2\)`"),
        ("cuda:90", ("load_latency", "A_shared", {"stages": 99}), "1 to 16 stages, found 99"),
        ("cuda:90", ("load_latency", "A_shared", {"depth": 2}), "takes no `depth`"),
        ("cuda:100", ("gemm_warps", "C_local", {"policy": "FullRow"}), "one thread starts"),
        ("cuda:80", ("gemm_warps", "C_local", {"policy": "Diagonal"}), "found 'Diagonal'"),
        ("cuda:80", ("gemm_warps", "A_shared", {"policy": "FullRow"}), "no dot named `A_shared`"),
        ("cuda:80", ("fly", "A_shared", {}), "no patch `fly`"),
        ("hip:gfx942", ("pipeline_schedule", "A_shared", {}), "its own schedule of a loop"),
        ("cuda:100", ("pipeline_schedule", "A_shared", {}), "its own schedule of tcgen05"),
        ("cuda:80", ("pipeline_schedule", "A_shared", {}), "`stages` and `orders`"),
        ("cuda:80", ("direct_to_lds", "A_shared", {}), "asynchronous copies by themselves"),
        ("cuda:80", ("mma_version", "C_local", {"version": 2}), "only Hopper has matrix"),
        ("cuda:80", ("mfma_shape", "C_local", {"size": 16}), "sizes of their own"),
        ("hip:gfx942", ("mfma_shape", "C_local", {"size": 8}), "16x16 and 32x32, found 8"),
        ("cuda:80", ("async_outside_loop", "A_shared", {}), "that no loop copies ahead"),
        ("hip:gfx950", ("async_outside_loop", "A_shared", {}), "through registers"),
        ("cuda:90", ("shared_layout", "A_shared", PADDED), "take no padded rows"),
        ("cuda:90", ("shared_layout", "A_shared", {"kind": "none"}), "swizzled by 32, 64 or 128"),
        ("cuda:90", ("shared_layout", "A_shared", WIDE), "its rows are 64 bytes long"),
        ("cuda:80", ("shared_layout", "A_shared", WIDE), "its rows are 64 bytes long"),
        ("cuda:80", ("shared_layout", "A_shared", {"kind": "odd"}), "found 'odd'"),
        ("cuda:80", ("shared_layout", "Q_shared", {"kind": "none"}), "no load named `Q_shared`"),
        ("hip:gfx942", ("shared_layout", "A_shared", WIDE), "its own pattern"),
        ("cuda:80", ("pipeline_schedule", "A_shared", BACKWARDS), "would run behind"),
    ],
)
def test_what_cannot_be_patched_says_why(target: str, wanted: tuple, reason: str) -> None:
    with pytest.raises(BlockedError, match=reason):
        patched(product(target), wanted)
