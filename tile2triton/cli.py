"""The command line: `tile2triton COMMAND`, one of those in `tile2triton/commands`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tile2triton import __version__
from tile2triton.commands.kernels import UsageError, UserError, suggestion
from tile2triton.diagnostics import TileError

EXAMPLES = """\
examples:
  tile2triton emit gemm.py:gemm --set M=4096 --set N=4096 --set K=4096
  tile2triton emit gemm.py:gemm --set M=64 --set N=64 --set K=64 -o gemm_triton.py
  tile2triton emit softmax.py --set columns=300 --after lower_program
  tile2triton check softmax.py --set columns=300 --target cuda:90 --target hip:gfx942
  tile2triton check train.py --target cuda:90 -- --steps 1
  tile2triton check -m pytest test_softmax.py --target cuda:90
  tile2triton run example_gemm.py --M 1024
  tile2triton emit attention.py:attention --set 'Q=float16[2,8,512,64]' --after tile_operands
  tile2triton bench gemm.py:gemm --against by_hand.py:gemm --set M=4096 --set N=4096 --set K=4096
  tile2triton schedule add my_gemm.toml
  tile2triton tune gemm.py:gemm --set M=4096 --set N=4096 --set K=4096 --seconds 60
  tile2triton passes
  tile2triton explain reduce_max
  tile2triton explain gemm.py:gemm --set M=4096 --set N=4096 --set K=4096 --target cuda:90
  tile2triton explain softmax.py --set columns=300 --target hip:gfx942 --html softmax.html

exit codes: 0 well, 1 a kernel is wrong, 2 the command is wrong
"""

CHECK = """\
Compile kernels for GPUs that need not be there.

FILE:KERNEL, and any file with --set, names kernels: each is compiled for the values given.

A file that does something when it is run (a `__main__` block, calls, loops) is a script and is
run: torch gives tensors without memory on a GPU that is not there, every kernel that the script
makes is compiled, and a launch gives tensors of the right shapes. Its arguments stand after `--`.
A file of tests, or any after `-m pytest`, is run by pytest. Any other file names its kernels.

Small tensors, up to 2**20 integers or 2**16 other numbers, keep their values, so that lengths and
indices steer the script. What a kernel would have computed is not known: comparisons of tensors
are not made, tensors that are not known count as ones, sorting them gives a random order, and a
time is 1 ms. The report counts these. Of a package that is not installed, stand-ins are imported:
what they give is taken for what a kernel declares, and is compared with nothing.
"""

EXPLAIN = """\
Say what an operator or an error's code means.

Given a file, compile its kernels, for GPUs that need not be there, and say what became of them: the
options of each launch, registers and shared memory; how each tile is moved, kept and multiplied,
with counts of instructions in the machine code; and for every hint how it was applied, or why not.

--html writes all this as a page that needs no network, with pictures of layouts, and the program,
the emitted Triton, the TTGIR without patches and with them, and the machine code beside each other.
"""


TUNE = """\
Find the fastest schedule of a kernel: sizes of tiles, warps, stages, and what a schedule chooses.

What there is to choose is found from the program. An estimate orders it and leaves out what cannot
be; every schedule that is tried is compared with the program's meaning before it is timed. Results
are kept on disk. The line that is printed makes the choice fixed, as does the file of --write,
which says it for this chip and leaves what it says of others.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if given[:1] == ["run"]:
            # What follows the script is the script's: options too, which argparse would take.
            from tile2triton.commands.run import run

            return run(given[1:])
        return _run(_options(given))
    except TileError as error:
        print(error, file=sys.stderr)
        return 1
    except UserError as error:
        print(f"tile2triton: {error}", file=sys.stderr)
        return 1
    except UsageError as error:
        print(f"tile2triton: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of a pipe went away; Python must not complain about that on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _options(given: list[str]) -> argparse.Namespace:
    # What stands after `--` is the script's own.
    cut = given.index("--") if "--" in given else len(given)
    options, unknown = _parser().parse_known_args(given[:cut])
    if unknown:
        hint = "; arguments of a script follow `--`" if options.command == "check" else ""
        raise UsageError(f"{options.command} does not take {' '.join(unknown)}{hint}")
    options.arguments = given[cut + 1 :]
    return options


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "emit":
            from tile2triton.commands.emit import emit

            return emit(options.kernel, options.out, options.after, options.set, options.target)
        case "check":
            return _check(options)
        case "bench":
            from tile2triton.commands.bench import bench

            return bench(options.kernel, options.against, options.set, options.json)
        case "schedule":
            from tile2triton.commands.schedule import schedule

            return schedule(options.action, options.name)
        case "tune":
            from tile2triton.commands.tune import tune

            return tune(
                options.kernel,
                options.target,
                options.set,
                options.seconds,
                options.write,
                options.json,
                options.dry,
            )
        case "passes":
            from tile2triton.commands.passes import passes

            return passes(options.name)
        case _:
            from tile2triton.commands.explain_kernel import explain_kernel, is_kernel

            if is_kernel(options.subject):
                return explain_kernel(
                    options.subject, options.target, options.set, options.json, options.html
                )
            if options.html is not None:
                raise UsageError(f"--html is for kernels, and `{options.subject}` is no file")
            from tile2triton.commands.explain import explain

            return explain(options.subject)


def _check(options: argparse.Namespace) -> int:
    from tile2triton.commands.check import check
    from tile2triton.commands.check_script import check_whole, is_script, order_of
    from tile2triton.targets import TARGETS

    path = Path(options.kernel)
    of_kernels = bool(options.set) or not path.is_file()
    if of_kernels or not (options.m or options.arguments or is_script(path)):
        return check(options.kernel, options.target, options.set)
    order = order_of(
        options.kernel,
        options.target or [row.name for row in TARGETS],
        options.arguments,
        runs_tests=options.m == "pytest",
        compiles=not options.no_compile,
        seconds=options.timeout,
        workers=options.jobs,
    )
    return check_whole(order, options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tile2triton",
        description="Turn tile programs into readable, stand-alone Triton.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tile2triton {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    emit = commands.add_parser("emit", help="print or write the Triton of a kernel")
    _add_kernel(emit)
    emit.add_argument("-o", "--out", metavar="OUT", help="write to this file instead of printing")
    emit.add_argument(
        "--after",
        metavar="PASS",
        type=_pass,
        help="print the program after this pass instead; `trace` is before the first",
    )
    emit.add_argument(
        "--target", metavar="T", type=_target, default="cuda:90", help="default: cuda:90"
    )

    check = commands.add_parser(
        "check",
        help="compile for GPUs that need not be there; registers, shared memory, spills",
        description=CHECK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_kernel(check)
    check.add_argument("-m", choices=("pytest",), help="run the tests of the file")
    check.add_argument("--no-compile", action="store_true", help="of a script: only transpile")
    check.add_argument("--json", metavar="OUT", help="of a script: write the report there as well")
    check.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=600.0,
        help="of a script: when to stop it; default: 600",
    )
    check.add_argument(
        "--jobs", metavar="N", type=int, help="of a script: so many compile beside each other"
    )
    check.add_argument(
        "--target",
        metavar="T",
        type=_target,
        action="append",
        default=[],
        help="may be repeated; default: all",
    )

    commands.add_parser("run", help="run a program that imports tilelang, unchanged, on Triton")

    bench = commands.add_parser(
        "bench", help="measure a kernel beside another function that computes the same"
    )
    _add_kernel(bench)
    bench.add_argument(
        "--against",
        metavar="FILE[:FUNCTION]",
        required=True,
        help="a function of the same tensors; without a name, the one named like the kernel",
    )
    bench.add_argument("--json", metavar="OUT", help="write the figures to a file")

    tune = commands.add_parser(
        "tune",
        help="find the fastest schedule of a kernel on this machine",
        description=TUNE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_kernel(tune)
    tune.add_argument(
        "--seconds", metavar="N", type=float, default=60.0, help="how long to search; default: 60"
    )
    tune.add_argument(
        "--target", metavar="T", type=_target, help="default: this machine's; cuda:90 with --dry"
    )
    tune.add_argument("--write", metavar="FILE", help="write a schedule file, TOML or .json")
    tune.add_argument("--json", action="store_true", help="print JSON")
    tune.add_argument("--dry", action="store_true", help="print what would be tried; needs no GPU")

    schedule = commands.add_parser(
        "schedule", help="list, show and add schedules, which say how programs are run"
    )
    schedule.add_argument("action", choices=("list", "show", "add"))
    schedule.add_argument("name", nargs="?", metavar="NAME|FILE")

    passes = commands.add_parser("passes", help="list the rewrites in order, or describe one")
    passes.add_argument("name", nargs="?", metavar="PASS")

    explain = commands.add_parser(
        "explain",
        help="what an operator or an error's code means, or what became of a kernel's hints",
        description=EXPLAIN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument("subject", metavar="OPERATOR|CODE|FILE[:KERNEL]")
    _add_set(explain)
    explain.add_argument(
        "--target",
        metavar="T",
        type=_target,
        action="append",
        default=[],
        help="of a kernel: may be repeated; default: cuda:90",
    )
    explain.add_argument("--json", action="store_true", help="of a kernel: print JSON")
    explain.add_argument(
        "--html",
        metavar="OUT",
        help="of a kernel: write a page with the program, its Triton and what is compiled of it",
    )
    return parser


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:KERNEL]", help="a Python file, a kernel in it")
    _add_set(parser)


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the kernel or a T.const size; may be repeated",
    )


def _target(text: str) -> str:
    from tile2triton.targets import TARGETS

    names = [row.name for row in TARGETS]
    if text not in names:
        raise argparse.ArgumentTypeError(f"no target `{text}`{suggestion(text, names)}")
    return text


def _pass(text: str) -> str:
    from tile2triton.pipeline import PIPELINE

    names = ["trace", *(one.name for one in PIPELINE)]
    if text not in names:
        raise argparse.ArgumentTypeError(f"no pass `{text}`{suggestion(text, names)}")
    return text
