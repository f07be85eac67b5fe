"""Timing without a GPU: how often what runs, and how the times are summed up."""

import time

import pytest
import torch

from tile2triton.measure import do_bench, quantile


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_wall_clock_gives_milliseconds():
    assert 2.0 <= do_bench(lambda: time.sleep(0.002), warmup=1, rep=10) < 50.0


@pytest.mark.usefixtures("no_gpu")
def test_counts_of_runs_are_taken_as_given():
    calls = []
    do_bench(lambda: calls.append("run"), _n_warmup=3, _n_repeat=7)
    assert len(calls) == 1 + 5 + 3 + 7


@pytest.mark.usefixtures("no_gpu")
def test_each_run_is_prepared_and_preparing_does_not_count():
    order = []

    def prepare():
        order.append("prepare")
        time.sleep(0.005)

    found = do_bench(lambda: order.append("run"), prepare=prepare, _n_warmup=1, _n_repeat=2)
    assert found < 2.0
    assert order == ["prepare", "run"] * (len(order) // 2)


@pytest.mark.usefixtures("no_gpu")
def test_early_stop_ends_after_the_first_runs():
    calls = []

    def run():
        calls.append("run")
        time.sleep(0.001)

    assert do_bench(run, _n_repeat=100, early_stop_baseline=0.1) >= 1.0
    assert len(calls) == 1 + 5
    do_bench(run, _n_repeat=10, _n_warmup=1, early_stop_baseline=1e6)
    assert len(calls) == 6 + 6 + 1 + 10


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("backend", ["event", "cupti", "cudagraph"])
@pytest.mark.parametrize("mode", ["min", "max", "mean", "median"])
def test_backends_and_modes_are_known(backend, mode):
    found = do_bench(lambda: None, _n_warmup=1, _n_repeat=4, backend=backend, return_mode=mode)
    assert isinstance(found, float)


@pytest.mark.usefixtures("no_gpu")
def test_quantiles_are_a_list_and_one_is_a_number():
    low, high = do_bench(lambda: None, _n_repeat=9, quantiles=[0.1, 0.9])
    assert low <= high
    assert isinstance(do_bench(lambda: None, _n_repeat=9, quantiles=[0.5]), float)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_quantiles_are_those_of_torch(fraction, count):
    times = torch.rand(count, dtype=torch.float64)
    expected = torch.quantile(times, torch.tensor(fraction, dtype=torch.float64)).item()
    assert quantile(times.tolist(), fraction) == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [{"backend": "sundial"}, {"return_mode": "mode"}])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(ValueError, match="known are"):
        do_bench(lambda: None, **wrong)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("backend", ["event", "cupti", "cudagraph"])
def test_gpu_is_timed_by_what_the_function_runs_there(backend):
    small, large = (torch.randn(size, size, device="cuda") for size in (64, 4096))
    short = do_bench(lambda: small @ small, backend=backend)
    long = do_bench(lambda: large @ large, backend=backend)
    assert 0 < short < long
