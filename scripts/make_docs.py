"""Writes what the documentation shows of the code: operators, errors, the README's Triton.

`make docs` runs it; a test holds that the pages are up to date.
"""

import inspect
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.benchmarks_page import page as benchmarks_page
from scripts.hints_page import page as hints_page
from scripts.language_page import page as language_page
from scripts.walkthrough_page import page as walkthrough_page
from tile2triton import transpile
from tile2triton.diagnostics_catalogue import CATALOGUE
from tile2triton.ops import OPERATORS
from tile2triton.ops.base import Operator

KINDS = {
    "kernel": "Kernels and tensors",
    "allocation": "Tiles and variables",
    "loop": "Loops",
    "whole": "Operators on whole operands",
    "statement": "Statements on tiles and tensors",
    "expression": "Expressions",
    "scope": "Roles of threads",
    "thread": "Numbers of threads",
    "protocol": "Barriers and fences (left out where the order of the text satisfies them)",
    "hint": "Hints (they change no result)",
}

MADE = "This page is made from the code by `make docs`."


def operators_page() -> str:
    """Each operator's signature and docstring, by kind, then by name."""
    lines = ["# The operators", "", MADE]
    for kind, title in KINDS.items():
        rows = sorted({o.name: o for o in OPERATORS.values() if o.kind == kind}.items())
        if not rows:
            continue
        lines += ["", f"## {title}"]
        for name, operator in rows:
            lines += ["", f"### T.{name}", "", "```", f"T.{name}{signature(operator)}", "```"]
            lines += ["", inspect.getdoc(operator.surface) or ""]
            if operator.whole is not None and kind != "whole":
                shown = inspect.Signature(_bare(operator.whole.signature))
                lines += ["", "On whole operands:", "", "```", f"T.{name}{shown}", "```", ""]
                lines.append(inspect.getdoc(operator.whole.surface) or "")
            if operator.aliases:
                lines += ["", "Also: " + ", ".join(f"`T.{a}`" for a in operator.aliases) + "."]
    return "\n".join(lines).rstrip() + "\n"


def signature(operator: Operator) -> inspect.Signature:
    """The parameters and their defaults, without the annotations."""
    return inspect.Signature(_bare(inspect.signature(operator.surface)))


def _bare(full: inspect.Signature) -> list[inspect.Parameter]:
    return [p.replace(annotation=inspect.Parameter.empty) for p in full.parameters.values()]


def errors_page() -> str:
    """Each code with what it means and what to do."""
    lines = ["# The errors", "", MADE]
    for code, entry in sorted(CATALOGUE.items()):
        lines += ["", f"## {code}: {entry.title}", "", entry.explanation]
        for label, example in (("Wrong", entry.wrong), ("Right", entry.right)):
            if example:
                lines += ["", f"{label}:", "", "```python", example, "```"]
    return "\n".join(lines).rstrip() + "\n"


def readme() -> str:
    """The README with the Triton of its first kernel as it is emitted, without the launcher."""
    softmax = runpy.run_path(str(ROOT / "examples/first_kernel.py"))["softmax"]
    module = transpile(softmax, columns=300, target="cuda:90").triton_source
    kernel = module[module.index("@triton.jit") : module.index("# The constants of")].rstrip()
    before, start, rest = (ROOT / "README.md").read_text().partition("becomes this Triton")
    shown, fence, after = rest.partition("```python\n")
    return f"{before}{start}{shown}{fence}{kernel}\n```{after.partition('```')[2]}"


PAGES = {
    "README.md": readme,
    "docs/operators.md": operators_page,
    "docs/errors.md": errors_page,
    "docs/language.md": language_page,
    "docs/hints.md": hints_page,
    "docs/benchmarks.md": lambda: benchmarks_page(MADE),
    "docs/walkthrough.md": lambda: walkthrough_page(MADE),
}


def main() -> None:
    for path, page in PAGES.items():
        (ROOT / path).write_text(page())
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
