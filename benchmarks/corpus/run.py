"""`--run`: the examples run, and each is judged by its own comparison."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path

from benchmarks.corpus.measure import COMPARES, Measure
from benchmarks.corpus.rows import Row, last_line, row_of

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


class Run(Measure):
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
        return {**row_of(verdict, reason), "compares": compares, "output": output[-4000:]}


def judged(code: int | None, output: str, seconds: float, source: str = "") -> tuple[str, str]:
    """What came of an example, from its exit code, what it printed and how it is written."""
    if code is None:
        why = ", and it builds a CUDA extension first" if "cpp_extension" in source else ""
        return "cannot run here", f"stopped after {seconds:g} s{why}"
    last = last_line(output)
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
