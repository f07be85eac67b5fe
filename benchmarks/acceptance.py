"""Measure how much of TileLang's own examples and tests runs, unmodified.

    python benchmarks/acceptance.py CHECKOUT --check      # without a GPU: all examples with kernels
    python benchmarks/acceptance.py CHECKOUT --run        # on a GPU: the examples that passed
    python benchmarks/acceptance.py CHECKOUT --tests      # on a GPU: testing/python/language

With --interpret, --run and --tests need no GPU: the kernels are interpreted, and slow.

CHECKOUT is a checkout of tile-ai/tilelang, or an extracted part of one. Each file is a process of
its own, with a time limit. Tables are written as JSON and Markdown to `--out`, after every file, so
that `--resume` goes on where a run was stopped. Nothing needs to be installed but torch, Triton,
astor, ml_dtypes and pytest.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tile2triton.family import Family  # noqa: E402

TARGETS = ("cuda:90", "hip:gfx942")
HAS_KERNELS = re.compile(r"\bT\.(?:Cluster)?Kernel\(|\bT\.CUDASourceCodeKernel\(")
COMPARES = re.compile(r"assert_close|allclose|assert_similar|assert_equal|assert_tensors|\.equal\(")
# Files of kernels that no code in them calls: values for the parameters that have no default.
SETTINGS: dict[str, tuple[str, ...]] = {
    "deepseek_v32/inference/kernel.py": ("N=512", "K=512", "h=64", "d=128"),
    "gemm_sp/sparse_utils.py": ("D=1024", "dtype=float16", "meta_dtype=int16"),
}
# Settings that tests have themselves, with which they end in time where kernels are interpreted.
SMALL = {
    "TILELANG_PDL_BENCH_WORK_ITERS": "4",
    "TILELANG_PDL_BENCH_WARMUP": "0",
    "TILELANG_PDL_BENCH_REPEATS": "1",
}
# What a test mentions that looks at the text or the tree of another compiler.
LOOKS_AT_TEXT = re.compile(
    r"get_kernel_source|kernel_source|get_host_source|show_source|get_tir|structural_equal|"
    r"\bscript\(|\blower\(|\btvm\b|\btirx?\b|\.prim_func\b|PTX|\bsass\b|transform\."
)

# The line of a failed test that looks for a word in a text.
TEXT_ASSERTION = re.compile(
    r""">\s+assert .*(?:["'] (?:not )?in \w+|\b(?:source|src|code|text|lines?)\b)"""
)

# What a failed test says that looked for words in what was emitted, or for TileLang's compiler.
TEXT_MESSAGE = re.compile(
    r"emitted from \S+ by tile2triton|Expected .* in (?:\w+ )*source|is not vectorized|"
    r"is a part of TileLang's compiler|error\[T2T604\]|error\[T2T505\]|"
    r"no attribute '(?:body|buffer_map|host_mod|stmt_functor|type_code)'"
)

# What examples print, and end well, where they find a difference.
SAYS_SO = re.compile(
    r"^.*(?:mismatch(?!ed elements: 0)|❌|not close|(?<!\b0 )(?-i:FAILED)(?!\W*0\b)|incorrect).*$",
    re.IGNORECASE | re.MULTILINE,
)
# What an exception says, or the line that raised it compares, where values differ.
COMPARES_VALUES = re.compile(
    r"not (?:all)?close|not equal|mismatch|differ|similar|allclose|assert_close|"
    r"\bassert .*(?:[<>]|close|equal\()",
    re.IGNORECASE,
)
# What says that a program needs another GPU or a compiler of C++ that is not there.
NEEDS_MORE = re.compile(
    r"\bSM_?\d+\S* (?:or newer |GPU )?(?:is |are )?(?:required|needed)|"
    r"requires? .*(?:\bSM_?\d+|compute capability)|CUDA_HOME|Ninja is required|"
    r"Error building extension",
    re.IGNORECASE,
)

Row = dict[str, Any]


def main() -> int:
    options = _options()
    measure = _Check if options.check else _Run if options.run else _Tests
    return _measured(measure(options), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="transpile and compile every example")
    what.add_argument("--run", action="store_true", help="run the examples that passed --check")
    what.add_argument("--tests", action="store_true", help="run testing/python/language")
    parser.add_argument("--interpret", action="store_true", help="run without a GPU, on the CPU")
    parser.add_argument("--out", type=Path, default=Path("acceptance"), help="folder of the tables")
    parser.add_argument(
        "--filter",
        default="",
        help="only files whose path contains one of these, separated by commas",
    )
    parser.add_argument("--resume", action="store_true", help="keep the rows that there are")
    parser.add_argument(
        "--again",
        default="",
        help="keep the rows that there are, but those of this verdict or with this in the reason: "
        "with `stopped after` and a larger --seconds, those that took too long",
    )
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit of a file")
    parser.add_argument("--target", action="append", default=[], help="of --check; may be repeated")
    parser.add_argument("--no-compile", action="store_true", help="of --check: only transpile")
    parser.add_argument("--all", action="store_true", help="of --run: also those that fail --check")
    return parser.parse_args()


def _measured(measure: _Measure, options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / f"{measure.name}.json"
    rows: dict[str, Row] = {}
    filters = [part for part in options.filter.split(",") if part]
    files = [
        path
        for path in measure.files()
        if not filters or any(part in str(path) for part in filters)
    ]
    if (options.resume or options.again) and table.exists():
        chosen = {path.relative_to(measure.folder).as_posix() for path in files}
        rows = {
            row["file"]: row
            for row in json.loads(table.read_text())
            if row["file"] not in chosen or not _is_again(row, options.again)
        }
    lock = threading.Lock()

    def one(path: Path) -> None:
        name = path.relative_to(measure.folder).as_posix()
        if name in rows:
            return
        started = time.monotonic()
        row = {"file": name, **measure.row(path, name)}
        row["seconds"] = round(time.monotonic() - started, 1)
        with lock:
            rows[name] = row
            _write(measure, rows, table)
            print(f"{len(rows)}/{len(files)} {name}: {row['verdict']} {row['reason']}", flush=True)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(one, files))
    _write(measure, rows, table)
    print(_summary(rows.values()))
    return 0


def _is_again(row: Row, again: str) -> bool:
    """Whether a row is to be measured anew."""
    return bool(again) and (row["verdict"] == again or again in row["reason"])


def _write(measure: _Measure, rows: dict[str, Row], table: Path) -> None:
    ordered = [rows[name] for name in sorted(rows)]
    table.write_text(json.dumps(ordered, indent=1) + "\n")
    lines = [f"# {measure.title}", "", _summary(ordered), ""]
    lines.append("| " + " | ".join(measure.columns) + " |")
    lines.append("|" + "---|" * len(measure.columns))
    for row in ordered:
        cells = (str(row.get(column, "")).replace("|", "\\|") for column in measure.columns)
        lines.append("| " + " | ".join(cells) + " |")
    table.with_suffix(".md").write_text("\n".join(lines) + "\n")


def _summary(rows: Iterable[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    parts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return f"{sum(counts.values())} files: {', '.join(parts)}"


class _Measure:
    """One kind of measurement: which files, and a row of the table for each."""

    name = title = ""
    columns: tuple[str, ...] = ("file", "verdict", "reason", "seconds")

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder: Path = (options.checkout / "examples").resolve()

    def files(self) -> list[Path]:
        return [
            path
            for path in sorted(self.folder.rglob("*.py"))
            if HAS_KERNELS.search(path.read_text(errors="replace"))
        ]

    def row(self, path: Path, name: str) -> Row:
        raise NotImplementedError

    def run(self, arguments: Sequence[str], folder: Path) -> tuple[int | None, str]:
        """The exit code, None after the time limit, and everything that was printed."""
        environment = {**(SMALL if self.options.interpret else {}), **os.environ, **self.path()}
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            family = Family(
                [sys.executable, *arguments],
                environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            code: int | None = None
            # What the file started and left behind ends, too.
            with family, contextlib.suppress(subprocess.TimeoutExpired):
                code = family.process.wait(self.options.seconds)
            output.seek(0)
            return code, output.read()

    def path(self) -> dict[str, str]:
        """Where the file finds modules: ours, and those of the checkout, which it imports."""
        found = [str(ROOT), str(self.options.checkout.resolve()), os.environ.get("PYTHONPATH")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, found))}

    def command(self, *arguments: str) -> list[str]:
        """How a program is run, on a GPU or without one."""
        interpreting = ["--interpret"] if self.options.interpret else []
        return ["-m", "tile2triton", "run", *interpreting, *arguments]


class _Check(_Measure):
    name, title = "check", "Examples without a GPU: every kernel transpiles and compiles"
    columns = ("file", "verdict", "code", "place", "reason", "kernels", "seconds")

    def row(self, path: Path, name: str) -> Row:
        targets = self.options.target or TARGETS
        arguments = ["-m", "tile2triton", "check", str(path)]
        arguments += [part for target in targets for part in ("--target", target)]
        settings = SETTINGS.get(name)
        if settings is not None:
            return self._row_of_kernels(arguments, settings, path)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.json"
            arguments += ["--json", str(out), "--timeout", str(self.options.seconds - 30)]
            arguments += ["--jobs", "1", *(["--no-compile"] if self.options.no_compile else [])]
            code, output = self.run(arguments, path.parent)
            if out.exists():
                return _checked(json.loads(out.read_text()))
        if code is None:
            return _row("timed out", f"after {self.options.seconds:g} s")
        return _row("script error", _last_line(output))

    def _row_of_kernels(self, arguments: list[str], settings: Sequence[str], path: Path) -> Row:
        """A file of kernels that are only called from elsewhere."""
        code, output = self.run(
            [*arguments, *(part for one in settings for part in ("--set", one))], path.parent
        )
        found = re.search(r"error\[(\w+)\]: (.*)", output)
        if code == 0:
            return _row("passes", "")
        if found is None:
            return _row("script error", _last_line(output))
        place = re.search(r"--> (.*)", output)
        return _row("refused", found[2], code=found[1], place=place[1] if place else "")


def _checked(report: Row) -> Row:
    """The row of one report: what of a kernel or of the script comes first."""
    kernels = report["kernels"]
    counts = f"{sum(one['ok'] for one in kernels)} of {len(kernels) + len(report['refusals'])}"
    if report["ok"]:
        return _row("passes", "", kernels=counts, absent=report["absent"])
    refused = [one for refusal in report["refusals"] for one in refusal["problems"]]
    everywhere = refused or [
        one for kernel in kernels for problems in kernel["refused"].values() for one in problems
    ]
    if everywhere:
        one = everywhere[0]
        place = f"{Path(one['file']).name}:{one['line']}"
        more = sorted({(other["code"], other["message"]) for other in everywhere[1:]})
        row = _row("refused", one["message"], code=one["code"], place=place, kernels=counts)
        return {**row, "more": [f"{code} {message}" for code, message in more]}
    for kernel in kernels:
        for compiled in kernel["reports"]:
            if not compiled["ok"]:
                problem = compiled["problem"]
                found = "; ".join(problem["found"])
                reason = f"{compiled['target']}: {problem['message']}: {found}"
                place = f"{Path(kernel['file']).name}:{kernel['line']}"
                return _row(
                    "does not compile", reason, code=problem["code"], place=place, kernels=counts
                )
    verdicts = {"package": "needs a package", "timed out": "timed out"}
    verdict = verdicts.get(report["how"], "script error")
    reason = report["detail"]
    if report["how"] == "finished":
        reason = "no kernel was made"
    row = _row(verdict, reason, place=report["where"], kernels=counts)
    return {**row, "traceback": report["traceback"][-3000:]}


class _Run(_Measure):
    name, title = "run", "Examples on a GPU, each judged by its own comparison"
    columns = ("file", "verdict", "compares", "reason", "seconds")

    def files(self) -> list[Path]:
        checked = self.options.out / "check.json"
        if self.options.all or not checked.exists():
            return super().files()
        rows = json.loads(checked.read_text())
        passing = {row["file"] for row in rows if row["verdict"] == "passes"}
        return [
            path for path in super().files() if path.relative_to(self.folder).as_posix() in passing
        ]

    def row(self, path: Path, name: str) -> Row:
        source = path.read_text(errors="replace")
        compares = "yes" if COMPARES.search(source) else "no"
        code, output = self.run(self.command(str(path)), path.parent)
        verdict, reason = judged(code, output, self.options.seconds, source)
        return {**_row(verdict, reason), "compares": compares, "output": output[-4000:]}


def judged(code: int | None, output: str, seconds: float, source: str = "") -> tuple[str, str]:
    """What came of an example, from its exit code, what it printed and how it is written."""
    if code is None:
        why = ", and it builds a CUDA extension first" if "cpp_extension" in source else ""
        return "cannot run here", f"stopped after {seconds:g} s{why}"
    last = _last_line(output)
    if code == 0:
        bad = SAYS_SO.search(output)
        return ("differs", bad[0].strip()[:200]) if bad else ("success", "")
    missing = re.search(r"ModuleNotFoundError: (No module named '[\w.]+')", output)
    if missing:
        return "cannot run here", missing[1]
    if "OutOfMemoryError" in output or "out of memory" in output:
        return "cannot run here", "out of memory"
    refused = re.search(r"error\[(T2T\d+)\]: .*", output)
    if refused:
        return "refused", refused[0]
    if NEEDS_MORE.search(last):
        return "cannot run here", last
    undefined = re.match(r"NameError: name '(\w+)' is not defined", last)
    package = _absent_packages(source).get(undefined[1]) if undefined else None
    if package:
        return "cannot run here", f"No module named '{package}', which defines {undefined[1]}"
    is_said = re.match(r"[\w.]*(?:Assertion|Value|Runtime)Error\b(?!\()", last)
    if is_said and COMPARES_VALUES.search(_raised(output)):
        close = re.search(r"^.*(?:Mismatched elements|Greatest absolute).*$", output, re.MULTILINE)
        return "differs", close[0].strip() if close else last
    return "error", last


def _raised(output: str) -> str:
    """The innermost frame of the last traceback, and what was raised there."""
    return re.split(r"^  File .*\n", output, flags=re.MULTILINE)[-1]


def _absent_packages(source: str) -> dict[str, str]:
    """The names that a program would import from packages that are absent, in a `try`."""
    absent: dict[str, str] = {}
    for block in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Try)):
        for node in (x for statement in block.body for x in ast.walk(statement)):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = dict.fromkeys((one.asname or one.name for one in node.names), node.module)
            elif isinstance(node, ast.Import):
                modules = {one.asname or one.name: one.name for one in node.names}
            else:
                continue
            for name, module in modules.items():
                package = module.partition(".")[0]
                if importlib.util.find_spec(package) is None:
                    absent[name] = package
    return absent


class _Tests(_Measure):
    name, title = "tests", "testing/python/language under pytest"
    columns = (
        "file",
        "verdict",
        "passed",
        "failed",
        "text_passed",
        "text_failed",
        "skipped",
        "reason",
        "seconds",
    )

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.folder = (options.checkout / "testing" / "python" / "language").resolve()

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("test_*.py"))

    def row(self, path: Path, name: str) -> Row:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.xml"
            command = self.command("-m", "pytest", str(path), "-q", "--no-header")
            command += ["-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={out}"]
            code, output = self.run(command, path.parent)
            if not out.exists():
                reason = "stopped at the time limit" if code is None else _last_line(output)
                return _row("cannot run", reason)
            return row_of_tests(out.read_text(), path.read_text(errors="replace"))


def row_of_tests(report: str, source: str) -> Row:
    """The row of one file of tests: numeric checks apart from those of a compiler's text."""
    textual = text_tests(source)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    numeric: list[str] = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        problem = case.find("failure")
        problem = case.find("error") if problem is None else problem
        if case.find("skipped") is not None:
            counts["skipped"] += 1
            continue
        if problem is None:
            counts["text_passed" if name in textual else "passed"] += 1
            continue
        failures.append(f"{case.get('name')}: {_first_line(problem)}")
        if name in textual or _fails_at_text(problem, case.get("classname", "")):
            counts["text_failed"] += 1
        else:
            counts["failed"] += 1
            numeric.append(failures[-1])
    if counts["failed"]:
        verdict = "fails"
    elif counts["passed"]:
        verdict = "passes"
    elif counts["text_passed"] or counts["text_failed"]:
        verdict = "asserts text only"
    else:
        verdict = "all skipped"
    row = _row(verdict, (numeric or [""])[0][:300])
    names = ("passed", "failed", "text_passed", "text_failed", "skipped")
    return {**row, **{name: counts[name] for name in names}, "failures": failures}


def text_tests(source: str) -> frozenset[str]:
    """The tests that look, by themselves or through functions of the file, at a compiler's text
    and compare no numbers."""
    functions = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    looking, comparing = (
        _reaching(
            functions, {n for n, node in functions.items() if words.search(ast.unparse(node))}
        )
        for words in (LOOKS_AT_TEXT, COMPARES)
    )
    return frozenset(looking - comparing)


def _reaching(functions: dict[str, ast.stmt], found: set[str]) -> set[str]:
    """These functions, and those that mention one of them."""
    while True:
        more = found | {
            name
            for name, node in functions.items()
            if any(isinstance(x, ast.Name) and x.id in found for x in ast.walk(node))
        }
        if more == found:
            return found
        found = more


def _fails_at_text(problem: ElementTree.Element, module: str) -> bool:
    """Whether the test failed since it looks at a compiler's text, or asks for its tree."""
    text = problem.text or ""
    message = problem.get("message") or ""
    if TEXT_MESSAGE.search(text if message == "collection failure" else message):
        return True
    line = _own_line(text, f"{module.rpartition('.')[2]}.py")
    return bool(LOOKS_AT_TEXT.search(line) or TEXT_ASSERTION.match(line))


def _own_line(text: str, file: str) -> str:
    """The innermost line of the test's own file at which it failed."""
    own = marked = ""
    for line in text.splitlines():
        if line.startswith(">"):
            marked = line
        place = re.match(r"(\S+\.py):\d+:", line)
        if place and Path(place[1]).name == file:
            own = marked
    return own


def _row(verdict: str, reason: str, **more: Any) -> Row:
    return {"verdict": verdict, "reason": reason, **more}


def _first_line(problem: ElementTree.Element) -> str:
    return (problem.get("message") or "").strip().partition("\n")[0]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    return ((errors or lines or [""])[-1])[:300]


if __name__ == "__main__":
    sys.exit(main())
