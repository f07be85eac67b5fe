"""Lines of TTGIR: operations with their values, types and locations."""

import pytest

from tile2triton.ttgir_text.locations import Locations, without_location
from tile2triton.ttgir_text.operations import OperationText, operation_text


def operation(line: str) -> OperationText:
    found = operation_text(line)
    assert found is not None
    return found


def test_types_are_those_behind_the_attributes() -> None:
    product = operation(
        "  %d = ttng.warp_group_dot %a, %b#1, %c-1_i32 {inputPrecision = 0 : i32} : "
        "!ttg.memdesc<8x8xf16, #shared, #smem> * tensor<8x8xf16, #ttg.dot_op<{opIdx = 1, "
        "parent = #mma}>> -> tensor<8x8xf32, #mma> loc(#loc3)"
    )
    assert (product.name, product.results) == ("ttng.warp_group_dot", ("%d",))
    assert product.operands == ("%a", "%b#1", "%c-1_i32")
    kinds = [text.partition("<")[0] for _, text in product.signature]
    assert kinds == ["!ttg.memdesc", "tensor", "tensor"]
    starts = [product.text[start:].partition("<")[0] for start, _ in product.signature]
    assert starts == kinds
    assert product.text[product.types[-1].place :] == "#mma>"


def test_a_loop_hands_on_values_of_all_types() -> None:
    loop = operation(
        "    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y#1) -> "
        "(i32, !ttg.memdesc<8xf16, #shared, #smem, mutable>)  : i32 {"
    )
    assert loop.opens and not loop.location
    assert loop.carried == (("%a", "%x"), ("%b", "%y#1"))
    assert loop.handed_out(1) == "%r#1"
    assert [text.partition("<")[0] for _, text in loop.signature] == ["i32", "!ttg.memdesc"]
    alone = operation("%s = scf.for %i = %a to %b step %c iter_args(%p = %q) -> (i32)  : i32 {")
    assert alone.handed_out(0) == "%s"


@pytest.mark.parametrize(
    "line",
    ["module attributes {} {", "    } loc(#loc1)", '^bb0(%a: i32 loc("a"(#loc))):', "#a = #b.c"],
)
def test_other_lines_are_no_operations(line: str) -> None:
    assert operation_text(line) is None


def test_locations_of_arguments_are_not_those_of_a_line() -> None:
    line = '  tt.func private @f(%a: i32 loc("a"(#loc)))'
    assert without_location(line) == (line, "")
    assert without_location('%a = x.y loc("a"(#loc))') == ("%a = x.y", '"a"(#loc)')


def test_locations_lead_to_variables_and_lines() -> None:
    lines = [
        '#loc = loc("/k.py":2:1)',
        '#loc1 = loc("/k.py":4:9)',
        '#loc2 = loc("/other.py":9:9)',
        "#loc3 = loc(callsite(#loc2 at #loc1))",
        '#loc4 = loc("a"(#loc3))',
        '#loc5 = loc("a.shape.0"(#loc))',
        "#loc6 = loc(unknown)",
        '#loc7 = loc("b (1 of 2)"(#loc1))',
    ]
    locations = Locations(lines)
    numbers = ("", 1, 2, 3, 4, 5, 6, 7, 8)
    variables = [locations.variable(f"#loc{number}") for number in numbers]
    assert variables == ["", "", "", "", "a", "", "", "b", ""]
    assert locations.name("#loc7") == "b (1 of 2)"
    found = [locations.line(f"#loc{number}", "/k.py") for number in numbers]
    assert found == [2, 4, 0, 4, 4, 2, 0, 4, 0]
