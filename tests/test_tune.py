"""Tuning without a GPU: a pretended machine with real processes that hang, crash and are wrong."""

import dataclasses
import linecache
import math
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.child_process import environment_of_a_child
from tests.kernels.gemm_relu import gemm_relu
from tests.tuning_machine import IN_PROCESS, IN_PROCESSES, Inline, compiled
from tile2triton.supply import TensorSupplyType
from tile2triton.tune import (
    AutoTuner,
    ConfigError,
    TuningError,
    autotune,
    get_autotune_inputs,
    set_autotune_inputs,
    tuning,
)
from tile2triton.tune.measuring import MeasuringProcess

ROOT = Path(__file__).parent.parent
QUICK = {"warmup": 1, "rep": 1}
FAST, SLOW = {"block": 64, "pace": 1.0}, {"block": 32, "pace": 2.0}


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Tune on a pretended machine, with a cache directory of its own."""
    monkeypatch.setattr(tuning, "this_machine", lambda: IN_PROCESS)
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TUNING_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TQDM_DISABLE", "1")


@pytest.fixture
def log(tmp_path):
    """What was run: process, device, configuration."""

    def lines():
        path = tmp_path / "log"
        return path.read_text().splitlines() if path.exists() else []

    return lines


def doubling(configs, **settings):
    """A lazy kernel whose configurations choose the block, and what goes wrong."""

    @autotune(configs=configs, **{**QUICK, **settings})
    @tile2triton.kernel(out_idx=[-1])
    def double(n, factor=2.0, block=16, pace=None, fault=None):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i] * factor

        return main

    return double


def times_two(A):
    return A * 2.0


def statuses(kernel):
    return [row.status for row in kernel.tuning_report.rows]


# What is chosen.


def test_fastest_configuration_is_chosen():
    kernel = doubling([SLOW, FAST])(100)
    assert (kernel.config, kernel.latency, kernel.ref_latency) == (FAST, 1.0, None)
    assert "block = 64" in kernel.triton_source
    assert statuses(kernel) == ["measured", "measured"]
    a = torch.rand(100)
    assert torch.equal(kernel(a), a * 2)


def test_first_of_equals_is_chosen():
    configs = [{"block": 32, "pace": 1.0}, {"block": 64, "pace": 1.0}]
    assert doubling(configs)(100).config == configs[0]


def test_configurations_may_come_from_a_function_of_the_arguments():
    def configs(n, factor=1.0):
        return [{"block": n // 4, "pace": 1.0}, {"block": n // 2, "pace": 2.0}]

    assert doubling(configs)(128, factor=3.0).config == {"block": 32, "pace": 1.0}


def test_parameters_given_by_the_caller_are_not_tuned(log):
    double = doubling([SLOW, FAST])
    for kernel in (double(100, block=16), double(100, 2.0, 16), double.compile(100, block=16)):
        assert "block = 16" in kernel.triton_source
        assert kernel.latency is None
    assert log() == []


def test_each_set_of_arguments_is_tuned_once(log):
    double = doubling([SLOW, FAST])
    assert double(100) is double(100)
    assert len(log()) == 2
    double(200)
    assert len(log()) == 4


def test_arguments_that_are_not_specialised_share_a_configuration(log):
    double = doubling([SLOW, FAST], do_not_specialize=["n"])
    first, second = double(100), double(200)
    assert len(log()) == 2
    assert first.config == second.config == FAST
    assert second(torch.ones(200)).shape == (200,)


def test_source_and_compile_give_the_tuned_kernel():
    double = doubling([SLOW, FAST])
    assert double.get_kernel_source(100) == double.compile(100).triton_source
    assert "block = 64" in double.get_kernel_source(100)


def test_pass_configs_of_a_configuration_reach_the_kernel():
    off = {"tl.disable_tma_lower": True}

    tuned = autotune(configs=[{"block_M": 64, "pass_configs": off}], **QUICK)(gemm_relu)
    assert "TensorDescriptor" in tuned(64, 64, 64, block_M=32).triton_source
    kernel = tuned(64, 64, 64)
    assert "TensorDescriptor" not in kernel.triton_source
    assert kernel.config == {"block_M": 64, "pass_configs": off}


# Eager kernels.


@autotune(configs=[SLOW, FAST], **QUICK)
@tile2triton.kernel
def triple(A, block=16, pace=None):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    C = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
        for i in T.Parallel(block):
            C[bx * block + i] = A[bx * block + i] * 3.0
    return C


def test_eager_kernel_is_compiled_for_sizes():
    kernel = triple.compile(n=100)
    assert kernel.config == FAST
    assert torch.equal(kernel(torch.ones(100)), torch.full((100,), 3.0))


def test_eager_kernel_is_tuned_by_a_call(monkeypatch, log):
    monkeypatch.setattr(tuning, "_is_interpreted", lambda call: False)
    a = torch.rand(75)
    for _ in range(2):
        assert torch.equal(triple(a), a * 3)
    assert len(log()) == 2
    assert torch.equal(triple(a, block=8), a * 3)
    assert len(log()) == 2


def test_call_on_the_cpu_is_not_tuned(capsys, log):
    a = torch.rand(33)
    assert torch.equal(triple(a), a * 3)
    assert log() == []
    assert "tuned on a GPU only" in capsys.readouterr().err


# What goes wrong is a row.

FAULTS = [
    ({"factor": 1.9}, "wrong", "output 0: "),
    ({"block": 512}, "does not compile", "does not like 512"),
    ({"block": 1024}, "too large", "shared memory"),
    ({"block": "many"}, "refused", ""),
]


def test_configurations_that_fail_are_rows_and_the_others_go_on():
    configs = [{"block": 64, "pace": 1.0, **fault} for fault, _, _ in FAULTS]
    kernel = doubling([*configs, SLOW], ref_prog=times_two)(100)
    assert kernel.config == SLOW
    rows = kernel.tuning_report.rows
    assert [row.status for row in rows] == [*(status for _, status, _ in FAULTS), "measured"]
    for row, (_, _, reason) in zip(rows, FAULTS, strict=False):
        assert reason in row.reason
        assert row.latency is None


def test_kernels_compile_while_others_are_being_made(monkeypatch):
    compiling = threading.Event()

    def compiler():
        inline = Inline(compiled)
        ask = inline.ask

        def told(question, seconds):
            compiling.set()
            return ask(question, seconds)

        inline.ask = told
        return inline

    monkeypatch.setattr(
        tuning, "this_machine", lambda: dataclasses.replace(IN_PROCESS, compiler=compiler)
    )

    @autotune(configs=[{"block": 32}, {"block": 64}], **QUICK)
    @tile2triton.kernel(out_idx=[-1])
    def waiting(n, block):
        assert block == 32 or compiling.wait(60), "the first waits for the second"

        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                T.copy(A[bx * block : (bx + 1) * block], C[bx * block : (bx + 1) * block])

        return main

    assert statuses(waiting(128)) == ["measured", "measured"]


def test_one_stage_and_none_are_one_kernel():
    @autotune(configs=[{"stages": 0}, {"stages": 1}], **QUICK)
    @tile2triton.kernel(out_idx=[-1])
    def staged(n, stages):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=128):
                for k in T.Pipelined(n // 32, num_stages=stages):
                    T.copy(A[k * 32 : k * 32 + 32], C[k * 32 : k * 32 + 32])

        return main

    reasons = [row.reason for row in staged(128).tuning_report.rows]
    assert reasons == ["", "is the same kernel as stages=0"]


ENDS = [
    ({"fault": "hang in run"}, "hangs", "did not end within 2 s"),
    ({"fault": "hang in time"}, "hangs", "did not end within 2 s"),
    ({"fault": "crash"}, "crashes", "ended abruptly (exit -11)"),
    ({"fault": "dead"}, "crashes", "illegal memory access"),
]


def test_processes_that_hang_or_die_are_rows_and_new_ones_go_on(monkeypatch, log):
    monkeypatch.setattr(tuning, "this_machine", lambda: IN_PROCESSES)
    configs = [{"block": 64, **fault} for fault, _, _ in ENDS]
    kernel = doubling([*configs, SLOW, FAST], timeout=2)(100)
    assert kernel.config == FAST
    rows = kernel.tuning_report.rows
    assert [row.status for row in rows[:4]] == [status for _, status, _ in ENDS]
    for row, (_, _, reason) in zip(rows, ENDS, strict=False):
        assert reason in row.reason
    # One process for each end, and one for what is left.
    assert len({line.split()[0] for line in log()}) == 5


def test_report_shows_every_configuration_fastest_first():
    kernel = doubling([SLOW, FAST, {"block": 512}], ref_prog=times_two)(100)
    lines = str(kernel.tuning_report).splitlines()
    assert lines[0] == "double on pretended chip: 2 measured, 1 does not compile"
    assert lines[1].startswith("the reference takes 0.")
    assert [line.split()[0] for line in lines[3:5]] == ["1.0000", "2.0000"]
    assert lines[5].strip().startswith("does not compile  block=512")
    assert "does not like 512" in lines[6]


def test_nothing_that_will_do_is_an_error_with_all_rows():
    with pytest.raises(TuningError, match=r"(?s)T2T544.*`double`.*refused.*does not compile"):
        doubling([{"block": "many"}, {"block": 512}])(100)


@pytest.mark.parametrize("has_machine", [True, False])
def test_a_mistake_that_all_configurations_share_is_the_error(monkeypatch, has_machine):
    if not has_machine:
        monkeypatch.setattr(tuning, "this_machine", lambda: None)

    @autotune(configs=[{"block": 32}, {"block": 64}], **QUICK)
    @tile2triton.kernel
    def mistaken(n, block):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(n, threads=block) as bx:
                tile = T.alloc_shared((block,), "float32")
                T.copy(A[bx : bx + block + 1], tile)

        return main

    with pytest.raises(TuningError) as error:
        mistaken(128)
    (one,) = error.value.diagnostics
    assert one.code != "T2T544"
    assert "T.copy" in str(error.value)


def test_what_the_user_raises_for_all_configurations_is_told_once():
    @autotune(configs=[{"block": 32}, {"block": 64}], **QUICK)
    @tile2triton.kernel
    def mistaken(n, block):
        raise KeyError("no such chip")

    with pytest.raises(TuningError, match=r"T2T544.*same reason") as error:
        mistaken(128)
    assert str(error.value).count("KeyError: 'no such chip'") == 1
    assert isinstance(error.value.__cause__, KeyError)


def test_warps_of_a_product_are_refused_at_the_users_line():
    @autotune(configs=[{"block": 32}, {"block": 64}], **QUICK)
    @tile2triton.kernel
    def by_warps(n, block):
        warps = T.GemmWarpPolicy.Square.compute_warp_partition(block, block, 4)

        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(warps[0], threads=128) as bx:
                A[bx] = 0.0

        return main

    with pytest.raises(TuningError, match=r"(?s)^error.T2T546.*compute_warp_partition\(block"):
        by_warps(128)


def test_par_compile_of_a_tuned_kernel_tunes_where_nothing_is_given():
    tuned = doubling([SLOW, FAST])
    first, second = tuned.par_compile([{"n": 100}, {"n": 100, "block": 16}])
    assert first.config == FAST
    assert second.config is None


def test_what_the_user_raises_refuses_a_configuration():
    @autotune(configs=[{"block": 48}, {"block": 64}], **QUICK)
    @tile2triton.kernel(out_idx=[-1])
    def picky(n, block):
        assert block & (block - 1) == 0, "a power of two, please"

        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                T.copy(A[bx * block : (bx + 1) * block], C[bx * block : (bx + 1) * block])

        return main

    kernel = picky(128)
    assert kernel.config == {"block": 64}
    assert "a power of two, please" in kernel.tuning_report.rows[0].reason


def test_early_stop_leaves_what_is_far_slower():
    configs = [FAST, {"block": 32, "pace": 1.5}, {"block": 16, "pace": 5.0}]
    kernel = doubling(configs, early_stop=True)(100)
    assert statuses(kernel) == ["measured", "measured", "slow"]


def test_configurations_that_make_the_same_kernel_are_tried_once(log):
    passes = [{"tl.disable_warp_specialized": on} for on in (True, False)]
    kernel = doubling([*({**SLOW, "pass_configs": one} for one in passes), FAST])(100)
    assert len(log()) == 2
    assert [row.latency for row in kernel.tuning_report.rows] == [2.0, 2.0, 1.0]
    assert "same kernel as block=32" in kernel.tuning_report.rows[1].reason


def test_error_in_the_tuner_itself_is_raised(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(MeasuringProcess, "measured", broken)
    with pytest.raises(ZeroDivisionError):
        doubling([SLOW, FAST])(100)


def test_verbose_kernel_prints_its_report(capsys):
    @autotune(configs=[FAST], **QUICK)
    @tile2triton.kernel(out_idx=[-1], verbose=True)
    def increment(n, block, pace):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i] + 1.0

        return main

    increment(100)
    assert "increment on pretended chip: 1 measured" in capsys.readouterr().err


def test_kernel_under_autotune_is_transpiled_without_tuning(log):
    kernel = tile2triton.transpile(doubling([SLOW, FAST]), 100, block=8)
    assert "block = 8" in kernel.triton_source
    assert log() == []


# Checks.


def test_reference_is_timed_and_compared():
    kernel = doubling([FAST], ref_prog=times_two)(100)
    assert kernel.ref_latency > 0
    assert doubling([{**FAST, "factor": 1.999}], ref_prog=times_two)(100).latency == 1.0


@pytest.mark.parametrize(
    "settings",
    [{"rtol": 1e-5, "atol": 1e-5}, {"ref_prog": lambda A: A.reshape(4, 25) * 2.0}],
    ids=["tolerance", "shape"],
)
def test_reference_that_differs_is_an_error(settings):
    with pytest.raises(TuningError, match="wrong"):
        doubling([{**FAST, "factor": 1.999}], **{"ref_prog": times_two, **settings})(100)


def test_share_of_elements_may_differ():
    def mostly(A):
        result = A * 2.0
        result[:5] = 7.0
        return result

    with pytest.raises(TuningError, match=r"5\.00% of the elements differ \(1\.00% may\)"):
        doubling([FAST], ref_prog=mostly)(100)
    assert doubling([FAST], ref_prog=mostly, max_mismatched_ratio=0.05)(100).latency == 1.0


def test_check_can_be_skipped():
    kernel = doubling([{**FAST, "factor": 5.0}], ref_prog=times_two, skip_check=True)(100)
    assert kernel.latency == 1.0


def test_own_check_judges_the_outputs():
    seen = []

    def check(found, wanted):
        seen.append((len(found), len(wanted)))
        assert torch.equal(found[0], wanted[0]), "not the same"

    configs = [{**FAST, "factor": 1.999}, SLOW]
    kernel = doubling(configs, ref_prog=times_two, manual_check_prog=check)(100)
    assert kernel.config == SLOW
    assert "not the same" in kernel.tuning_report.rows[0].reason
    assert seen == [(1, 1), (1, 1)]


# Inputs.


def test_given_inputs_are_used(log):
    def only_ones(A):
        assert torch.equal(A, torch.ones(100))
        return A * 2

    with set_autotune_inputs(torch.ones(100)):
        assert [x.shape for x in get_autotune_inputs()] == [(100,)]
        kernel = doubling([FAST], ref_prog=only_ones)(100)
    assert get_autotune_inputs() is None
    assert statuses(kernel) == ["measured"]


def test_inputs_may_be_given_as_a_list_and_nest():
    with set_autotune_inputs([1, 2]), set_autotune_inputs(3, 4):
        assert get_autotune_inputs() == [3, 4]


def test_function_supplies_inputs_once_for_equal_parameters():
    asked = []

    def supply(wanted):
        asked.append([(one.shape, one.torch_dtype()) for one in wanted])
        return [torch.full(one.shape, 3.0, dtype=one.torch_dtype()) for one in wanted]

    def threes(A):
        assert torch.equal(A, torch.full((100,), 3.0))
        return A * 2

    doubling([SLOW, FAST], supply_prog=supply, ref_prog=threes)(100)
    assert asked == [[((100,), torch.float32)]]


def test_kind_of_inputs_is_chosen():
    def zeros(A):
        assert not A.any()
        return A

    doubling([FAST], supply_type=TensorSupplyType.Zero, ref_prog=zeros)(100)


@autotune(configs=[{"block": 32}, {"block": 64}], **QUICK)
@tile2triton.kernel
def scale(n, block):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), factor: T.float32):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                A[bx * block + i] = A[bx * block + i] * factor

    return main


def test_number_among_the_inputs_must_be_given():
    with pytest.raises(ValueError, match=r"T2T540[\s\S]*set_autotune_inputs"):
        scale(64)
    with set_autotune_inputs(torch.ones(64), 0.5):
        kernel = scale(64)
    a = torch.ones(64)
    kernel(a, 0.25)
    assert a.tolist() == [0.25] * 64


# Kernels that change their arguments.


def adding_up(**settings):
    @autotune(configs=[{"block": 32}, {"block": 64}], warmup=3, rep=4, **settings)
    @tile2triton.kernel
    def add_up(n, block):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), total: T.Tensor((1,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                for i in T.Parallel(block):
                    T.atomic_add(total[0], A[bx * block + i])

        return main

    return add_up


def add_in_place(A, total):
    total += A.sum()


def test_given_inputs_stay_as_they_are():
    a, total = torch.rand(128), torch.full((1,), 5.0)
    before = a.clone()
    with set_autotune_inputs(a, total):
        kernel = adding_up()(128)
    assert (total.item(), torch.equal(a, before)) == (5.0, True)
    kernel(a, total)
    assert total.item() == pytest.approx(5.0 + a.sum().item())


def test_every_candidate_is_checked_on_fresh_clones():
    with set_autotune_inputs(torch.ones(128), torch.zeros(1)):
        assert statuses(adding_up(ref_prog=add_in_place)(128)) == ["measured"] * 2


def test_change_that_differs_from_the_reference_is_wrong():
    def twice(A, total):
        total += 2 * A.sum()

    with set_autotune_inputs(torch.ones(128), torch.zeros(1)):
        kernel = adding_up(ref_prog=twice)
        with pytest.raises(TuningError, match="argument 1 afterwards"):
            kernel(128)


def test_stores_to_arguments_are_compared_with_what_the_reference_returns():
    def storing(ref_prog):
        @autotune(configs=[{"block": 32}, {"block": 64}], ref_prog=ref_prog, **QUICK)
        @tile2triton.kernel
        def double(n, block):
            @T.prim_func
            def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
                with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                    for i in T.Parallel(block):
                        C[bx * block + i] = A[bx * block + i] * 2.0

            return main

        return double

    assert statuses(storing(lambda A, C: A * 2)(100)) == ["measured"] * 2
    with pytest.raises(TuningError, match="output 0"):
        storing(lambda A, C: A * 3)(100)


# What is kept on disk.


def test_second_process_does_not_tune(tmp_path, log):
    program = tmp_path / "program.py"
    program.write_text(
        "import tile2triton, tests.tuning_machine as m\n"
        "import tile2triton.language as T\n"
        "from tile2triton.tune import tuning\n"
        "tuning.this_machine = lambda: m.IN_PROCESSES\n"
        "@tile2triton.autotune(configs=[{'block': 32}, {'block': 64}], warmup=1, rep=1)\n"
        "@tile2triton.kernel(out_idx=[-1])\n"
        "def k(n, block):\n"
        "    @T.prim_func\n"
        "    def main(A: T.Tensor((n,), 'float32'), C: T.Tensor((n,), 'float32')):\n"
        "        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:\n"
        "            for i in T.Parallel(block):\n"
        "                C[bx * block + i] = A[bx * block + i] + 1.0\n"
        "    return main\n"
        "kernel = k(100)\n"
        "print(kernel.config, kernel.latency, kernel.tuning_report.is_stored)\n"
    )

    def run():
        command = [sys.executable, program]
        environment = environment_of_a_child()
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        return run.stdout

    first = run()
    assert first.endswith("False\n")
    assert len(log()) == 2
    assert run() == first.replace("False", "True")
    assert len(log()) == 2


def test_kernel_that_means_something_else_is_tuned_anew(log):
    def adding(offsets):
        @autotune(configs=[FAST], **QUICK)
        @tile2triton.kernel(out_idx=[-1])
        def add(n, block, pace):
            @T.prim_func
            def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
                with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                    for i in T.Parallel(block):
                        C[bx * block + i] = A[bx * block + i] + offsets[0]

            return main

        return add(100).tuning_report.is_stored

    # A list that the kernel closes over is no part of its text, but of what is made of it.
    assert [adding([1.0]), adding([1.0]), adding([2.0])] == [False, True, False]
    assert len(log()) == 2


def test_result_is_not_kept_where_caching_is_off(monkeypatch, log):
    for name in ("TILE2TRITON_DISABLE_CACHE", "TILELANG_DISABLE_CACHE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            for _ in range(2):
                doubling([FAST])(100)
    assert len(log()) == 4


def test_other_configurations_or_inputs_are_tuned_anew(log):
    for count, configs in enumerate(([FAST], [FAST, SLOW], [FAST], [SLOW, FAST])):
        doubling(configs)(100)
        assert len(log()) == [1, 3, 3, 5][count]
    with set_autotune_inputs(torch.rand(100)):
        doubling([FAST])(100)
    assert len(log()) == 6


def test_stored_result_that_is_broken_is_measured_again(tmp_path, log):
    doubling([FAST])(100)
    (path,) = (tmp_path / "cache" / "tuning").glob("*.json")
    path.write_text("{")
    assert doubling([FAST])(100).config == FAST
    assert len(log()) == 2
    assert doubling([FAST])(100).tuning_report.is_stored


# Several devices, and none.


def test_devices_share_the_work(monkeypatch, log):
    two = dataclasses.replace(IN_PROCESSES, devices=("cpu", "cpu"))
    monkeypatch.setattr(tuning, "this_machine", lambda: two)
    configs = [{"block": 2**power, "pace": float(power)} for power in range(4, 9)]
    kernel = doubling([{"block": 8, "fault": "hang in run"}, *configs], timeout=3)(1000)
    assert kernel.config == configs[0]
    assert len({line.split()[0] for line in log()}) == 2


def test_first_legal_configuration_is_taken_without_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr(tuning, "this_machine", lambda: None)
    kernel = doubling([{"block": "many"}, SLOW, FAST])(100)
    assert (kernel.config, kernel.ref_latency, kernel.tuning_report) == (SLOW, None, None)
    assert math.isnan(kernel.latency)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "`double` is tuned on a GPU only; here it is made with block=32" in said
    with pytest.raises(TuningError, match="T2T157"):
        doubling([{"block": "many"}])(100)


# AutoTuner.


def factory(block=None, pace=None):
    @T.prim_func
    def main(A: T.Tensor((100,), "float32"), C: T.Tensor((100,), "float32")):
        with T.Kernel(T.ceildiv(100, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] * 2.0

    return main


def test_tuner_is_made_step_by_step():
    tuner = (
        AutoTuner.from_kernel(kernel=factory, configs=[SLOW, FAST])
        .set_compile_args(out_idx=[-1], target="auto")
        .set_profile_args(supply_type=TensorSupplyType.Integer, ref_prog=times_two)
    )
    result = tuner.run(warmup=1, rep=1, enable_grouped_compile=True)
    assert (result.config, result.latency) == (FAST, 1.0)
    assert result.ref_latency > 0
    assert result.libcode == result.kernel.triton_source
    assert len(result.report.rows) == 2
    assert torch.equal(result.kernel(torch.ones(100)), torch.full((100,), 2.0))


# Mistakes.


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"block": [32, 64]}, "must be a list of dicts"),
        ([], "no configuration"),
        ([64], "holds `64`"),
        ([{"blok": 64}], "double(n, factor, block, pace, fault)"),
        ([{"blok": 64}], "did you mean `block`?"),
        ([{"warps": 8}], "use one of n, factor, block, pace, fault, pass_configs"),
        (lambda n: [], "no configuration"),
    ],
)
def test_configurations_that_are_none_are_refused_where_they_are_written(configs, said):
    with pytest.raises(ConfigError, match="T2T543") as error:
        doubling(configs)(100)
    assert said in str(error.value)
    (diagnostic,) = error.value.diagnostics
    assert "autotune(configs" in linecache.getline(diagnostic.filename, diagnostic.line)


@pytest.mark.parametrize("decorated", [autotune, lambda factory: autotune()(factory)])
def test_autotune_above_no_kernel_is_refused_at_its_line(decorated):
    with pytest.raises(TypeError, match=r"T2T542.*stands above a kernel") as error:
        decorated(times_two)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.filename == __file__
    assert diagnostic.hint.startswith("write @autotune, or @autotune(configs=...), above")


def test_tuner_without_configurations_is_refused_at_its_line():
    with pytest.raises(ConfigError, match="no configuration to try") as error:
        AutoTuner.from_kernel(factory).run()
    assert error.value.diagnostics[0].filename == __file__


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"early_stop_factor": 0.5}, "must be 1 or more"),
        ({"warm_up": 3}, "there is no option `warm_up`"),
        ({"manual_check_prog": print}, "there is no ref_prog"),
    ],
)
def test_options_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(ConfigError, match=r"T2T545.*") as error:
        doubling([FAST], **settings)
    assert said in str(error.value)


def test_autotune_stands_above_kernel():
    def plain(n):
        return n

    with pytest.raises(TypeError, match=r"T2T542[\s\S]*above @tile2triton.kernel"):
        autotune(configs=[FAST])(plain)
    with pytest.raises(TypeError, match=r"T2T542.*`autotune` under `kernel`"):
        tile2triton.kernel(triple)
    with pytest.raises(TypeError, match="T2T542"):
        autotune(plain, configs=[FAST])
    with pytest.raises(TypeError, match=r"T2T542.*do_not_specialize"):
        doubling([FAST], do_not_specialize=["m"])
