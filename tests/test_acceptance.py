"""The measurement of TileLang's examples: how a file is judged by what came of it."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.acceptance import parsed
from benchmarks.corpus.check import Check
from benchmarks.corpus.language_tests import row_of_tests, text_tests
from benchmarks.corpus.measure import Measure
from benchmarks.corpus.rows import row_of
from benchmarks.corpus.run import judged
from benchmarks.corpus.table import measured
from tests.warm_process import WarmFamily

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent

EXAMPLE = """\
import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[1])
def copy(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=128) as b:
            x = T.alloc_fragment((64,), "float32")
            T.copy(X[b * 64], x)
            T.copy(x, Y[b * 64])

    return main


if __name__ == "__main__":
    copy(100)
"""


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "All checks pass.\n", "success"),
        (0, "Mismatch at 3\n", "differs"),
        (0, "Mismatched elements: 0 / 100\n", "success"),
        (None, "", "cannot run here"),
        (1, "ModuleNotFoundError: No module named 'fla'\n", "cannot run here"),
        (1, "torch.OutOfMemoryError: CUDA out of memory\n", "cannot run here"),
        (1, "error[T2T110]: the language has no `T.x`\n", "refused"),
        (1, "AssertionError: Tensor-likes are not close!\nMismatched elements: 5\n", "differs"),
        (1, '  File "x.py", line 3\n    assert a.max() < 1e-3\nAssertionError\n', "differs"),
        (1, '  File "x.py", line 3\n    assert n % 8 == 0\nAssertionError\n', "error"),
        (1, "AssertionError('int32[] is not a constexpr, they differ')\n", "error"),
        (1, "RuntimeError: SM120 or newer is required, got (9, 0)\n", "cannot run here"),
        (0, "0 FAILED, 3 passed\n", "success"),
        (0, "check FAILED\n", "differs"),
        (1, "KeyError: 'x'\n", "error"),
        (-11, "", "error"),
    ],
)
def test_an_example_is_judged_by_exit_code_and_output(code, output, verdict):
    assert judged(code, output, 60)[0] == verdict


GUARDED = """
try:
    import json
    from no_such_package.ops import reference
except ImportError:
    print("no reference")
"""


def test_names_of_absent_packages_cannot_be_there():
    said = "NameError: name 'reference' is not defined. Did you mean: 'preference'?\n"
    found = judged(1, said, 60, GUARDED)
    assert found[0] == "cannot run here"
    assert "No module named 'no_such_package'" in found[1]
    assert judged(1, "NameError: name 'json' is not defined\n", 60, GUARDED)[0] == "error"


def test_time_limit_says_what_took_the_time():
    assert judged(None, "", 75)[1] == "stopped after 75 s"
    assert "CUDA extension" in judged(None, "", 75, "from torch.utils import cpp_extension")[1]


SOURCE = """
def build(): return compiled().get_kernel_source()
def run(): torch.testing.assert_close(a, b)
def test_text(): assert "cp.async" in build()
def test_number(): run()
def test_both(): build(); run()
"""


def report(*cases):
    rows = "".join(f"<testcase name='{name}'>{inner}</testcase>" for name, inner in cases)
    return f"<testsuites><testsuite>{rows}</testsuite></testsuites>"


def test_tests_of_a_compilers_text_are_told_apart():
    assert text_tests(SOURCE) == {"build", "test_text"}
    bad = "<failure message='AssertionError: x'>trace</failure>"
    row = row_of_tests(
        report(("test_text[1]", bad), ("test_number[1]", ""), ("test_number[2]", "")), SOURCE
    )
    assert (row["verdict"], row["passed"], row["failed"], row["text_failed"]) == ("passes", 2, 0, 1)
    row = row_of_tests(report(("test_number[1]", bad), ("test_number[2]", "")), SOURCE)
    assert (row["verdict"], row["reason"]) == ("fails", "test_number[1]: AssertionError: x")
    assert row_of_tests(report(("test_text", "")), SOURCE)["verdict"] == "asserts text only"
    assert row_of_tests(report(("test_number", "<skipped/>")), SOURCE)["verdict"] == "all skipped"


FAILED_IN_A_HELPER = """<failure message="AssertionError: assert 0 == 1">
    def test_number():
&gt;       run()
test_it.py:9:
    def run():
&gt;       assert {line}
test_it.py:3: AssertionError
&gt;   deeper("source")
torch/testing.py:3: AssertionError
</failure>"""


@pytest.mark.parametrize(
    ("line", "column"), [("source.count(x) == 1", "text_failed"), ("a.sum() == 1", "failed")]
)
def test_innermost_line_of_the_tests_own_file_decides(line, column):
    failure = FAILED_IN_A_HELPER.replace("{line}", line)
    cases = f"<t><testcase name='test_number' classname='a.test_it'>{failure}</testcase></t>"
    assert row_of_tests(cases, SOURCE)[column] == 1


@pytest.mark.parametrize(
    ("message", "column"),
    [
        ("error[T2T501]: `tvm.x` is not there: it is a part of TileLang's compiler", "text_failed"),
        ("error[T2T604]: T.let builds the intermediate representation", "text_failed"),
        ("error[T2T600]: T.ballot works on the threads of a warp", "failed"),
        ("Expected TMA store in kernel source", "text_failed"),
    ],
)
def test_what_asks_for_another_compiler_is_apart(message, column):
    failure = f'<failure message="{message}">x</failure>'
    assert row_of_tests(report(("test_number", failure)), SOURCE)[column] == 1


@pytest.mark.compile
def test_examples_are_checked_and_tabulated(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.corpus.measure.Family", WarmFamily)
    examples = tmp_path / "checkout" / "examples"
    examples.mkdir(parents=True)
    (examples / "good.py").write_text(EXAMPLE)
    (examples / "bad.py").write_text(EXAMPLE.replace("T.copy(x, Y", "T.no_such(x, Y"))
    (examples / "no_kernel.py").write_text("print(1)\n")
    command = [str(tmp_path / "checkout"), "--check", "--no-compile"]
    options = parsed([*command, "--out", str(tmp_path / "out")])
    measured(Check(options), options)
    assert "2 files: 1 " in capsys.readouterr().out
    table = (tmp_path / "out" / "check.md").read_text()
    assert "| good.py | passes |" in table
    assert "| bad.py | refused | T2T110 | bad.py:12 | the language has no `T.no_such` |" in table


def test_rows_are_kept_and_those_that_are_named_are_measured_again(tmp_path, capsys):
    counts = Counter()

    class Counting(Measure):
        name, title = "counted", "Files that are counted"

        def row(self, path, name):
            counts[name] += 1
            return row_of("refused" if name == "bad.py" else "passes", f"no {name}")

    (tmp_path / "examples").mkdir()
    for name in ("good.py", "bad.py"):
        (tmp_path / "examples" / name).write_text("T.Kernel(1)")
    command = [str(tmp_path), "--check", "--out", str(tmp_path)]
    again = ["--again", "no good", "--filter", "bad"]
    for more in ([], ["--resume"], ["--again", "refused"], again):
        options = parsed([*command, *more])
        measured(Counting(options), options)
        assert "2 files: 1 " in capsys.readouterr().out
    assert counts == {"good.py": 1, "bad.py": 2}
    assert "| bad.py | refused | no bad.py |" in (tmp_path / "counted.md").read_text()


TESTS = """\
import torch
from examples.scaled import scaled


def test_numbers():
    x = torch.ones(70, device="cuda")
    assert torch.equal(scaled(70)(x), x * 3)


def test_that_fails():
    assert scaled(70)(torch.zeros(70, device="cuda")).sum() == 1
"""
SCALED = """\
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[1])
def scaled(n):
    @T.prim_func
    def main(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=128) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = X[b * 64 + i] * 3

    return main
"""


def test_tests_are_interpreted_and_import_from_the_checkout(tmp_path):
    folder = tmp_path / "testing" / "python" / "language"
    folder.mkdir(parents=True)
    (folder / "test_scaled.py").write_text(TESTS)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "scaled.py").write_text(SCALED)
    command = [str(ROOT / "benchmarks" / "acceptance.py"), str(tmp_path), "--tests", "--interpret"]
    subprocess.run([sys.executable, *command, "--out", str(tmp_path)], check=True)
    (row,) = json.loads((tmp_path / "tests.json").read_text())
    assert (row["verdict"], row["passed"], row["failed"]) == ("fails", 1, 1)
