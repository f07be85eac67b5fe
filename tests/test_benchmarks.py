"""The benchmarks themselves: the hand-written Triton is right, a bad configuration is a row."""

import dataclasses
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import triton

from benchmarks import best, measure, run
from benchmarks.contest import Call, Config, Contestant, Inputs, Workload
from benchmarks.count_lines import PAIRS, TILES, TRITON, count
from benchmarks.plot import bars
from benchmarks.pool import Outcome, Task, run_all
from benchmarks.roofline import part_of_peak
from tests.child_process import environment_of_a_child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.limit], ids=lambda pair: pair.name)
def test_a_tile_program_is_shorter_than_triton_by_hand(pair) -> None:
    tile = count(TILES / f"{pair.tile_file}.py", pair.tile_functions)
    hand = count(TRITON / f"{pair.hand_file}.py", pair.hand_functions)
    assert tile / hand <= pair.limit


def test_every_algorithm_has_a_program_of_at_most_60_percent() -> None:
    short = [pair for pair in PAIRS if pair.limit and pair.limit <= 0.60]
    assert {pair.hand_functions for pair in short} == {pair.hand_functions for pair in PAIRS}
    # Attention by pointers is that by descriptors once more.
    files = {path.stem for path in TRITON.glob("*.py")} - {"__init__", "attention_pointers"}
    assert {pair.hand_file for pair in short} == files


def test_lines_in_another_file_are_counted(tmp_path) -> None:
    (tmp_path / "one.py").write_text("def f():\n    return 1\n")
    (tmp_path / "two.py").write_text("def f():\n    return 2\n\n\ndef g():\n    return f()\n")
    assert count(tmp_path / "two.py", ("g", "one.f")) == 4


def test_lines_without_code_are_not_counted(tmp_path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        '@jit\ndef f(\n    x,\n):\n    """Doc\n    string."""\n\n    # Why.\n    return x\n'
    )
    assert count(path, ("f",)) == 5


@pytest.mark.skipif(
    triton.__version__ < "3.7" and np.lib.NumpyVersion(np.__version__) >= "2.4.0",
    reason="the interpreter of Triton 3.6 fails on loops with NumPy 2.4",
)
def test_hand_written_triton_is_right() -> None:
    """In a process of its own: what Triton compiles to is chosen when a kernel is defined."""
    environment = environment_of_a_child(TRITON_INTERPRET="1")
    command = [sys.executable, "-m", "tests.hand_written"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.compile
@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
def test_hand_written_triton_compiles_for_hopper() -> None:
    from benchmarks.compile_only import compile_only
    from benchmarks.handwritten import attention, gemm

    matrix = torch.empty((512, 512), dtype=torch.bfloat16)
    heads = torch.empty((1, 512, 4, 128), dtype=torch.bfloat16)
    with compile_only() as compiled:
        gemm.gemm_tma(matrix, matrix, True, **gemm.CONFIGS[0])
        gemm.gemm_pointers(matrix, matrix, False, **gemm.CONFIGS[0])
        attention.attention_tma(heads, heads, heads, True, "bshd", **attention.CONFIGS[0])
        attention.attention_rotated(
            heads, heads, heads, False, "bshd", **attention.ROTATED_CONFIGS[1]
        )
    assert len(compiled) == 4
    for kernel in compiled:
        assert "wgmma" in kernel.asm["ptx"]
        assert kernel.metadata.shared <= 227 * 1024


def test_every_task_has_an_outcome_whatever_becomes_of_it() -> None:
    tasks = [
        Task("good", abs, (-3,), 30.0),
        Task("raises", exec, (r"raise ValueError('no such tile\nand more')",), 30.0),
        Task("dies", os._exit, (7,), 30.0),
        Task("hangs", time.sleep, (100.0,), 1.0),
        Task("after", abs, (-4,), 30.0),
    ]
    outcomes = {outcome.key: outcome for outcome in run_all(tasks, processes=1)}
    assert outcomes["good"].value == 3
    assert outcomes["raises"].error == "ValueError: no such tile"
    assert outcomes["dies"].error == "the process died (7)"
    assert outcomes["hangs"].error == "no answer in 1 s"
    assert outcomes["after"].value == 4


def fake_workload(*contestants: Contestant) -> Workload:
    return Workload(
        "doubling",
        inputs=lambda: (torch.arange(4.0),),
        reference=lambda inputs: inputs[0] * 2,
        contestants=contestants,
        work=1e9,
        unit="GB/s",
        tolerance=1e-3,
    )


def scaled_by(scale: float) -> Contestant:
    """Right for scale 2; the configuration says how long it takes."""
    configs = ({"milliseconds": 3}, {"milliseconds": 1}, {"milliseconds": 2})

    def build(inputs: Inputs, config: Config) -> Call:
        call = partial(torch.mul, inputs[0], scale)
        call.milliseconds = config["milliseconds"]  # type: ignore[attr-defined]
        return call

    return Contestant(f"times {scale}", "triton", build, configs)


def test_the_fastest_right_configuration_is_chosen_and_a_wrong_contestant_excluded(
    monkeypatch,
) -> None:
    contestants = (scaled_by(2.0), scaled_by(2.1), scaled_by(float("nan")))
    workload = fake_workload(*contestants)
    monkeypatch.setitem(measure.WORKLOADS, "doubling", workload)
    monkeypatch.setattr(measure, "do_bench", lambda call, **_: float(call.milliseconds))
    configs = {contestant.name: list(contestant.configs) for contestant in contestants}
    right, wrong, not_finite = measure.measure("doubling", configs, quick=False)
    assert (right.config, right.milliseconds) == ({"milliseconds": 1}, [1.0, 1.0, 1.0])
    assert wrong.excluded == "relative error 5.0e-02 > 1e-03"
    assert not_finite.excluded == "relative error inf > 1e-03"
    assert not wrong.milliseconds


def test_a_configuration_whose_bits_move_is_a_race(monkeypatch) -> None:
    def build(inputs: Inputs, config: Config) -> Call:
        calls = itertools.count()

        def call() -> torch.Tensor:
            # Moves by less than the tolerance.
            return inputs[0] * 2 + next(calls) * config["milliseconds"] % 2 * 1e-6

        call.milliseconds = config["milliseconds"]  # type: ignore[attr-defined]
        return call

    fast, steady = {"milliseconds": 1}, {"milliseconds": 2}
    contestants = tuple(
        Contestant(name, "triton", build, configs)
        for name, configs in (("both", (fast, steady)), ("racing", (fast,)))
    )
    monkeypatch.setitem(measure.WORKLOADS, "doubling", fake_workload(*contestants))
    monkeypatch.setattr(measure, "do_bench", lambda call, **_: float(call.milliseconds))
    configs = {contestant.name: list(contestant.configs) for contestant in contestants}
    both, racing = measure.measure("doubling", configs, quick=True)
    assert both.config == steady
    assert racing.excluded == "10 of 20 runs differ: a race"
    sums_in_any_order = dataclasses.replace(fake_workload(*contestants), is_repeatable=False)
    monkeypatch.setitem(measure.WORKLOADS, "doubling", sums_in_any_order)
    assert measure.measure("doubling", configs, quick=True)[0].config == fast


def test_several_results_may_come_as_a_list(monkeypatch) -> None:
    """As kernels give them; one that is not finite is wrong in any of them."""

    def build(inputs: Inputs, config: Config) -> Call:
        return lambda: [inputs[0] * 2, inputs[0] + 1]

    def build_not_finite(inputs: Inputs, config: Config) -> Call:
        return lambda: [inputs[0] * 2, inputs[0] / 0]

    contestants = (
        Contestant("list", "triton", build),
        Contestant("not finite", "triton", build_not_finite),
    )
    workload = dataclasses.replace(fake_workload(*contestants), part=lambda output: output[0])
    monkeypatch.setitem(measure.WORKLOADS, "doubling", workload)
    monkeypatch.setattr(measure, "do_bench", lambda call, **_: 1.0)
    configs = {contestant.name: [{}] for contestant in contestants}
    right, wrong = measure.measure("doubling", configs, quick=True)
    assert (right.error, right.milliseconds) == (0.0, [1.0])
    assert wrong.excluded == "relative error inf > 1e-03"


def test_rates_are_a_part_of_what_the_chip_can_do(monkeypatch) -> None:
    assert part_of_peak(494.75, "16-bit", "NVIDIA H200") == 0.5
    assert part_of_peak(1.0, "16-bit", "AMD Instinct MI300X") is None
    monkeypatch.setattr(run, "gpu", lambda: "NVIDIA H200")
    rows = [measure.Row("fast", "triton", {}, 1e-4, [0.5])]
    entry = run.summary(fake_workload(), Outcome("doubling", rows))
    assert "2000.0  42 %  1.000" in run.table(entry)
    entry["rows"].append({"contestant": "torch", "kind": "torch", "ratio": 0.5})
    report = {"workloads": [entry], "machine": {}}
    assert bars(report) == [("doubling", "triton", 1.0), ("doubling", "torch", 0.5)]


def test_what_runs_from_a_graph_has_a_ratio_of_its_own() -> None:
    rows = [
        measure.Row("few", "triton", {}, 1e-4, [4.0, 4.0, 4.0], [2.0, 2.0, 2.0]),
        measure.Row("many", "triton", {}, 1e-4, [5.0, 5.0, 5.0], [1.0, 1.0, 1.0]),
        measure.Row("tile2triton", "tile2triton", {}, 1e-4, [2.0, 2.0, 2.0], [1.25, 1.25, 1.25]),
        measure.Row("torch", "torch", {}, 1e-4, [8.0, 8.0, 8.0]),
    ]
    entry = run.summary(fake_workload(), Outcome("doubling", rows))
    found = {row["contestant"]: row.get("in graph", {}).get("ratio") for row in entry["rows"]}
    assert found == {"few": 0.5, "many": 1.0, "tile2triton": 0.8, "torch": None}
    line = run.table(entry).splitlines()[2]
    assert "2.0000 ms    500.0  2.000 | graph   1.2500 ms    800.0  0.800" in line
    assert bars({"workloads": [entry]}) == [
        ("doubling", "tile2triton", 2.0),
        ("doubling", "triton", 1.0),
        ("doubling", "torch", 0.5),
        ("doubling, in a graph", "tile2triton", 0.8),
        ("doubling, in a graph", "triton", 1.0),
    ]


def test_a_failing_graph_leaves_the_times_as_launched(monkeypatch) -> None:
    monkeypatch.setattr(measure, "in_graph", lambda call: None)
    monkeypatch.setattr(measure, "do_bench", lambda call, **_: 1.0)
    workload = dataclasses.replace(fake_workload(scaled_by(2.0)), is_small=True)
    monkeypatch.setitem(measure.WORKLOADS, "doubling", workload)
    (row,) = measure.measure("doubling", {"times 2.0": [{"milliseconds": 1}]}, quick=True)
    assert (row.milliseconds, row.graph, row.excluded) == ([1.0], [], "")


def test_a_graph_with_another_result_is_excluded(monkeypatch) -> None:
    monkeypatch.setattr(measure, "in_graph", lambda call: lambda: call() * float("nan"))
    workload = dataclasses.replace(fake_workload(scaled_by(2.0)), is_small=True)
    monkeypatch.setitem(measure.WORKLOADS, "doubling", workload)
    (row,) = measure.measure("doubling", {"times 2.0": [{"milliseconds": 1}]}, quick=True)
    assert row.excluded == "relative error inf > 1e-03"


def test_what_was_the_fastest_is_kept_and_searched_first(tmp_path) -> None:
    row = measure.Row("hand", "triton", {"a": 2}, finalists=[{"a": 2}, {"a": 3}, {"a": 1}])
    gone = measure.Row("gone", "triton", excluded="no configuration runs")
    entry = run.summary(fake_workload(), Outcome("doubling", [row, gone]))
    path = tmp_path / "best.json"
    best.save(path, "chip", [entry])
    best.save(path, "other chip", [])
    best.save(path, "chip", [{**entry, "workload": "tripling"}])
    found = {"hand": [{"a": 2}, {"a": 3}]}
    assert best.load(path) == {"chip": {"doubling": found, "tripling": found}, "other chip": {}}
    configs = ({"a": 1}, {"a": 2}, {"a": 3})
    assert best.narrowed(configs, found["hand"]) == configs[1:]
    assert best.narrowed(configs, [{"a": 4}]) == configs


def test_parts_are_the_whole_together() -> None:
    names = [workload.name for workload in run.select([])]
    parts = [names[number - 1 :: count] for number, count in map(run.part, ("1/3", "2/3", "3/3"))]
    assert sorted(itertools.chain(*parts)) == sorted(names)
    with pytest.raises(ValueError):
        run.part("4/3")


def test_others_are_measured_where_tilelang_breaks_a_run(monkeypatch) -> None:
    asked = []

    def outcomes(tasks: list[Task], processes: int) -> Iterator[Outcome]:
        for task in tasks:
            asked.append(list(task.arguments[1]))
            broken = "tilelang" in task.arguments[1]
            value = None if broken else [measure.Row("triton", "triton")]
            yield Outcome(task.key, value, "no answer in 1 s" if broken else "")

    monkeypatch.setattr(run, "run_all", outcomes)
    configs = {"triton": [{}], "tilelang": [{}]}
    (found,) = run.measured({"doubling": configs}, quick=True)
    assert asked == [["triton", "tilelang"], ["triton"]]
    assert found.error == ""
    assert [row.contestant for row in found.value] == ["triton", "tilelang"]
    assert found.value[1].excluded == "with it: no answer in 1 s"


def test_the_table_shows_ratios_to_the_best_triton_by_hand() -> None:
    rows = [
        measure.Row("slow", "triton", {"BLOCK_M": 64}, 1e-4, [4.0, 4.0, 4.0]),
        measure.Row("fast", "triton", {"BLOCK_M": 128}, 1e-4, [2.0, 2.0, 2.0]),
        measure.Row("tile2triton", "tile2triton", {"block_M": 128}, 1e-4, [2.0, 2.5, 2.5]),
        measure.Row("broken", "torch", excluded="no configuration runs"),
    ]
    entry = run.summary(fake_workload(), Outcome("doubling", rows))
    assert run.table(entry).splitlines() == [
        "",
        "doubling [GB/s] ",
        "  fast                     2.0000 ms    500.0  1.000  error 1.0e-04  BLOCK_M=128",
        "  tile2triton              2.5000 ms    400.0  0.800  error 1.0e-04  block_M=128",
        "  slow                     4.0000 ms    250.0  0.500  error 1.0e-04  BLOCK_M=64",
        "  broken                 excluded: no configuration runs  ",
    ]
