"""`tile2triton check SCRIPT`: run a script without a GPU and report on every kernel it makes."""

import ast
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tile2triton.checking.results import Kernel, Result
from tile2triton.checking.supervise import Order, check_script
from tile2triton.commands.check import table, without_patches

ENDINGS = {
    "finished": "the script finished",
    "exception": "the script ended with an error of its own",
    "refused": "the script ended at a kernel that was refused",
    "package": "the script needs a package that is not installed",
    "timed out": "the script took too long",
}
# So many lines of what the script printed are shown where it failed.
LINES = 15


def is_script(path: Path) -> bool:
    """Whether a file does something when it is run, or holds tests, or only has kernels.

    Imports, definitions, assignments and `sys.path` changes do nothing by themselves. Tensors on a
    device are made to be computed with.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, OSError):
        return False
    return any(_acts(node) for node in tree.body) or is_tests(tree)


def is_tests(tree: ast.Module) -> bool:
    """Whether pytest would find tests in it, and nothing else runs them."""
    tests = any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body
    )
    return tests and not any(_acts(node) for node in tree.body)


def check_whole(order: Order, out: str | None) -> int:
    """Print the report; 0 if all kernels passed and the script finished."""
    result = check_script(order, lambda line: print(line, file=sys.stderr))
    print(report(result))
    if out is not None:
        Path(out).write_text(json.dumps(result.as_json(), indent=1) + "\n", encoding="utf-8")
    return int(not result.ok)


def report(result: Result) -> str:
    """The report for people: the table, what was erased, what was refused, how it ended."""
    parts = [_kernels(result)]
    parts += [part for kernel in result.kernels if (part := _erased(kernel))]
    parts += _left_out(result)
    parts += _refused(result)
    parts.append(_ending(result))
    return "\n\n".join(part for part in parts if part)


def _kernels(result: Result) -> str:
    reports = [report for kernel in result.kernels for report in kernel.reports]
    if reports:
        return table(reports)
    lines = [
        f"{kernel.name}: {'transpiles' if kernel.ok else 'refused'}" for kernel in result.kernels
    ]
    return "\n".join(lines) or "no kernel was made"


def _erased(kernel: Kernel) -> str:
    rows = []
    for row in kernel.erased:
        line = f" (line {row['line']})" if row["line"] else ""
        rows.append(f"  {row['construct']}{line}: {row['reason']}")
    return "\n".join([f"{kernel.name} leaves out:", *rows]) if rows else ""


def _left_out(result: Result) -> list[str]:
    reports = [report for kernel in result.kernels for report in kernel.reports]
    return [line for report in reports for line in without_patches(report)]


def _refused(result: Result) -> list[str]:
    parts = ["\n\n".join(one.text for one in refusal.problems) for refusal in result.refusals]
    for kernel in result.kernels:
        for target, problems in kernel.refused.items():
            parts += [f"{kernel.name} for {target}: {one.text}" for one in problems]
        for one in kernel.reports:
            if one.problem is not None:
                parts.append(f"{one.kernel} for {one.target}: {one.problem.render()}")
    return parts


def _ending(result: Result) -> str:
    lines = [ENDINGS[result.how] + (f": {result.detail}" if result.detail else "")]
    if result.where:
        lines.append(f"  at {result.where}")
    if result.absent:
        lines.append(f"  stand-ins took the place of {', '.join(result.absent)}, not installed")
    if result.comparisons:
        lines.append(f"  {_times(result.comparisons, 'comparison')} of tensors not made")
    if result.guesses:
        places = ", ".join(result.guessed_at[:3])
        lines.append(f"  {_times(result.guesses, 'value')} guessed, since no kernel ran: {places}")
    lines += [f"  not checked: the script starts `{command}`" for command in result.unchecked]
    if result.how in ("exception", "package", "timed out"):
        shown = (result.traceback or result.output).splitlines()[-LINES:]
        lines += ["", *(f"  | {line}" for line in shown)]
    passed = sum(kernel.ok for kernel in result.kernels)
    lines.append(f"{passed} of {len(result.kernels) + len(result.refusals)} kernels passed")
    return "\n".join(lines)


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Expr):
        text = ast.unparse(node.value)
        return isinstance(node.value, ast.Call) and not text.startswith(_SETTING_UP)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        return any(_moves(part) for part in ast.walk(node.value))
    if isinstance(node, ast.Try):
        # What stands in `except` is for where an import fails.
        return any(_acts(part) for part in (*node.body, *node.orelse, *node.finalbody))
    return isinstance(node, (ast.For, ast.While, ast.With, ast.Assert, ast.Raise))


def _moves(node: ast.AST) -> bool:
    """Whether it is a call that makes something on a device, or moves it to one."""
    if not isinstance(node, ast.Call):
        return False
    if any(keyword.arg == "device" for keyword in node.keywords):
        return True
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("cuda", "to")


_SETTING_UP = ("sys.path.", "tilelang.", "torch.manual_seed", "torch.set_", "warnings.", "logging.")


def order_of(
    script: str,
    targets: Sequence[str],
    arguments: Sequence[str],
    *,
    runs_tests: bool,
    compiles: bool,
    seconds: float,
    workers: int | None,
) -> Order:
    """The order for a script; tests that nothing else runs are pytest's."""
    tests = runs_tests or is_tests(ast.parse(Path(script).read_bytes()))
    return Order(
        script=script,
        targets=tuple(dict.fromkeys(targets)),
        arguments=tuple(arguments),
        pytest=tests,
        compiles=compiles,
        seconds=seconds,
        workers=workers,
    )
