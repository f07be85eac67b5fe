"""`python -m benchmarks.hangs`: what it runs, and what it counts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks import hangs
from benchmarks.hang_cases import made
from benchmarks.pool import Outcome
from tile2triton.simulation.check import FAULT

pytestmark = pytest.mark.slow


def test_without_a_gpu_it_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hangs, "has_gpu", lambda: False)
    monkeypatch.setattr("sys.argv", ["hangs"])
    assert hangs.main() == 2
    said = capsys.readouterr().err
    assert said == "benchmarks.hangs needs a GPU of sm_90, or --simulate\n"


def test_a_seed_is_one_case() -> None:
    first, again = (made(7, "cpu", True) for _ in range(2))
    assert first.what == again.what
    assert all(map(torch.equal, first.inputs, again.inputs))
    assert first.kernel.triton_source == again.kernel.triton_source
    # Those that tables steer have few names.
    assert len({made(seed, "cpu", True).what for seed in range(7, 12)}) > 2


def test_shapes_are_simulated_and_right() -> None:
    results = [hangs.tried(seed, 2, True) for seed in range(20, 26)]
    assert {one.how for one in results} <= {"right", "plain"}, results
    assert sum(one.launches for one in results if one.how == "right") >= 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x.index_fill(-1, torch.tensor([3]), 9.0), "a relative error of"),
        (lambda x: x.index_fill(-1, torch.tensor([3]), float("nan")), "elements are nan, not 0"),
    ],
)
def test_wrong_results_are_found(change: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = made(1, "cpu", True)
    true = case.wanted[0]
    monkeypatch.setattr(type(case), "simulate", lambda case, is_eager: (change(true),))
    how, why = hangs.judged(case, 1, True)
    assert how == "wrong" and said in why


def test_bits_that_change_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are close to what is right."""
    case = made(1, "cpu", True)
    results: Iterator[Any] = iter([case.wanted[0], case.wanted[0], case.wanted[0] * (1 + 1e-6)])
    monkeypatch.setattr(type(case), "launch", lambda case: (next(results),))
    assert hangs.judged(case, 2, False) == ("right", "")
    results = iter([case.wanted[0], case.wanted[0] * (1 + 1e-6)])
    assert hangs.judged(case, 2, False) == ("wrong", "launch 1 has other bits than the first")


def test_what_was_written_wrong_is_no_shape_that_stays_in_triton(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = made(1, "cpu", True)
    facts = case.kernel.lowered_facts
    hint = replace(facts.hint_report[-1], detail=f"`k`: {FAULT} a slot is read too early")
    facts.hint_report = [*facts.hint_report, hint]
    monkeypatch.setattr(hangs, "made", lambda *_: case)
    assert hangs.tried(1, 2, True).how == "broken"


@pytest.mark.parametrize(
    ("outcome", "said", "code"),
    [
        (Outcome(5, None, "no answer in 120 s"), "1 hung", 1),
        (Outcome(5, None, "the process died (-11)"), "1 died", 1),
        (Outcome(5, hangs.Result("x", 50, "wrong", "why")), "1 wrong", 1),
        (Outcome(5, hangs.Result("x", 50, "right")), "50 launches of 1 shapes", 0),
        (Outcome(5, hangs.Result("x", 0, "plain")), "1 left in plain Triton", 0),
    ],
)
def test_failures_are_counted_and_end_with_1(
    outcome: Outcome,
    said: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["hangs", "--simulate"])
    monkeypatch.setattr(hangs, "outcomes", lambda *_: iter([outcome]))
    assert hangs.main() == code
    printed = capsys.readouterr().out
    assert said in printed and ("--seed 5" in printed) == bool(code)
