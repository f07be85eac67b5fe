"""The command line: what it prints, where errors go, and exit codes."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rewrites.facts import Facts
from tile2triton.cli import main
from tile2triton.commands import check as check_command
from tile2triton.commands.check_script import is_script
from tile2triton.diagnostics import Diagnostic
from tile2triton.kernel_report import KernelReport
from tile2triton.pipeline import PIPELINE

ROOT = Path(__file__).parent.parent

SCALE = """\
import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[1])
def scale(n, factor=2.0, block=64, dtype=T.float16):
    @T.prim_func
    def scale_rows(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            x = T.alloc_fragment((block,), dtype)
            T.copy(X[bx * block], x)
            for i in T.Parallel(block):
                x[i] = x[i] * factor
            T.copy(x, Y[bx * block])

    return scale_rows
"""

EAGER = """

@tile2triton.kernel
def shift(X, block=64):
    n = T.const("n")
    X: T.Tensor((n,), "float32")
    Y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
        x = T.alloc_fragment((block,), "float32")
        T.copy(X[bx * block], x)
        for i in T.Parallel(block):
            x[i] = x[i] + 1.0
        T.copy(x, Y[bx * block])
    return Y
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="kernels_of_a_test.py"):
        path = tmp_path / name
        path.write_text(text)
        sys.modules.pop(path.stem, None)
        return str(path)

    return write


def test_emit_prints_the_module(file, capsys):
    assert main(["emit", file(SCALE), "--set", "n=1000"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith('"""scale_rows: emitted from kernels_of_a_test.py by tile2triton.')
    assert "\nn = 1000\n" in out
    assert err == ""


def test_emit_writes_a_whole_file(file, tmp_path, capsys):
    target = tmp_path / "triton_scale.py"
    target.write_text("old")
    assert main(["emit", file(SCALE), "--set", "n=1000", "-o", str(target)]) == 0
    assert target.read_text().startswith('"""scale_rows')
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.glob("*")) == [
        "kernels_of_a_test.py",
        "triton_scale.py",
    ]


def test_set_takes_numbers_and_element_types(file, capsys):
    sets = ["n=8192", "block=128", "factor=0.5", "dtype=float32"]
    assert main(["emit", file(SCALE), *(part for text in sets for part in ("--set", text))]) == 0
    out = capsys.readouterr().out
    assert "block = 128\n" in out
    assert "X: (n,) float32" in out


def test_set_gives_const_sizes_of_an_eager_kernel(file, capsys):
    assert main(["emit", file(SCALE + EAGER) + ":shift", "--set", "n=300"]) == 0
    assert "\nn = 300\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["trace", *(one.name for one in PIPELINE)])
def test_every_pass_can_be_printed_after(file, capsys, name):
    assert main(["emit", file(SCALE), "--set", "n=1000", "--after", name]) == 0
    assert "scale_rows" in capsys.readouterr().out


def refused(arguments, code, *words, capsys):
    try:
        found = main(arguments)
    except SystemExit as stop:
        found = stop.code
    out, err = capsys.readouterr()
    assert found == code
    assert out == ""
    assert "Traceback" not in err
    for word in words:
        assert word in err
    return err


def test_missing_parameter_is_named_with_what_to_type(file, capsys):
    refused(["emit", file(SCALE)], 1, "scale needs values for n", "--set n=...", capsys=capsys)


def test_missing_file_suggests_a_near_one(file, capsys):
    path = file(SCALE)
    refused(["emit", path + "x"], 2, "there is no file", f"did you mean {path}?", capsys=capsys)


def test_missing_kernel_suggests_a_near_one(file, capsys):
    refused(["emit", file(SCALE) + ":scole"], 2, "did you mean scale?", capsys=capsys)


def test_file_without_kernels_is_refused(file, capsys):
    refused(["emit", file("x = 1\n")], 2, "has no kernels", capsys=capsys)


def test_several_kernels_have_to_be_told_apart(file, capsys):
    refused(["emit", file(SCALE + EAGER)], 2, "scale, shift", "FILE:KERNEL", capsys=capsys)


def test_unknown_pass_suggests_a_near_one(file, capsys):
    refused(
        ["emit", file(SCALE), "--after", "lower_progam"],
        2,
        "did you mean lower_program?",
        capsys=capsys,
    )


def test_unknown_target_suggests_a_near_one(file, capsys):
    refused(["emit", file(SCALE), "--target", "cuda:09"], 2, "cuda:90", capsys=capsys)


def test_setting_without_a_value_is_refused(file, capsys):
    refused(["emit", file(SCALE), "--set", "n"], 2, "NAME=VALUE", capsys=capsys)


def test_setting_that_no_parameter_takes_is_refused(file, capsys):
    sets = ["--set", "n=64", "--set", "blok=32"]
    refused(["emit", file(SCALE), *sets], 1, "blok", capsys=capsys)


def test_folder_that_does_not_exist_is_refused(file, capsys):
    out = ["-o", "/no/such/folder/out.py"]
    refused(["emit", file(SCALE), "--set", "n=64", *out], 2, "no folder", capsys=capsys)


def test_folder_is_no_file_to_write(file, tmp_path, capsys):
    words = f"tile2triton: cannot write {tmp_path}: Is a directory\n"
    err = refused(
        ["emit", file(SCALE), "--set", "n=64", "-o", str(tmp_path)], 1, words, capsys=capsys
    )
    assert err == words
    assert [path.name for path in tmp_path.iterdir()] == ["kernels_of_a_test.py"]


def test_path_that_cannot_be_written_is_one_line(file, capsys):
    out = "/proc/self/out.py"
    err = refused(["emit", file(SCALE), "--set", "n=64", "-o", out], 1, out, capsys=capsys)
    assert err.startswith(f"tile2triton: cannot write {out}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["emit", "check"])
def test_size_that_is_not_known_is_told_as_a_setting(file, capsys, command):
    text = "import tile2triton\nimport tile2triton.language as T\n" + EAGER
    words = ("the value of `n` is not known", "help: add --set n=128\n")
    err = refused([command, file(text)], 1, *words, capsys=capsys)
    assert ".compile(" not in err


def test_argument_of_an_eager_kernel_is_told_as_a_setting(file, capsys):
    text = "import tile2triton\nimport tile2triton.language as T\n" + EAGER
    text = text.replace("block=64", "block")
    refused(["emit", file(text)], 1, "shift needs values for block", "--set block", capsys=capsys)


def test_mistake_in_a_kernel_is_shown_at_its_line(file, capsys):
    text = SCALE.replace("x[i] = x[i] * factor", "x[i, 0] = x[i] * factor")
    err = refused(["emit", file(text), "--set", "n=64"], 1, "error[T2T", capsys=capsys)
    assert "kernels_of_a_test.py:13" in err
    assert "^" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
        ("x = (\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_file_that_cannot_be_imported_is_one_line(file, capsys, text, words):
    err = refused(["emit", file(text)], 1, "cannot be imported", words, capsys=capsys)
    assert err.count("\n") == 1
    assert "kernels_of_a_test.py" in err


def test_file_may_import_its_neighbour(file, capsys):
    file("FACTOR = 3.0\n", "neighbour_of_a_test.py")
    text = "from neighbour_of_a_test import FACTOR\n" + SCALE.replace("2.0", "FACTOR")
    assert main(["emit", file(text), "--set", "n=64"]) == 0
    assert "3.0" in capsys.readouterr().out


def test_passes_are_listed_in_order(capsys):
    assert main(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in PIPELINE]
    assert all(len(line.split()) > 3 for line in lines)


def test_pass_is_described_with_before_and_after(capsys):
    assert main(["passes", "lower_program"]) == 0
    out = capsys.readouterr().out
    assert "before:" in out
    assert "after:" in out


def test_unknown_pass_is_refused(capsys):
    refused(["passes", "lower"], 2, "there is no pass `lower`", capsys=capsys)


@pytest.mark.parametrize("name", ["reduce_max", "T.reduce_max"])
def test_operator_is_explained_with_its_signature(name, capsys):
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith("T.reduce_max(buffer, out, ")


def test_error_code_is_explained(capsys):
    from tile2triton.diagnostics_catalogue import CATALOGUE

    code = sorted(CATALOGUE)[0]
    assert main(["explain", code.lower()]) == 0
    assert str(CATALOGUE[code]).strip() in capsys.readouterr().out


def test_refused_name_is_explained(capsys):
    assert main(["explain", "T.shfl_xor"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("T.shfl_xor is refused\n\nT2T600: it works on the threads of a warp")
    assert "\nInstead: write it on whole tiles" in out


@pytest.mark.parametrize(
    ("name", "words"), [("ceildiv", "ound"), ("Tensor", "Tensor"), ("float16", "float16")]
)
def test_name_that_is_no_operator_is_explained(name, words, capsys):
    assert main(["explain", name]) == 0
    assert words in capsys.readouterr().out


def test_unknown_operator_suggests_a_near_one(capsys):
    refused(["explain", "reduce_mux"], 2, "did you mean reduce_max", capsys=capsys)


def report(target="cuda:90", problem=None):
    return KernelReport(
        kernel="scale_rows_kernel",
        target=target,
        problem=problem,
        registers=40,
        shared_memory=2048,
        shared_limit=232448,
        num_warps=4,
        num_stages=2,
    )


def test_check_prints_a_table_with_progress_beside_it(file, capsys, monkeypatch):
    def compiled(text: str, facts: Facts, targets, progress):
        assert facts.launches
        assert "def scale_rows_kernel" in text
        (target,) = targets
        progress(report(target))
        return [report(target)]

    monkeypatch.setattr("tile2triton.compile_check.check", compiled)
    arguments = ["--set", "n=1000", "--target", "cuda:90", "--target", "hip:gfx942"]
    assert main(["check", file(SCALE), *arguments]) == 0
    out, err = capsys.readouterr()
    assert (
        out
        == """\
kernel             target      registers  spills  shared memory   warps  stages  result
scale_rows_kernel  cuda:90     40         0       2.0 of 227 KiB  4      2       ok
scale_rows_kernel  hip:gfx942  40         0       2.0 of 227 KiB  4      2       ok
"""
    )
    assert "scale_rows_kernel for hip:gfx942: ok" in err


def test_check_fails_where_a_kernel_does_not_fit(file, capsys, monkeypatch):
    problem = Diagnostic("T2T500", "the tiles take 300 KiB of shared memory")
    monkeypatch.setattr(
        "tile2triton.compile_check.check", lambda *a, **k: [report(problem=problem)]
    )
    assert main(["check", file(SCALE), "--set", "n=1000", "--target", "cuda:90"]) == 1
    out, err = capsys.readouterr()
    assert "T2T500" in out
    assert "300 KiB" in err


def test_check_names_patches_that_a_kernel_compiles_without(file, capsys, monkeypatch):
    made = dataclasses.replace(report(), left_out=("gemm_warps of c (line 7: T.gemm(…)): no",))
    monkeypatch.setattr("tile2triton.compile_check.check", lambda *a, **k: [made])
    assert main(["check", file(SCALE), "--set", "n=1000", "--target", "cuda:90"]) == 0
    said = "compiles without the patch gemm_warps of c (line 7: T.gemm(…)): no"
    assert f"scale_rows_kernel for cuda:90 {said}" in capsys.readouterr().err


def test_check_gives_each_kernel_the_settings_that_it_takes(file, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(
        check_command,
        "_compile",
        lambda name, source, given, target: seen.append((name, given)) or [],
    )
    path = file(
        SCALE + SCALE.replace("scale", "grow").replace("factor=2.0, ", "factor=2.0, extra=1, ")
    )
    assert main(["check", path, "--target", "cuda:90", "--set", "n=64", "--set", "extra=2"]) == 0
    assert seen == [("scale", {"n": 64}), ("grow", {"n": 64, "extra": 2})]


@pytest.mark.compile
def test_check_compiles_without_a_gpu(file, capsys):
    pytest.importorskip("triton")
    arguments = ["--set", "n=1000", "--target", "cuda:90"]
    assert main(["check", file(SCALE), *arguments]) == 0
    assert "ok" in capsys.readouterr().out


def test_arguments_of_a_script_follow_two_dashes(file, capsys):
    said = "check does not take --steps 3; arguments of a script follow `--`"
    refused(["check", file(SCALE), "--steps", "3"], 2, said, capsys=capsys)
    refused(["emit", file(SCALE), "--steps"], 2, "emit does not take --steps\n", capsys=capsys)


ACTS = [
    ("scale = make_scale(4096)", False),
    ("try:\n    import torch\nexcept ImportError:\n    print('no torch')", False),
    ("try:\n    run()\nexcept ValueError:\n    pass", True),
    ("x = torch.ones(4, device='cuda')\ny = scale(x)", True),
    ("x: Any = torch.ones(4).cuda()", True),
    ("raise SystemExit(main())", True),
    ("while True:\n    pass", True),
]


@pytest.mark.parametrize(("text", "acts"), ACTS)
def test_what_a_file_does_when_it_is_run_makes_it_a_script(file, text, acts):
    assert is_script(Path(file(text))) == acts


def test_module_runs_as_a_program():
    command = [sys.executable, "-m", "tile2triton", "--help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "examples:" in run.stdout
    assert "exit codes:" in run.stdout


def test_closed_pipe_is_no_error():
    command = f"{sys.executable} -m tile2triton passes | true"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    run = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stderr == ""


def test_files_that_import_tilelang_mean_ours(file, capsys):
    text = SCALE.replace("tile2triton.language", "tilelang.language")
    text = text.replace("import tile2triton\n", "import tilelang\n")
    text = text.replace("@tile2triton.kernel", "@tilelang.jit")
    assert main(["emit", file(text), "--set", "n=64"]) == 0
    assert "def scale_rows(X):" in capsys.readouterr().out
