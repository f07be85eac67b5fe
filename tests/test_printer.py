"""Printing: comments and blank lines, least parentheses, literals, and that the tree survives."""

import ast
import subprocess
import sys
import time

import pytest

from rewrites.nodes import Blank, Comment
from tests.random_trees import Trees
from tile2triton.printer import to_source


@pytest.mark.parametrize(
    "text",
    [
        "(a + b) * c",
        "a + b * c",
        "a - (b - c)",
        "-(2**n)",
        "(-2) ** n",
        "2**-n",
        "a.b**2",
        "f(x) ** 2",
        "not (a and b)",
        "a & b == c",
        "a & (b == c)",
        "a < b < c",
        "(a < b) < c",
        "a if b else c",
        "(a if b else c).d",
        "(a, b)[0]",
        "x[a, b]",
        "x[:, None]",
        "x[a + 1 : b]",
        "x[a:b]",
        "x[i, lo : lo + 8, :]",
        "x[-1:]",
        "(1).bit_length()",
        "(lambda: 0)()",
        "[i for i in range(n) if i % 2]",
        "sum(i * i for i in range(n))",
        "{**a, 'b': 1}".replace("'", '"'),
        "f(*args, **kwargs)",
        "(a,)",
        "()",
        'f"{name} has {size:>4} of {kind!r}"',
        "'say \"x\"'",
        "1e20",
        "1e-05",
        "x[(a,)]",
    ],
)
def test_expression_has_the_least_parentheses(text):
    assert to_source(ast.parse(text, mode="eval").body) == text


@pytest.mark.parametrize("seed", range(40))
def test_random_tree_comes_back_from_its_text(seed):
    tree = ast.fix_missing_locations(ast.Module([Trees(seed).function("f", 5)], []))
    assert ast.unparse(ast.parse(to_source(tree))) == ast.unparse(tree)


def test_statements_are_printed_as_they_were_written():
    text = '''\
"""What it is."""

import torch
from math import pi as π, tau

limit: int = 3


def first(a, b: int = 2, *rest, c, d=4, **more) -> int:
    """Say it."""
    global limit
    with T.Kernel(4, threads=128) as (bx, by):
        for i, j in T.Parallel(4, 8):
            acc[i, j] += a[i, j]
    while a > b:
        a -= 1
        if a:
            continue
        elif b:
            break
        else:
            pass
    a, b = b, a
    pair = (a, b)
    assert pair, "empty"
    try:
        raise ValueError("x") from None
    except (TypeError, ValueError) as error:
        del a
    return a, b


@jit
def second():
    return


x = y = 0
'''
    assert to_source(ast.parse(text)) == text


def test_comments_and_blank_lines_stand_where_they_were():
    function = ast.parse("def f(x):\n    y = x\n    z = y\n    return z").body[0]
    y, z, back = function.body
    function.body = [Blank(), Comment("First."), y, Blank(), Blank(), Comment(""), z, Blank(), back]
    module = ast.Module([Comment("Above f."), function, Comment("Below."), Blank(), y], [])
    assert (
        to_source(module)
        == """\
# Above f.
def f(x):
    # First.
    y = x

    #
    z = y

    return z


# Below.

y = x
"""
    )


def test_two_lines_stand_above_the_comment_of_a_function():
    module = ast.parse("import torch\nx = 1\ndef f(): pass")
    module.body.insert(2, Comment("About f."))
    assert to_source(module) == ("import torch\n\nx = 1\n\n\n# About f.\ndef f():\n    pass\n")


def test_one_tree_may_stand_in_two_places():
    shared = ast.parse("a + b", mode="eval").body
    tree = ast.BinOp(shared, ast.Mult(), ast.Call(ast.Name("f"), [shared], []))
    assert to_source(tree) == "(a + b) * f(a + b)"


def test_negative_constant_is_a_minus_and_a_number():
    tree = ast.BinOp(ast.Constant(-1), ast.Pow(), ast.Constant(2))
    assert to_source(tree) == "(-1) ** 2"


def test_docstring_with_quotes_and_backslashes_survives():
    module = ast.Module([ast.Expr(ast.Constant('A "\\n" and """ in "it"'))], [])
    assert ast.get_docstring(ast.parse(to_source(module))) == 'A "\\n" and """ in "it"'


def test_node_that_python_has_no_text_for_is_our_error():
    with pytest.raises(AssertionError, match="printer met Yield"):
        to_source(ast.parse("x = yield 1"))


def test_text_that_means_another_tree_is_our_error():
    broken = ast.Call(ast.Name("f(a)"), [], [])
    with pytest.raises(AssertionError, match="does not parse back"):
        to_source(broken)


def test_printer_warns_of_nothing_on_import():
    command = [sys.executable, "-W", "error", "-c", "import tile2triton.printer"]
    assert subprocess.run(command, check=False).returncode == 0


def test_printing_stays_fast():
    module = ast.Module([Trees(seed).function(f"f{seed}", 2) for seed in range(30)], [])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        text = to_source(module)
        times.append(time.perf_counter() - start)
    # 30 ms a thousand lines on an idle machine; the bound catches only what grows.
    assert min(times) < text.count("\n") / 1000 * 0.5
