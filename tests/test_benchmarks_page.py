"""The page of the benchmarks: what a report becomes."""

from benchmarks import run
from benchmarks.measure import Row
from benchmarks.pool import Outcome
from benchmarks.workloads import WORKLOADS
from scripts.benchmarks_page import results_section


def test_a_report_becomes_a_table(monkeypatch) -> None:
    monkeypatch.setattr(run, "gpu", lambda: "NVIDIA H200")
    workload = WORKLOADS["softmax"]
    # 4800 GB/s are what the chip can do by its data sheet.
    time = workload.work / 4800e9 * 1e3
    rows = [
        Row("triton", "triton", {}, 0.0, [2 * time], [time]),
        Row("tile2triton", "tile2triton", {}, 0.0, [2.5 * time], [1.25 * time]),
        Row("tile2triton whole", "tile2triton", {}, 0.0, [2 * time], [2 * time]),
        Row("torch", "torch", {}, 0.0, [4 * time]),
        Row("tilelang", "tilelang", excluded="no configuration runs"),
    ]
    machine = {"gpu": "NVIDIA H200", "triton_module": "3.6.0", "time": "now", "command": ["x"]}
    report = {"machine": machine, "workloads": [run.summary(workload, Outcome("softmax", rows))]}
    assert results_section(report).splitlines()[-3:] == [
        "|---|--:|--:|--:|--:|--:|",
        "| softmax, GB/s | 2400 | 1.00 | 0.50 |  | 50% |",
        "| in a graph | 4800 | 0.80 |  |  | 80% |",
    ]
