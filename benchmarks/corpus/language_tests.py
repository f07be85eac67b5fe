"""`--tests`: TileLang's tests of its language, those of numbers apart from those of a text."""

from __future__ import annotations

import argparse
import ast
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from benchmarks.corpus.measure import COMPARES, Measure
from benchmarks.corpus.rows import Row, last_line, row_of

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


class Tests(Measure):
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
                reason = "stopped at the time limit" if code is None else last_line(output)
                return row_of("cannot run", reason)
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
    row = row_of(verdict, (numeric or [""])[0][:300])
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


def _first_line(problem: ElementTree.Element) -> str:
    return (problem.get("message") or "").strip().partition("\n")[0]
