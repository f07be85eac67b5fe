"""Runs the `before:` and `after:` of each rewrite's docstring."""

import ast
import re
import textwrap

import pytest

from rewrites.facts import Facts, Program
from rewrites.nodes import Blank, Comment
from rewrites.schedule import Schedule
from tests.tile_program import parse_program
from tile2triton.pipeline import PIPELINE

BLOCKS = re.compile(
    r"^(before|after)(?: for (\S+))?(?: with (\w+)(?:\.(\w+))?=(\d+))?:\n((?:    .*\n|[ ]*\n)+)",
    re.MULTILINE,
)


def examples(docstring: str) -> list[tuple[str, Schedule, str, str]]:
    """Target, schedule and the indented blocks under each `before:` and `after:`, in order."""
    found = BLOCKS.findall(docstring + "\n")
    heads = [head for head, *_ in found]
    assert heads == ["before", "after"] * (len(heads) // 2), "before and after must alternate"
    targets = [target or Facts("k").target for _, target, *_ in found]
    schedules = [
        Schedule(**({field: {key: int(value)} if key else int(value)} if field else {}))
        for *_, field, key, value, _ in found
    ]
    texts = [textwrap.dedent(block).strip() for *_, block in found]
    return list(zip(targets[::2], schedules[::2], texts[::2], texts[1::2], strict=True))


CASES = [
    pytest.param(rewrite, target, schedule, before, after, id=f"{rewrite.name}-{number}")
    for rewrite in PIPELINE
    for number, (target, schedule, before, after) in enumerate(examples(rewrite.doc))
]


@pytest.mark.parametrize("rewrite", PIPELINE, ids=lambda rewrite: rewrite.name)
def test_rewrite_has_an_example(rewrite):
    assert examples(rewrite.doc)


@pytest.mark.parametrize(("rewrite", "target", "schedule", "before", "after"), CASES)
def test_example_of_the_rewrite_holds(rewrite, target, schedule, before, after):
    # Behind the lowering there are Triton kernels, whose parameters say nothing about types.
    is_lowered = "T." not in before.replace("T.Tensor", "") and "return" not in before
    program = Program(ast.parse(before), Facts("k")) if is_lowered else parse_program(before)
    program.facts.target = target
    program.facts.schedule = schedule
    tree = rewrite.run(program.tree, program.facts)
    assert ast.unparse(WithoutComments().visit(tree)) == ast.unparse(ast.parse(after))


class WithoutComments(ast.NodeTransformer):
    """Python's own parser, which reads the `after:`, drops comments and blank lines."""

    def visit_Comment(self, node: Comment) -> None:
        return None

    def visit_Blank(self, node: Blank) -> None:
        return None
