"""`--check`: every kernel of the examples is transpiled and compiled, without a GPU."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus.measure import Measure
from benchmarks.corpus.rows import Row, last_line, row_of

TARGETS = ("cuda:90", "hip:gfx942")
# Files of kernels that no code in them calls: values for the parameters that have no default.
SETTINGS: dict[str, tuple[str, ...]] = {
    "deepseek_v32/inference/kernel.py": ("N=512", "K=512", "h=64", "d=128"),
    "gemm_sp/sparse_utils.py": ("D=1024", "dtype=float16", "meta_dtype=int16"),
}


class Check(Measure):
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
                return checked(json.loads(out.read_text()))
        if code is None:
            return row_of("timed out", f"after {self.options.seconds:g} s")
        return row_of("script error", last_line(output))

    def _row_of_kernels(self, arguments: list[str], settings: Sequence[str], path: Path) -> Row:
        """A file of kernels that are only called from elsewhere."""
        code, output = self.run(
            [*arguments, *(part for one in settings for part in ("--set", one))], path.parent
        )
        found = re.search(r"error\[(\w+)\]: (.*)", output)
        if code == 0:
            return row_of("passes", "")
        if found is None:
            return row_of("script error", last_line(output))
        place = re.search(r"--> (.*)", output)
        return row_of("refused", found[2], code=found[1], place=place[1] if place else "")


def checked(report: Row) -> Row:
    """The row of one report: what of a kernel or of the script comes first."""
    kernels = report["kernels"]
    counts = f"{sum(one['ok'] for one in kernels)} of {len(kernels) + len(report['refusals'])}"
    if report["ok"]:
        return row_of("passes", "", kernels=counts, absent=report["absent"])
    refused = [one for refusal in report["refusals"] for one in refusal["problems"]]
    everywhere = refused or [
        one for kernel in kernels for problems in kernel["refused"].values() for one in problems
    ]
    if everywhere:
        one = everywhere[0]
        place = f"{Path(one['file']).name}:{one['line']}"
        more = sorted({(other["code"], other["message"]) for other in everywhere[1:]})
        row = row_of("refused", one["message"], code=one["code"], place=place, kernels=counts)
        return {**row, "more": [f"{code} {message}" for code, message in more]}
    for kernel in kernels:
        for compiled in kernel["reports"]:
            if not compiled["ok"]:
                problem = compiled["problem"]
                found = "; ".join(problem["found"])
                reason = f"{compiled['target']}: {problem['message']}: {found}"
                place = f"{Path(kernel['file']).name}:{kernel['line']}"
                return row_of(
                    "does not compile", reason, code=problem["code"], place=place, kernels=counts
                )
    verdicts = {"package": "needs a package", "timed out": "timed out"}
    verdict = verdicts.get(report["how"], "script error")
    reason = report["detail"]
    if report["how"] == "finished":
        reason = "no kernel was made"
    row = row_of(verdict, reason, place=report["where"], kernels=counts)
    return {**row, "traceback": report["traceback"][-3000:]}
