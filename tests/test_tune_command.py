"""`tile2triton tune`: the ranked space without a GPU, and a search on a pretended machine."""

import json

import pytest

import tile2triton
from tests.test_tune_search import by_block, machine
from tile2triton.cli import main
from tile2triton.commands import tune
from tile2triton.schedule import Schedule

FILE = "tests/test_tune_search.py:double"
SIZES = ["--set", "n=1000"]


@pytest.fixture(autouse=True)
def directories(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TUNING_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setattr(tune, "this_machine", lambda: None)


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(tune, "this_machine", lambda: machine(by_block))


def test_dry_prints_the_ranked_space(capsys):
    assert main(["tune", FILE, *SIZES, "--dry", "--target", "hip:gfx942"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("double for hip:gfx942: ")
    assert "tile.block: 4, 8, 16, 32, 64, 128, 256, 512, 1024" in printed
    assert "warps: 2, 4, 8, 16" in printed
    assert "expected ms" in printed


def test_dry_says_why_schedules_are_left_out(capsys):
    sizes = ["--set", "M=4096", "--set", "N=4096", "--set", "K=4096"]
    assert main(["tune", "tests/kernels/gemm.py:gemm", *sizes, "--dry"]) == 0
    printed = capsys.readouterr().out
    assert "left out, such as: needs" in printed
    assert "left out, such as: sums need" in printed


def test_dry_as_json_is_in_order(capsys):
    assert main(["tune", FILE, *SIZES, "--dry", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    times = [float(f"{row['expected ms']:.3g}") for row in rows]
    assert times == sorted(times)


def test_without_a_gpu_it_says_what_can_be_done(capsys):
    assert main(["tune", FILE, *SIZES]) == 1
    assert "no GPU to tune double on; --dry prints" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([FILE, "--dry"], "double needs values for n: add --set n=..."),
        (["tests/kernels/softmax.py", "--dry"], "has several kernels (softmax, softmax_online)"),
    ],
)
def test_what_is_missing_is_said(capsys, arguments, said):
    assert main(["tune", *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_table_and_line_to_paste(gpu, capsys):
    assert main(["tune", FILE, *SIZES]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("double on pretended chip: ")
    best = [part for part in lines[2].split("  ") if part]
    gain = f"{by_block({}) / 1.0:.2f}x"
    assert [part.strip() for part in best[:4]] == ["1", "1.0000", gain, "0.0e+00"]
    assert "tile={'block': 256}, warps=2" in lines[2]
    pasted = "double = double.scheduled(tile2triton.Schedule(tile={'block': 256}, warps=2))"
    assert lines[-1] == pasted
    from tests.test_tune_search import double

    names = {"double": double, "tile2triton": tile2triton}
    exec(pasted, names)
    assert "block = 256" in names["double"](1000).triton_source


def test_excluded_schedules_have_their_reason(monkeypatch, capsys):
    def rate(config):
        return {"wrong": "output 0 differs"} if "tile" in config else 1.0

    monkeypatch.setattr(tune, "this_machine", lambda: machine(rate))
    assert main(["tune", FILE, *SIZES]) == 0
    printed = capsys.readouterr().out
    assert "excluded:" in printed
    assert "wrong: tile={'block':" in printed
    assert ": output 0 differs" in printed
    assert printed.rstrip().endswith("double is fastest as it is")


def test_file_says_it_for_the_chip_and_keeps_others(gpu, tmp_path, capsys):
    path = tmp_path / "double.toml"
    Schedule("mine").on("hip:gfx942", warps=4).write(path)
    arguments = ["tune", FILE, *SIZES, "--json", "--target", "cuda:90", "--write", str(path)]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == {"schedule": {"tile": {"block": 256}, "warps": 2}, "ms": 1.0}
    assert found["rows"][0]["schedule"] == {}
    read = Schedule.read(path)
    assert read.for_target("cuda:90").tiles == {"block": 256}
    assert read.for_target("hip:gfx942").threads == 128


def test_finished_kernels_have_nothing_to_tune(tmp_path, capsys):
    path = tmp_path / "made.py"
    path.write_text(
        "from tests.test_tune_search import double\nmade = double(100)\ndel double\n",
        encoding="utf-8",
    )
    assert main(["tune", f"{path}:made", "--dry"]) == 2
    assert "is made already" in capsys.readouterr().err
