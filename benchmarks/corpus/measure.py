"""What the measurements have in common: which files there are, and how one is run."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus.rows import Row
from tile2triton.family import Family

ROOT = Path(__file__).resolve().parents[2]
HAS_KERNELS = re.compile(r"\bT\.(?:Cluster)?Kernel\(|\bT\.CUDASourceCodeKernel\(")
COMPARES = re.compile(r"assert_close|allclose|assert_similar|assert_equal|assert_tensors|\.equal\(")
# Settings that tests have themselves, with which they end in time where kernels are interpreted.
SMALL = {
    "TILELANG_PDL_BENCH_WORK_ITERS": "4",
    "TILELANG_PDL_BENCH_WARMUP": "0",
    "TILELANG_PDL_BENCH_REPEATS": "1",
}


class Measure:
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
