"""What users read when something is wrong: rendering, spans, and the catalogue of codes."""

import ast
import re
from pathlib import Path

import pytest

from rewrites.errors import Problem, RewriteError
from tile2triton.diagnostics import (
    ArgumentError,
    Diagnostic,
    TileError,
    at_node,
    from_rewrite_error,
)
from tile2triton.diagnostics_catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("x = 1\ny = reduce(tile, größe)\n", encoding="utf-8")
    return path


def node_at(path, line):
    return ast.parse(path.read_text(encoding="utf-8")).body[line - 1].value


def test_error_shows_the_line_with_carets_and_what_to_type(source):
    diagnostic = at_node(
        node_at(source, 2), str(source), "T2T230", "wrong shape", ("tile: (64,)",), "use (32,)"
    )
    assert diagnostic.render().splitlines() == [
        "error[T2T230]: wrong shape",
        f" --> {source}:2:5",
        "  |",
        "2 | y = reduce(tile, größe)",
        "  |     ^^^^^^^^^^^^^^^^^^^",
        "  = found: tile: (64,)",
        "  = help: use (32,)",
    ]


def test_columns_count_characters_and_not_bytes(source):
    argument = node_at(source, 2).args[1]
    diagnostic = at_node(argument, str(source), "T2T101", "here")
    assert (diagnostic.line, diagnostic.column, diagnostic.end) == (2, 18, 23)


def test_error_of_several_problems_shows_them_in_source_order(source):
    late, early = node_at(source, 2), node_at(source, 1)
    error = from_rewrite_error(
        RewriteError(Problem(late, "T2T302", "second"), Problem(early, "T2T301", "first")),
        str(source),
    )
    assert [one.message for one in error.diagnostics] == ["first", "second"]
    assert str(error).index("first") < str(error).index("second")


def test_problem_in_another_file_names_that_file(source):
    node = node_at(source, 1)
    node.filename = "macros.py"
    error = from_rewrite_error(RewriteError(Problem(node, "T2T301", "here")), str(source))
    assert error.diagnostics[0].filename == "macros.py"


def test_error_without_a_place_is_one_line():
    assert str(TileError(Diagnostic("T2T410", "`A` must be a tensor"))) == (
        "error[T2T410]: `A` must be a tensor"
    )


def test_every_code_that_is_reported_is_in_the_catalogue():
    files = [*(ROOT / "rewrites").rglob("*.py"), *(ROOT / "tile2triton").rglob("*.py")]
    used = {
        code
        for path in files
        if path.name != "diagnostics_catalogue.py"
        for code in re.findall(r'"(T2T\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used - CATALOGUE.keys() == set()
    assert CATALOGUE.keys() - used == set()


def test_entries_are_in_the_order_of_their_codes():
    assert list(CATALOGUE) == sorted(CATALOGUE)


@pytest.mark.parametrize("code", CATALOGUE)
def test_example_in_the_catalogue_is_python(code):
    entry = CATALOGUE[code]
    assert entry.title
    assert entry.explanation.endswith((".", "…"))
    for example in (entry.wrong, entry.right):
        ast.parse(example)
    assert bool(entry.right) or not entry.wrong


def test_programs_that_await_pythons_own_errors_catch_ours():
    for error in (ValueError, RuntimeError):
        with pytest.raises(error):
            raise TileError(Diagnostic("T2T110", "wrong"))
    with pytest.raises(TypeError):
        raise ArgumentError(Diagnostic("T2T110", "wrong"))
