"""`tile2triton bench`: a kernel beside a function of one's own, here in the interpreter."""

import json
from pathlib import Path

import pytest

from tile2triton.cli import main
from tile2triton.commands import bench

KERNELS = """
import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def scaled(A, factor=2):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            C[bx * 32 + i] = A[bx * 32 + i] * factor
    return C


@tile2triton.kernel
def in_place(A):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            A[bx * 32 + i] = A[bx * 32 + i] + 0.5
"""
KERNELS += """

@tile2triton.kernel
def both(A):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    C = T.empty((N,), T.float32)
    I = T.empty((N,), T.int32)
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            C[bx * 32 + i] = A[bx * 32 + i] * 2
            I[bx * 32 + i] = bx * 32 + i
            A[bx * 32 + i] = 1
    return C, I
"""
OTHERS = """
import random
import torch


def scaled(a):
    return a * 2


def wrong(a):
    return a * 2.1


def moving(a):
    return a * 2 + random.random() * 1e-6


def other_shape(a):
    return (a * 2)[:-1]


def failing(a):
    raise ValueError("no such size")


def in_place(a):
    a.add_(0.5)


def both(a):
    result = a * 2
    a.fill_(1)
    return result, torch.arange(len(a), dtype=torch.int32)


def leaves_a(a):
    return a * 2, torch.arange(len(a), dtype=torch.int32)


def shifted(a):
    result, indices = both(a)
    indices[3] += 1
    return result, indices


def two(a, b):
    return a


def half(a):
    return (a * 2).half()


def number(a):
    return 3.0
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setattr(bench, "_time", lambda one: float(len(one.results())))
    kernels, others = tmp_path / "kernels_to_bench.py", tmp_path / "by_hand.py"
    kernels.write_text(KERNELS)
    others.write_text(OTHERS)
    return str(kernels), str(others)


def run(files: tuple[str, str], kernel: str, function: str = "", *more: str) -> int:
    kernels, others = files
    against = f"{others}:{function}" if function else others
    return main(["bench", f"{kernels}:{kernel}", "--against", against, "--set", "N=100", *more])


def test_times_ratios_and_agreement(files, tmp_path, capsys) -> None:
    out = tmp_path / "figures.json"
    assert run(files, "scaled", "", "--json", str(out)) == 0
    first, second, verdict, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == "scaled 2.0000 ms speed 1.000 the same bits each time".split()
    assert second.startswith("by_hand.py")
    assert verdict == "results agree: 0.0e+00 of their norm apart, 2e-03 may be"
    report = json.loads(out.read_text())
    assert [one["milliseconds"] for one in report["contestants"]] == [[2.0] * 3] * 2


def test_what_changes_its_arguments_is_compared_by_them(files, capsys) -> None:
    assert run(files, "in_place") == 0
    assert "results agree" in capsys.readouterr().out


def test_all_that_is_returned_or_changed_is_compared(files, capsys) -> None:
    assert run(files, "both") == 0
    capsys.readouterr()
    assert run(files, "both", "leaves_a") == 1
    assert run(files, "both", "shifted") == 1
    assert capsys.readouterr().out.count("results DIFFER") == 2


def test_wrong_and_moving_results_fail(files, capsys) -> None:
    assert run(files, "scaled", "wrong") == 1
    assert "results DIFFER: 5.0e-02 of their norm apart" in capsys.readouterr().out
    assert run(files, "scaled", "moving") == 1
    assert "20 of 20 runs differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        ("scales", 2, "has no function `scales`; did you mean scaled?"),
        ("other_shape", 1, "other_shape gives float32[99] where scaled gives float32[100]"),
        ("half", 1, "half gives float16[100] where scaled gives float32[100]"),
        ("number", 1, "number gives a float that is no plain tensor where scaled gives float32"),
        ("two", 1, "two failed: TypeError"),
        ("failing", 1, "failing failed: ValueError: no such size"),
    ],
)
def test_what_cannot_be_compared_is_said(files, capsys, function, code, said) -> None:
    assert run(files, "scaled", function) == code
    assert said in capsys.readouterr().err


def test_one_kernel_is_named(files, capsys) -> None:
    kernels, others = files
    assert main(["bench", kernels, "--against", others]) == 2
    assert "has scaled, in_place, both: name one" in capsys.readouterr().err
