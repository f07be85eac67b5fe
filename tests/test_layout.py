"""The printed text is what the formatter gives, on statements of random shape."""

import ast
import difflib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.random_trees import Trees
from tile2triton.printer import to_source

pytestmark = pytest.mark.slow

RUFF = shutil.which("ruff", path=Path(sys.executable).parent) or shutil.which("ruff")
needs_ruff = pytest.mark.skipif(RUFF is None, reason="ruff is not installed")


def formatted(text: str) -> str:
    command = [str(RUFF), "format", "--isolated", "--line-length", "88", "-"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def difference(ours: str, theirs: str) -> str:
    lines = (theirs.splitlines(), ours.splitlines())
    return "\n".join(difflib.unified_diff(*lines, "ruff", "ours", lineterm=""))


@needs_ruff
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_random_functions_are_laid_out_like_the_formatter_does(depth):
    functions = [Trees(seed).function(f"f{seed}", depth) for seed in range(60)]
    text = to_source(ast.fix_missing_locations(ast.Module(functions, [])))
    assert not difference(text, formatted(text))


@needs_ruff
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_layout_does_not_depend_on_how_the_program_was_broken_before(depth):
    functions = [Trees(seed).function(f"f{seed}", depth) for seed in range(100, 130)]
    text = to_source(ast.fix_missing_locations(ast.Module(functions, [])))
    # Without last commas and line breaks, the formatter has only the tree to go by.
    unbroken = ast.unparse(ast.parse(text))
    assert not difference(to_source(ast.parse(unbroken)), text)


@needs_ruff
@pytest.mark.parametrize("name", ["expressions", "literals", "precedence", "signature"])
def test_ordinary_python_is_printed_as_the_formatter_prints_it(name):
    path = Path(__file__).parent.parent / "tile2triton" / "printing" / f"{name}.py"
    text = to_source(ast.parse(path.read_text()))
    assert not difference(text, formatted(text))


def test_names_longer_than_a_line_do_not_gain_parentheses():
    text = f"x = {'n' * 90}\n"
    assert to_source(ast.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        """\
mask = (
    (offs_m[:, None] < sequence_length)
    & (offs_n[None, :] < sequence_length)
    & (offs_n <= offs_m[:, None])
)
""",
        """\
tile = tl.load(
    pointer + offs_m[:, None] * stride_m + offs_n[None, :], mask=mask_tile, other=0.0
)
""",
        """\
tile = tl.load(
    pointer + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n,
    mask=mask_rows[:, None] & mask_columns[None, :],
    other=0.0,
)
""",
        """\
total += (
    tl.dot(left_tile_in_bfloat16, right_tile_in_bfloat16, input_precision="ieee")
    * scale
)
""",
    ],
)
def test_layout_of_what_kernels_are_made_of(text):
    assert to_source(ast.parse(text)) == text
