"""Searching a space within a time, on a pretended machine that says how long schedules take."""

import dataclasses

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_tune_space import space
from tests.tuning_machine import IN_PROCESS, rated
from tile2triton.tune import TuningError
from tile2triton.tune.search import search
from tile2triton.tune.settings import Settings

QUICK = Settings(warmup=1, rep=1)


@pytest.fixture(autouse=True)
def directories(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TUNING_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TQDM_DISABLE", "1")


@pytest.fixture
def log(tmp_path):
    def lines():
        path = tmp_path / "log"
        return path.read_text().splitlines() if path.exists() else []

    return lines


@tile2triton.kernel(out_idx=[1])
def double(n, block=64, threads=128):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as x:
            for i in T.Parallel(block):
                C[x * block + i] = A[x * block + i] * 2

    return main


def machine(rate, **changes):
    return dataclasses.replace(IN_PROCESS, bench=lambda: rated(rate), **changes)


def tuned(rate, arguments=(1000,), seconds=60.0, **changes):
    found = space(double, *arguments)
    return search(found.subject, found, machine(rate, **changes), seconds, QUICK)


def by_block(config):
    block = int(config.get("tile", "{'block': 64}").split(":")[1].strip(" }"))
    warps = int(config.get("warps", 4))
    return 1 + abs(block - 256) / 256 + abs(warps - 2) / 2


def test_fastest_schedule_is_found():
    found = tuned(by_block)
    assert found.config == {"tile": {"block": 256}, "warps": 2}
    assert "block = 256" in found.kernel.triton_source
    assert found.latency == 1.0
    assert found.kernel(torch.ones(1000)).sum() == 2000


def test_the_program_as_it_is_comes_first_and_all_are_checked():
    report = tuned(by_block).report
    assert report.rows[0].config == {}
    assert report.rows[0].latency == by_block({})
    assert {row.error for row in report.rows if row.is_measured} == {0.0}
    assert len({str(row.config) for row in report.rows}) == len(report.rows)


def test_no_time_leaves_the_program_as_it_is():
    found = tuned(by_block, seconds=0.0)
    assert found.config == {}
    assert len(found.report.rows) == 1


def test_search_ends_where_nothing_becomes_better():
    found = tuned(lambda config: 1.0)
    assert found.config == {}
    # Two batches of sizes, and two of what is near the program as it is.
    assert 5 <= len(found.report.rows) <= 1 + 4 * 4


def test_fastest_few_are_timed_again(log):
    tuned(by_block)
    fastest = "{'tile': \"{'block': 256}\", 'warps': '2'}"
    assert sum(line.endswith(fastest) for line in log()) == 2


def test_what_is_wrong_crashes_or_is_refused_is_not_chosen():
    def rate(config):
        if config.get("warps") == "2":
            return {"wrong": "output 0: 3 % of the elements differ"}
        if config.get("warps") == "1":
            return {"error": "ended abruptly", "ended": True, "messages": ""}
        if config.get("warps") == "8":
            return {"error": "took longer", "ended": True, "hung": True, "messages": ""}
        return by_block(config)

    found = tuned(rate)
    assert found.config.get("warps", 4) in (4, 16)
    statuses = {row.config.get("warps"): row.status for row in found.report.rows}
    assert (statuses[1], statuses[2], statuses[8]) == ("crashes", "wrong", "hangs")
    with pytest.raises(TuningError, match=r"T2T544[\s\S]*differ"):
        tuned(lambda config: {"wrong": "all elements differ"}, seconds=0.0)


def test_results_are_kept_by_text_sizes_chip_and_time(log):
    first = tuned(by_block)
    ran = len(log())
    again = tuned(by_block)
    assert len(log()) == ran
    assert again.report.is_stored
    assert again.report == first.report
    assert again.config == first.config
    others = ({"seconds": 0.0}, {"arguments": (2000,)}, {"chip": "another chip"})
    for changes in others:
        tuned(by_block, **{"seconds": 0.0, **changes})
        assert len(log()) > ran
        ran = len(log())


def test_devices_share_the_work(log):
    tuned(by_block, devices=("cpu", "cpu:0"))
    assert {line.split()[1] for line in log()} == {"cpu", "cpu:0"}


def test_candidates_are_checked_against_the_meaning():
    found = space(double, 100)
    report = search(found.subject, found, IN_PROCESS, 0.0, QUICK).report
    assert report.rows[0].is_measured
    assert report.rows[0].error == 0.0

    def halved(A):
        return A / 2

    other = dataclasses.replace(QUICK, ref_prog=halved)
    with pytest.raises(TuningError, match="differ"):
        search(found.subject, found, IN_PROCESS, 0.0, other)
