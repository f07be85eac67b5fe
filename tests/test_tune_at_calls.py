"""`@autotune` without configurations: the schedule is searched at the first call of a kind."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_schedules import product
from tests.test_tune_search import by_block, double, machine
from tile2triton.tune import autotune, tuning


@pytest.fixture(autouse=True)
def directories(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TUNING_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setattr(tuning, "this_machine", lambda: machine(by_block))
    # Tensors of these tests are on the CPU, where kernels are not tuned.
    monkeypatch.setattr(tuning, "_is_interpreted", lambda call: False)


def ran(tmp_path):
    path = tmp_path / "log"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("decorate", [autotune, autotune(seconds=20.0), autotune()])
def test_factories_give_the_fastest_kernel(decorate, tmp_path):
    kernel = decorate(double)(1000)
    assert kernel.config == {"tile": {"block": 256}, "warps": 2}
    assert "block = 256" in kernel.triton_source
    assert torch.equal(kernel(torch.ones(1000)), torch.full((1000,), 2.0))
    assert kernel.tuning_report.rows[0].config == {}


def test_a_choice_is_made_once_for_each_kind_of_call(tmp_path):
    tuned = autotune(double)
    assert tuned(1000) is tuned(1000)
    first = ran(tmp_path)
    tuned(2000)
    assert ran(tmp_path) > first


def test_what_the_caller_gives_is_kept():
    kernel = autotune(double)(1000, block=16)
    assert "block = 16" in kernel.triton_source
    assert kernel.config == {"warps": 2}


def test_eager_kernels_are_tuned_for_the_tensors_they_are_called_with():
    @autotune(seconds=0.0)
    @tile2triton.kernel
    def triple(A, block=64):
        n = T.const("n")
        A: T.Tensor((n,), "float32")
        C = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, block), threads=128) as x:
            for i in T.Parallel(block):
                C[x * block + i] = A[x * block + i] * 3
        return C

    assert torch.equal(triple(torch.ones(100)), torch.full((100,), 3.0))
    assert triple.compile(n=100).tuning_report is not None


def test_programs_on_whole_operands_are_tuned():
    tuned = autotune(seconds=0.0)(tile2triton.kernel(product))
    a, b = torch.randn(32, 64, dtype=torch.float16), torch.randn(64, 32, dtype=torch.float16)
    wanted = torch.relu(a.float() @ b.float())
    torch.testing.assert_close(tuned(a, b).float(), wanted, rtol=1e-2, atol=1e-2)
    assert tuned.compile(a, b).tuning_report is not None


def test_programs_that_change_an_operand_are_measured_on_copies():
    @autotune(seconds=0.0)
    @tile2triton.kernel
    def scaled(X, Y):
        X[:] = X * 2
        return Y * 3

    x, y = torch.ones(64, 64), torch.ones(64, 64)
    assert torch.equal(scaled(x, y), torch.full((64, 64), 3.0))
    assert torch.equal(x, torch.full((64, 64), 2.0))


def test_without_a_gpu_the_program_runs_as_it_is(monkeypatch, capsys):
    monkeypatch.setattr(tuning, "this_machine", lambda: None)
    assert autotune(double)(100).config is None
    assert "`double` is tuned on a GPU only; here it runs as it is" in capsys.readouterr().err


def test_seconds_are_for_searches():
    with pytest.raises(TypeError, match=r"T2T542.*`seconds` is how long to search"):
        autotune(configs=[{"block": 64}], seconds=5.0)
