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

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.corpus.check import Check
from benchmarks.corpus.language_tests import Tests
from benchmarks.corpus.run import Run
from benchmarks.corpus.table import measured


def main() -> None:
    options = parsed(sys.argv[1:])
    measure = Check if options.check else Run if options.run else Tests
    measured(measure(options), options)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
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
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
