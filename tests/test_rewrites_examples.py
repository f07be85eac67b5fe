"""Runs the `before:` and `after:` of each rewrite's docstring."""

import ast
import re
import textwrap

import pytest

from rewrites.facts import Facts, Program
from rewrites.nodes import Blank, Comment
from tests.tile_program import parse_program
from tile2triton.pipeline import PIPELINE


def examples(docstring: str) -> list[tuple[str, str]]:
    """The pairs of indented blocks under `before:` and `after:`, in order."""
    found = re.findall(r"^(before|after):\n((?:    .*\n|[ ]*\n)+)", docstring + "\n", re.MULTILINE)
    heads = [head for head, _ in found]
    assert heads == ["before", "after"] * (len(heads) // 2), "before and after must alternate"
    texts = [textwrap.dedent(block).strip() for _, block in found]
    return list(zip(texts[::2], texts[1::2], strict=True))


CASES = [
    pytest.param(rewrite, before, after, id=f"{rewrite.name}-{number}")
    for rewrite in PIPELINE
    for number, (before, after) in enumerate(examples(rewrite.doc))
]


@pytest.mark.parametrize("rewrite", PIPELINE, ids=lambda rewrite: rewrite.name)
def test_rewrite_has_an_example(rewrite):
    assert examples(rewrite.doc)


@pytest.mark.parametrize(("rewrite", "before", "after"), CASES)
def test_example_of_the_rewrite_holds(rewrite, before, after):
    # Behind the lowering there are Triton kernels, whose parameters say nothing about types.
    is_lowered = "T." not in before.replace("T.Tensor", "") and "return" not in before
    program = Program(ast.parse(before), Facts("k")) if is_lowered else parse_program(before)
    tree = rewrite.run(program.tree, program.facts)
    assert ast.unparse(WithoutComments().visit(tree)) == ast.unparse(ast.parse(after))


class WithoutComments(ast.NodeTransformer):
    """Python's own parser, which reads the `after:`, drops comments and blank lines."""

    def visit_Comment(self, node: Comment) -> None:
        return None

    def visit_Blank(self, node: Blank) -> None:
        return None
