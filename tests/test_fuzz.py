"""Random tile programs, by fixed seeds: the reference meaning and the interpreter agree."""

from dataclasses import replace

import pytest
import torch

from rewrites.facts import Facts
from tests.fuzz.compiling import Compiler
from tests.fuzz.generate import program
from tests.fuzz.outcome import compared, outcome
from tests.fuzz.run import target
from tests.fuzz.shrink import shrink
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.operators import TABLE

# `python -m tests.fuzz` runs as many more as one likes.
SEEDS = range(200)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 20))
def test_random_programs_agree(first: int) -> None:
    kinds = []
    for seed in SEEDS[first : first + 20]:
        text = program(seed)
        found = outcome(text, seed, target=target(seed))
        assert not found.is_failure, f"seed {seed}: {found.detail}\n{text}\n{found.triton}"
        kinds.append(found.kind)
    # A program that is refused tells nothing, so few may be.
    assert kinds.count("agree") >= 17, kinds


def test_program_of_a_seed_is_always_the_same() -> None:
    assert program(7) == program(7)
    assert program(7) != program(8)


SMALL = """
import tile2triton.language as T
SIZES = {"n": 3}
block_M = 8
@T.prim_func
def kernel(A: T.Tensor((block_M,), "int32"), O0: T.Tensor((block_M,), "int32"), n: T.int32):
    with T.Kernel(1, threads=128) as bx:
        t0 = T.alloc_shared((block_M,), "int32")
        T.copy(A, t0)
        for i in T.Parallel(block_M):
            t0[i] = T.max(t0[i] + i, n)
        T.copy(t0, O0)
"""


def test_wrong_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(SMALL).kind == "agree"
    wrong = replace(TABLE["max"], reference=TABLE["min"].reference)
    monkeypatch.setitem(TABLE, "max", wrong)
    assert outcome(SMALL).kind == "differ"


def test_program_that_reads_what_nothing_wrote_is_undefined() -> None:
    found = outcome(SMALL.replace("T.copy(A, t0)", "T.copy(A, O0)"))
    assert (found.kind, found.reason) == ("undefined", "unset")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [("t0[i] + i", "t0[i] / i", "refused"), ("SIZES = {", "SIZES = 1, {", "crash")],
)
def test_other_ends_are_told_apart(old: str, new: str, kind: str) -> None:
    assert outcome(SMALL.replace(old, new)).kind == kind


def test_one_element_that_differs_is_told() -> None:
    a = torch.zeros(3, 4)
    b = a.clone()
    b[1, 2] = 1e-3
    assert compared("O0", a, a.clone()) == ""
    assert compared("O0", a, b).startswith("O0[1, 2] is")
    assert compared("R0", a, b).startswith("R0[1, 2] is")
    assert compared("R0", a, b * 0.1) == ""


def test_shrinking_keeps_the_reason() -> None:
    least = shrink(SMALL, lambda text: "T.max" in text and outcome(text).kind == "agree")
    assert "T.max" in least
    assert len(least.splitlines()) < len(SMALL.splitlines())
    assert "T.copy" not in least


@pytest.mark.compile
def test_what_does_not_compile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler("cuda:90")
    assert compiler.outcome(SMALL).kind == "agree"
    emitted = CompiledKernel.emitted_for

    def spoilt(kernel: CompiledKernel, target: str) -> tuple[str, Facts]:
        text, facts = emitted(kernel, target)
        return text.replace("tl.maximum(", "tl.maximal("), facts

    monkeypatch.setattr(CompiledKernel, "emitted_for", spoilt)
    found = compiler.outcome(SMALL)
    assert found.kind == "crash"
    assert "maximal" in found.detail
