"""Writes docs/hints.md from the table of hints; what stands below its tables is kept."""

from pathlib import Path

from tile2triton.hints.table import GROUPS, HintGroup

PAGE = Path(__file__).parent.parent / "docs/hints.md"
# What is written by hand begins here.
REST = "\n## Without a hint\n"
INTRODUCTION = """\
# Hints

The tables of this page are made from the code by `make docs`.

A hint changes no result. It says how a program should run: which instruction moves a tile, how the
warps share a product out, how many registers a thread has. Each hint is applied where the target
can, and is never the reason that a kernel fails on another one: there it is reported.
`kernel.lowered_facts.hint_report` has one entry for each hint that the user wrote, with how it was
applied and why; `tile2triton explain FILE:KERNEL --target cuda:90` prints it with the counts of
instructions in the compiled code as evidence. With `--html OUT` it writes a page that shows all
this beside the program, the emitted Triton, the TTGIR without and with patches, and the machine
code, line by line, with pictures of the layouts.

* `native`: Triton's language says it, as a word of a loop, a load or a launch. Where Triton does it
  anyway, nothing is written.
* `patch`: a patch of what Triton compiles the kernel to. The emitted module asks for it, and is one
  that runs without tile2triton, with the same results. Of a tile that several copies or products
  write, it is for the one that has the hint: `a (1 of 2)`.
* `none`: not applied; the report says why.

sm_80, sm_90 and sm_100 are NVIDIA's A100, H100 and B200; gfx942 and gfx950 are AMD's MI300X and
MI350X.
"""


def page() -> str:
    """The introduction, a table for each group, and what was written by hand."""
    rest = PAGE.read_text().partition(REST)[2]
    parts = [INTRODUCTION.rstrip(), *map(_group, GROUPS)]
    return "\n\n".join(parts) + "\n" + (REST + rest if rest else "")


def _group(group: HintGroup) -> str:
    lines = [f"## {group.title}", ""]
    if group.note:
        lines += [group.note, ""]
    lines += ["| hint | where | what it becomes |", "|---|---|---|"]
    lines += [f"| {row.written} | {row.targets} | {row.becomes} |" for row in group.rows]
    return "\n".join(lines)
