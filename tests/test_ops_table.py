"""The table of operators: names, documentation, and folds that agree with the reference meaning."""

import inspect

import pytest

from tile2triton.ops import OPERATORS

KINDS = (
    *("expression", "statement", "allocation", "loop", "kernel", "hint"),
    *("protocol", "scope", "thread", "whole"),
)
NUMBERS = {1: [(0.5,), (0.25,)], 2: [(0.75, 0.5), (-0.5, 0.25)], 3: [(0.5, 0.25, 0.75)]}
INTEGERS = {1: [(5,), (0,)], 2: [(7, 3), (6, 3)], 3: [(1, 2, 3)]}
FOLDED = sorted({row.name for row in OPERATORS.values() if row.fold})
OF_INTEGERS = (
    *("ceildiv", "floordiv", "floormod", "truncdiv", "truncmod", "align_up"),
    *("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_operator_is_documented(name):
    operator = OPERATORS[name]
    assert name in (operator.name, *operator.aliases)
    assert operator.kind in KINDS
    documentation = inspect.getdoc(operator.surface)
    if operator.kind == "whole":
        assert documentation and documentation.endswith(".")
        return
    assert "| form | meaning | Triton |" in documentation
    table = [line for line in documentation.splitlines() if line.startswith("|")]
    assert len(table) > 2
    assert {row.count("|") for row in table} == {4}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_expressions_and_statements_have_a_reference_meaning(name):
    operator = OPERATORS[name]
    if operator.whole is not None:
        forms = (operator.whole.surface, operator.whole.make, operator.whole.reference)
        names = [list(inspect.signature(one).parameters) for one in forms]
        # What makes the operand takes the same arguments behind the first.
        assert names[0] == names[1][1:] == names[2]
    has_meaning = operator.kind in ("expression", "statement", "hint", "protocol")
    assert (operator.reference is not None) == has_meaning


@pytest.mark.parametrize("name", FOLDED)
def test_folds_agree_with_the_reference(name):
    operator = OPERATORS[name]
    count = len(inspect.signature(operator.surface).parameters)
    cases = INTEGERS if name in OF_INTEGERS else NUMBERS
    for numbers in cases[count]:
        if name in ("acosh",):
            numbers = tuple(number + 1 for number in numbers)
        if name == "pow":
            numbers = tuple(abs(number) for number in numbers)
        assert float(operator.reference(*numbers)) == pytest.approx(float(operator.fold(*numbers)))


@pytest.mark.parametrize(("number", "rounded"), [(2.5, 3), (-2.5, -3), (2.4, 2)])
def test_round_moves_halves_away_from_zero(number, rounded):
    assert OPERATORS["round"].fold(number) == rounded
    assert OPERATORS["round"].reference(number) == rounded


def test_folds_keep_floats_floats():
    assert isinstance(OPERATORS["floor"].fold(2.5), float)
    assert isinstance(OPERATORS["max"].fold(2, 1.0), float)
    assert isinstance(OPERATORS["max"].fold(2, 1), int)
