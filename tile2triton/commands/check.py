"""`tile2triton check`: compile kernels for targets that need not be there, and tabulate."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tile2triton.commands.kernels import (
    Source,
    UsageError,
    UserError,
    compiled,
    kernels_in,
    parameters_of,
    settings_of,
    suggestion,
)
from tile2triton.diagnostics import TileError
from tile2triton.kernel_report import KernelReport
from tile2triton.targets import TARGETS

HEADINGS = ("kernel", "target", "registers", "spills", "shared memory", "warps", "stages", "result")


def check(place: str, targets: Sequence[str], sets: Sequence[str]) -> int:
    """1 if a kernel does not transpile, compile or fit somewhere."""
    settings = settings_of(sets)
    kernels = kernels_in(place)
    _refuse_unknown(settings, kernels)
    names = list(dict.fromkeys(targets)) or [row.name for row in TARGETS]
    reports: list[KernelReport] = []
    failed = False
    for name, source in kernels.items():
        accepted = parameters_of(source) if len(kernels) > 1 else None
        given = {
            key: value for key, value in settings.items() if accepted is None or key in accepted
        }
        for target in names:
            try:
                reports += _compile(name, source, given, target)
            except (TileError, UserError) as error:
                failed = True
                print(f"{error}\n", file=sys.stderr)
                # Every other target would say the same.
                break
    if reports:
        print(table(reports))
    for report in reports:
        for line in without_patches(report):
            print(f"\n{line}", file=sys.stderr)
        if report.problem is not None:
            print(f"\n{report.target}: {report.problem.render()}", file=sys.stderr)
    return int(failed or not all(report.ok for report in reports))


def _compile(
    name: str, source: Source, settings: Mapping[str, Any], target: str
) -> list[KernelReport]:
    # Triton is imported here only: without it, the other commands work.
    from tile2triton.compile_check import check as compile_for

    text, facts = compiled(name, source, settings, target).emitted_for(target)
    return compile_for(text, facts, (target,), progress=_say)


def _say(report: KernelReport) -> None:
    result = "ok" if report.ok else "failed"
    print(
        f"{report.kernel} for {report.target}: {result} ({report.seconds:.1f} s)", file=sys.stderr
    )


def without_patches(report: KernelReport) -> list[str]:
    """The patches that a run of the kernel leaves out, too."""
    start = f"{report.kernel} for {report.target} compiles without the patch"
    return [f"{start} {said}" for said in report.left_out]


def table(reports: Sequence[KernelReport]) -> str:
    """Registers and spills are per thread, shared memory is used of available."""
    rows = [HEADINGS, *(_row(report) for report in reports)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=True)
        lines.append("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    return "\n".join(lines)


def _row(report: KernelReport) -> tuple[str, ...]:
    if report.problem is not None and not report.registers:
        return (report.kernel, report.target, "-", "-", "-", "-", "-", report.problem.code)
    memory = f"{report.shared_memory / 1024:.1f} of {report.shared_limit / 1024:.0f} KiB"
    return (
        report.kernel,
        report.target,
        str(report.registers),
        str(report.spills),
        memory,
        str(report.num_warps),
        str(report.num_stages),
        "ok" if report.problem is None else report.problem.code,
    )


def _refuse_unknown(settings: Mapping[str, Any], kernels: Mapping[str, Source]) -> None:
    """A setting that no kernel takes is a mistake, where the kernels can tell."""
    accepted = [parameters_of(source) for source in kernels.values()]
    known = {key for names in accepted if names is not None for key in names}
    for key in settings:
        if key not in known and None not in accepted:
            raise UsageError(f"no kernel takes `{key}`{suggestion(key, sorted(known))}")
