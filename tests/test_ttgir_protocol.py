"""Patched kernels and Triton's caches, other hooks, compilers that crash, and no tile2triton."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime import driver

from tests.patch_worker import add_kinds
from tests.patched import (
    asked,
    compile_imported,
    compiled,
    emitted,
    imported,
    product,
    stock,
)
from tests.warm_process import run_warm
from tile2triton import compile_pool
from tile2triton.compile_check import check
from tile2triton.compile_job import Job
from tile2triton.compile_process import CompileProcess
from tile2triton.compile_worker import compile_job
from tile2triton.environment import patch_seconds
from tile2triton.posing.driver import Driver
from tile2triton.runtime import load
from tile2triton.targets import target
from tile2triton.ttgir import patch, registry, stages, trial
from tile2triton.ttgir.outcome import Outcome
from tile2triton.ttgir.patches import KINDS
from tile2triton.ttgir.patching import Request

# Small tiles compile in half a second.
KERNEL = product("cuda:80", block=64)
compiles = pytest.mark.compile
DEEP = ("load_latency", "A_shared", {"stages": 4})
DEEPER = ("load_latency", "A_shared", {"stages": 5})
AHEAD = ("load_latency", "B_shared", {"stages": 3})


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "tile2triton"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", None)
    monkeypatch.setattr(stages, "_WARNED", set())
    monkeypatch.setattr(trial, "WORKER", "tests.patch_worker")
    kinds = dict(KINDS)
    add_kinds()
    yield
    KINDS.clear()
    KINDS.update(kinds)


@pytest.fixture
def all_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patches are applied without a trial, which takes longer than all else."""

    def passed(text: str, requests: Sequence[Request], *_: Any) -> Outcome:
        return Outcome(tuple(range(len(requests))), {})

    monkeypatch.setattr(stages, "try_patches", passed)


def applied(kernel: Any) -> list[bool]:
    """What the metadata of a compiled kernel say of each of its patches."""
    return [one["applied"] for one in json.loads(kernel.metadata.tile2triton)["patches"]]


@compiles
@pytest.mark.usefixtures("all_pass")
def test_variants_of_a_kernel_share_no_binary(tmp_path: Path) -> None:
    plain, deep, deeper = compiled(KERNEL), compiled(KERNEL, DEEP), compiled(KERNEL, DEEPER)
    copies = [one.asm["ptx"].count("cp.async.cg") for one in (plain, deep, deeper)]
    assert copies == sorted(set(copies))
    assert len({plain.hash, deep.hash, deeper.hash}) == 3
    assert not hasattr(plain.metadata, "tile2triton")
    assert applied(deep) == applied(deeper) == [True]
    names = [one.metadata.name for one in (plain, deep, deeper)]
    assert [name.partition("__")[0] for name in names] == ["gemm_kernel"] * 3
    assert len(set(names)) == 3
    # Another process finds each of them, without a trial, and knows what was applied.
    for wanted, known in (([], plain), ([DEEP], deep)):
        run = run_warm(["tests.patched_variant", json.dumps(wanted)], tmp_path)
        assert run.returncode == 0, run.stderr
        hits, digest, told = json.loads(run.stdout)
        assert hits == [True] and digest == known.hash
        assert told == getattr(known.metadata, "tile2triton", "")


@compiles
@pytest.mark.usefixtures("all_pass")
def test_launches_of_variants_share_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_active", Driver(target("cuda:80")))
    kernels = [launched(imported(KERNEL, *wanted)) for wanted in ((), (DEEP,), ())]
    # Triton 3.9 compiles a kernel once more where there is a hook.
    assert kernels[1].hash not in (kernels[0].hash, kernels[2].hash)
    copies = [one.asm["ptx"].count("cp.async.cg") for one in kernels]
    assert copies[0] == copies[2] < copies[1]


def launched(made: tuple[ModuleType, Job]) -> Any:
    """What a launch of an emitted module's kernel compiles."""
    module, job = made
    options = {**job.constants, **job.options, "enable_fp_fusion": True}
    pointers = [torch.float16] * len(job.types)
    return getattr(module, job.kernel).warmup(*pointers, grid=(1,), **options)


@compiles
@pytest.mark.usefixtures("all_pass")
def test_hooks_of_others_stay_in_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def other(name: str) -> Any:
        def hook(*arguments: Any) -> tuple[str, int]:
            seen.extend([name] if arguments else [])
            return name, 1

        return hook

    triton.knobs.runtime.add_stages_inspection_hook = other("earlier")
    assert applied(compiled(KERNEL, DEEP)) == [True]
    assert seen == ["earlier"]
    made = imported(KERNEL, DEEPER)
    triton.knobs.runtime.add_stages_inspection_hook = other("later")
    monkeypatch.setattr(driver, "_active", Driver(target("cuda:80")))
    assert applied(launched(made)) == [True]
    assert seen == ["earlier", "later"]


@compiles
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("crash", r"the compiler ended abruptly \(exit -6\)"),
        ("hang", "compiling took longer than 6 s and was stopped"),
        ("miscount", "found 3 of 1 loads"),
        ("fail_later", "PassManager::run failed"),
    ],
)
def test_patch_that_fails_leaves_the_stock_kernel(
    monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    monkeypatch.setenv("TILE2TRITON_PATCH_SECONDS", "6")
    with pytest.warns(RuntimeWarning, match=rf"line 1: T.hint\(A_shared\): .*: {reason}") as told:
        made = compiled(KERNEL, (kind, "A_shared", {}))
    assert len(told) == 1
    assert applied(made) == [False]
    assert instructions(made) == instructions(compiled(KERNEL))


class CrashingCompiler(CompileProcess):
    """The process that compiles kernels for reports, with patches that crash."""

    def __init__(self) -> None:
        super().__init__()
        self.module = "tests.patched_compiler"


@compiles
def test_check_leaves_out_what_a_run_would_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_pool, "CompileProcess", CrashingCompiler)
    wanted = asked(KERNEL, DEEP, ("crash", "B_shared", {}))
    (report,) = check(*emitted(KERNEL, wanted), ("cuda:80",))
    assert report.ok
    reason = "the compiler ended abruptly (exit -6)"
    assert report.left_out == (f"crash of B_shared (line 2: T.hint(B_shared)): {reason}",)
    assert report.instructions["cp.async"] > stock(KERNEL)["cp.async"]


def instructions(kernel: Any) -> list[str]:
    """The instructions of a kernel, without lines of its file and its name."""
    text = kernel.asm["ptx"].replace(kernel.metadata.name, "kernel")
    return re.findall(r"^\s+(?:@\S+ )?[a-z][^/\n]*;", text, re.MULTILINE)


def test_patch_that_crashes_spares_the_others() -> None:
    """The compiler of this test dies where it is given the second of three patches."""

    def ask(requests: Any) -> dict[str, Any]:
        kinds = [request.kind for request in requests]
        if "bad" in kinds:
            return {"error": "the compiler ended abruptly"}
        if "illegal" in kinds:
            return {"blocked": kinds.index("illegal"), "reason": "not on this chip"}
        return {"shared memory": 100 * len(kinds), "seconds": 0.5}

    requests = [Request(kind, "x", {}) for kind in ("good", "bad", "fine", "illegal")]
    outcome = trial.settle(ask, requests, 1000)
    assert outcome.applied == (0, 2)
    assert outcome.refused == {1: "the compiler ended abruptly", 3: "not on this chip"}
    assert (outcome.before, outcome.after) == ({"shared memory": 0}, {"shared memory": 200})
    assert Outcome.from_json(outcome.to_json(requests), requests) == outcome
    # More shared memory than the chip has is as bad as a crash.
    assert trial.settle(ask, requests[:1], 50).applied == ()


def test_patch_is_left_out_where_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(trial, "WorkerProcess", fails)
    options = CUDAOptions(arch="sm80")
    outcome = trial.try_patches("", [Request(*DEEP)], GPUTarget("cuda", 80, 32), options)
    assert "could be started to try it: Resource temporarily" in outcome.refused[0]
    assert not outcome.is_lasting


def test_limit_that_a_kernel_nearly_takes_alone_decides_nothing() -> None:
    def ask(requests: Any) -> dict[str, Any]:
        if requests:
            return {"error": "took longer", "hung": True}
        return {"shared memory": 0, "seconds": seconds}

    for seconds in (1.0, 60.0):
        assert trial.settle(ask, [Request(*DEEP)], 1000).is_lasting == (seconds == 1.0)


@compiles
@pytest.mark.filterwarnings("ignore:line 1:RuntimeWarning")
def test_failure_that_may_pass_is_in_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = compiled(KERNEL, AHEAD)
    monkeypatch.setenv("TILE2TRITON_PATCH_SECONDS", "0.01")
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", f"{triton.knobs.cache.dir}_of_trials")
    assert applied(compiled(KERNEL, DEEP)) == [False]
    # What is kept already stays as it is.
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert applied(compiled(KERNEL, AHEAD)) == [False]
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE")
    monkeypatch.delenv("TILE2TRITON_PATCH_SECONDS")
    assert applied(compiled(KERNEL, DEEP)) == [True]
    again = compiled(KERNEL, AHEAD)
    assert again.hash == kept.hash and again.asm["ptx"] == kept.asm["ptx"]


@compiles
@pytest.mark.usefixtures("all_pass")
def test_hook_of_another_leaves_no_unpatched_kernel() -> None:
    made = imported(KERNEL, DEEP)
    triton.knobs.runtime.add_stages_inspection_hook = lambda *_: ("", 0)
    assert applied(compile_imported(KERNEL, *made)) == [True]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"patches": [], "before": {}, "after": {}}',
        '{"patches": [{"applied": true, "reason": ""}], "before": {}, "after": {}}',
        '{"patches": 3, "before": {}, "after": {}}',
        '{"patches": [], "before": [], "after": {"ptx": "many"}}',
    ],
)
def test_damaged_outcome_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        Outcome.from_json(text, [Request(*DEEP)])


@pytest.mark.parametrize("given", ["abc", "-1", "0", "nan", "inf"])
def test_limit_that_is_no_number_is_the_default(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("TILE2TRITON_PATCH_SECONDS", given)
    with pytest.warns(RuntimeWarning, match=f"PATCH_SECONDS={given} is no number of seconds"):
        assert patch_seconds() == 180


@compiles
def test_what_a_trial_found_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    first = compiled(KERNEL, AHEAD)
    monkeypatch.setattr(trial, "WORKER", "tests.no_such_module")
    again = compiled(KERNEL, AHEAD)
    assert applied(first) == applied(again) == [True]


def test_emitted_file_needs_no_tile2triton(tmp_path: Path) -> None:
    text, _ = emitted(KERNEL, asked(KERNEL, DEEP))
    (tmp_path / "gemm.py").write_text(text)
    program = """
import sys
sys.modules["tile2triton"] = None
import gemm, triton
assert gemm.gemm_kernel.repr(None).endswith("gemm_kernel"), gemm.gemm_kernel.repr(None)
assert triton.knobs.runtime.add_stages_inspection_hook is None
"""
    (tmp_path / "program.py").write_text(program)
    run = run_warm(["program"], tmp_path)
    assert run.returncode == 0, run.stderr


def test_emitted_file_runs_on_the_cpu_as_before() -> None:
    kernel = product("cuda:80", size=128, block=64)
    text, facts = emitted(kernel, asked(kernel, DEEP, ("gemm_warps", "C_local", {})))
    plain, _ = emitted(kernel)
    A, B = (torch.randn(128, 128, dtype=torch.float16) for _ in range(2))
    assert "patch(" in text and "patch(" not in plain
    assert torch.equal(load(text, facts.name)(A, B), load(plain, facts.name)(A, B))


def test_kernels_of_tritons_interpreter_are_left_alone() -> None:
    before = dict(registry.REQUESTS)
    patch(lambda: None, ("load_latency", "x", {"stages": 2}))
    assert before == registry.REQUESTS


def test_words_of_a_hint_do_not_make_another_kernel() -> None:
    one, other = (Request(*DEEP, construct) for construct in ("line 1: a", "line 2: b"))
    assert one.identity == other.identity != Request(*DEEPER).identity


@compiles
def test_only_a_compile_for_a_report_tries_patches_in_its_own_process() -> None:
    """Behind it, a patch that crashes ends another process again."""
    _, job = imported(KERNEL, DEEP)
    compile_job(asdict(job))
    with pytest.warns(RuntimeWarning, match="the compiler ended abruptly"):
        assert applied(compiled(KERNEL, ("crash", "A_shared", {}))) == [False]
