"""From text to a callable: which way a call goes, what it costs, what is said when it cannot."""

import subprocess
import sys
import timeit
from pathlib import Path

import pytest
import torch

from tile2triton import runtime
from tile2triton.diagnostics import TileError
from tile2triton.runtime import load

ROOT = Path(__file__).parents[1]

FILL = '''
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)


def fill(x, value=1.0):
    """Fill a tensor."""
    fill_kernel[(1,)](x, value, x.numel())
    return x
'''
# What the compiled way is called with; a tensor on a GPU needs a GPU.
RECORD = """
from triton.runtime.errors import OutOfResources

calls = []


def record(*args, **kwargs):
    calls.append((args, kwargs))
    if len(calls) == {failing}:
        raise OutOfResources(300000, 232448, "shared memory")
    return len(calls)
"""


class OnGpu(torch.Tensor):
    """A tensor that says that it is on a GPU."""

    is_cuda = True


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path))


def _compiled(launcher):
    """The module that GPU tensors reach."""
    return sys.modules[launcher.__wrapped__.__module__]


def test_cpu_tensors_run_without_any_setting():
    fill = load(FILL, "fill")
    assert fill(torch.zeros(4), 2.0).tolist() == [2.0] * 4
    assert fill(value=3.0, x=torch.zeros(4)).tolist() == [3.0] * 4
    assert fill.__doc__ == "Fill a tensor."
    assert fill.__name__ == "fill"


def test_gpu_tensors_reach_the_compiled_launcher():
    record = load(RECORD.format(failing=0), "record")
    x = torch.zeros(2).as_subclass(OnGpu)
    record(x, 1, scale=2)
    record(1, x)
    record(1, x)
    record(tensor=x)
    assert [len(args) + len(kwargs) for args, kwargs in _compiled(record).calls] == [3, 2, 2, 1]


def test_a_scalar_may_come_first_on_the_cpu_too():
    text = FILL.replace("def fill(x, value=1.0)", "def fill(value, x)").replace('"""', "'")
    fill = load(text, "fill")
    assert fill(2.0, torch.zeros(4)).tolist() == [2.0] * 4
    assert fill(3.0, torch.zeros(4)).tolist() == [3.0] * 4


def test_lack_of_resources_is_said_plainly_at_the_first_launch():
    record = load(RECORD.format(failing=1), "record")
    x = torch.zeros(2).as_subclass(OnGpu)
    with pytest.raises(TileError) as caught:
        record(x)
    message = str(caught.value)
    assert "T2T401" in message
    assert "300,000 bytes of shared memory" in message
    assert "232,448" in message
    assert "num_stages" in message
    assert record(x) == 2


def test_lack_of_resources_is_said_at_any_launch():
    record = load(RECORD.format(failing=2), "record")
    x = torch.zeros(2).as_subclass(OnGpu)
    assert record(x) == 1
    with pytest.raises(TileError, match="T2T401"):
        record(x)


def test_dispatch_costs_less_than_a_third_of_a_microsecond():
    launcher = load("import triton\n\n\ndef nothing(a, b, c, d):\n    return None\n", "nothing")

    class Fake:
        is_cuda = True

    x = Fake()
    launcher(x, x, x, x)
    raw = launcher.__wrapped__
    # Many short runs: the fastest of them saw no other process.
    count = 5_000
    through = min(timeit.repeat(lambda: launcher(x, x, x, x), number=count, repeat=200))
    direct = min(timeit.repeat(lambda: raw(x, x, x, x), number=count, repeat=200))
    assert (through - direct) / count < 0.3e-6


def test_a_tensor_elsewhere_is_refused():
    fill = load(FILL, "fill")
    with pytest.raises(TileError, match=r"(?s)T2T402.*`x` of `fill` is a tensor on meta.*\.cuda"):
        fill(torch.zeros(4, device="meta"))


def test_a_module_is_imported_from_its_text_whatever_the_file_says_later():
    fill = load(FILL, "fill")
    path = Path(_compiled(fill).__file__)
    assert path.read_text() == FILL
    path.write_text("raise SystemExit")
    assert load(FILL, "fill") is fill
    assert fill(torch.zeros(4)).tolist() == [1.0] * 4


def test_missing_triton_is_one_clear_error():
    script = f"""
import sys
sys.modules["triton"] = None
from tile2triton.diagnostics import TileError
from tile2triton.runtime import load
try:
    load({FILL!r}, "fill")
except TileError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "T2T403" in run.stdout
    assert "pip install" in run.stdout


def test_an_old_triton_is_one_clear_error(monkeypatch):
    import triton

    monkeypatch.setattr(triton, "__version__", "3.5.1")
    monkeypatch.setattr(runtime, "_LOADED", {})
    with pytest.raises(TileError, match=r"(?s)T2T403.*3\.5\.1 is too old.*triton>=3\.6"):
        load(FILL, "fill")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_and_cpu_calls_take_turns():
    fill = load(FILL, "fill")
    for value in (1.0, 2.0):
        assert fill(torch.zeros(16, device="cuda"), value).tolist() == [value] * 16
        assert fill(torch.zeros(16), value).tolist() == [value] * 16
