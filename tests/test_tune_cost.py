"""What is expected of schedules: known-good ones rank high, impossible ones are left out."""

import dataclasses

import pytest

import tile2triton
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.test_schedules import product
from tests.test_tune_space import SIZES, half, space
from tile2triton.targets import TARGETS, target
from tile2triton.tune.cost import Ranked, Run, estimated, judged, ranked
from tile2triton.tune.counts import counted
from tile2triton.tune.space import Space

USUAL = Run(threads=256, stages=3)
H200 = target("cuda:90")


@dataclasses.dataclass(frozen=True)
class Known:
    """A space with its order, which takes a second to make."""

    space: Space
    order: list[Ranked]


@pytest.fixture(scope="module")
def of_gemm():
    return known(space(gemm, **dict.fromkeys(SIZES, 8192)))


@pytest.fixture(scope="module")
def of_attention():
    return known(space(flash_attention, 4, 8, 4096, 128))


def known(found):
    return Known(found, ranked(found))


def rank(found, **point):
    """Where in the order a point is, as a part of all that can be."""
    points = [one.point for one in found.order]
    return points.index({**found.space.usual, **point}) / len(points)


def work(kernel, *arguments, sizes=None, **keywords):
    return counted(space(kernel, *arguments, **keywords).program, sizes or {})


def time(launches, run=USUAL, chip=H200):
    return estimated(launches, chip, run).milliseconds


def test_operations_and_bytes_are_those_of_the_program(of_gemm):
    (one,) = counted(of_gemm.space.program, {"block_M": 64})
    assert one.grid == (32, 128)
    flops = sum(2 * it.rows * it.columns * it.contracted * it.times for it in one.products)
    assert one.programs * flops == pytest.approx(2 * 8192**3)
    assert one.moved == pytest.approx((64 + 256) * 8192 * 2 + 64 * 256 * 2)
    assert one.staged == (64 + 256) * 64 * 2
    assert one.sums == 64 * 256


def test_causal_loops_count_as_their_mean():
    full, causal = (
        work(flash_attention, 1, 8, 4096, 128, is_causal=flag)[0] for flag in (False, True)
    )
    products = [sum(it.times for it in one.products) for one in (full, causal)]
    assert products[0] == pytest.approx(2 * 32)
    assert 0.45 < products[1] / products[0] < 0.6


def test_both_forms_of_a_program_count_alike(of_gemm):
    (explicit,) = counted(of_gemm.space.program, {})
    (whole,) = work(tile2triton.kernel(product), half(8192, 8192), half(8192, 8192))
    assert whole.products == explicit.products
    assert whole.moved == pytest.approx(explicit.moved)


@pytest.mark.parametrize("stages", [3, 4])
def test_known_good_tiles_of_products_rank_high(of_gemm, stages):
    tiles = {"tile.block_M": 128, "tile.block_N": 256, "tile.block_K": 64}
    assert rank(of_gemm, **tiles, warps=8, pipeline=stages) < 0.25


@pytest.mark.parametrize("stages", [2, 3])
def test_known_good_tiles_of_attention_rank_high(of_attention, stages):
    tiles = {"tile.block_M": 128, "tile.block_N": 128}
    assert rank(of_attention, **tiles, warps=8, pipeline=stages) < 0.25
    assert rank(of_attention, **{"tile.block_M": 16, "tile.block_N": 16}, warps=8) > 0.5


def test_impossible_schedules_are_left_out_with_the_reason(of_gemm):
    sizes = ("tile.block_M", "tile.block_N", "tile.block_K", "warps", "pipeline")
    reasons = {
        tuple(one.point[name] for name in sizes): one.estimate.problem
        for one in judged(of_gemm.space)
    }
    assert reasons[128, 256, 64, 8, 3] == ""
    assert reasons[128, 256, 128, 8, 5] == "needs 384 KiB of shared memory; there are 227"
    assert reasons[256, 256, 64, 4, 2] == "sums need 536 registers of each thread; there are 255"
    # So many threads have fewer registers each.
    assert reasons[256, 256, 64, 16, 2] == "sums need 152 registers of each thread; there are 128"
    left = {tuple(one.point[name] for name in sizes) for one in of_gemm.order}
    assert left == {point for point, reason in reasons.items() if not reason}


@pytest.mark.parametrize("row", TARGETS, ids=lambda row: row.name)
def test_more_work_takes_longer_and_a_faster_chip_less(row):
    launches = [
        work(gemm, **{**SIZES, "M": rows}, sizes={"block_M": 64, "block_N": 64})
        for rows in (2048, 4096, 8192)
    ]
    times = [time(one, chip=row) for one in launches]
    assert times == sorted(times)
    assert times[-1] > 1.5 * times[0]
    doubled = dataclasses.replace(
        row,
        peaks=dataclasses.replace(
            row.peaks,
            matrix=tuple((kind, 2 * rate) for kind, rate in row.peaks.matrix),
            vector=2 * row.peaks.vector,
            memory=2 * row.peaks.memory,
            cache=2 * row.peaks.cache,
            clock=2 * row.peaks.clock,
        ),
    )
    assert time(launches[-1], chip=doubled) < times[-1]


def test_of_equals_the_nearest_to_the_program_as_it_is_comes_first(of_gemm):
    first = of_gemm.order[0]
    alike = [
        one.point
        for one in of_gemm.order
        if f"{one.estimate.milliseconds:.3g}" == f"{first.estimate.milliseconds:.3g}"
    ]
    assert len(alike) > 1
    kept = [sum(point[k] == v for k, v in of_gemm.space.usual.items()) for point in alike]
    assert kept[0] == max(kept)


def test_nothing_is_faster_than_the_roofline(of_gemm):
    least = 2 * 8192**3 / H200.peaks.matrix_units("float16") / 1e9
    assert min(one.estimate.milliseconds for one in of_gemm.order) > least


def test_stages_take_shared_memory_and_hide_loads():
    launches = work(gemm, **SIZES)
    made = [estimated(launches, H200, Run(256, stages)) for stages in (1, 2, 3, 4)]
    shared = [one.shared_memory for one in made]
    assert shared == sorted(set(shared))
    times = [one.milliseconds for one in made]
    assert times[0] > times[1]
    assert times == sorted(times, reverse=True)


def test_what_would_hardly_fit_comes_after_what_fits(of_gemm):
    tiles = {"tile.block_M": 128, "tile.block_N": 256, "tile.block_K": 128, "warps": 8}
    # Three stages of 96 KiB fit only if there are two tiles of each.
    assert rank(of_gemm, **tiles, pipeline=3) > rank(of_gemm, **tiles, pipeline=2)


def test_few_programs_gain_from_being_shared_out():
    launches = work(tile2triton.kernel(product), half(16, 8192), half(8192, 512))
    assert time(launches, Run(128, 3, parts=8)) < time(launches, Run(128, 3))


def test_panels_save_traffic_from_memory():
    # One row of programs covers more columns than the cache serves.
    launches = work(gemm, M=65536, N=65536, K=256, sizes={"block_M": 16, "block_N": 16})
    assert time(launches, Run(128, 3, panel=16)) <= time(launches, Run(128, 3, panel=1))


def test_spilling_costs_time(of_attention):
    launches = counted(of_attention.space.program, {"block_M": 128, "block_N": 128})
    assert estimated(launches, H200, Run(128, 2)).registers > 255
    assert time(launches, Run(128, 2)) > time(launches, Run(256, 2))
