"""Reading of regions, and how the two sides of a copy match."""

import ast

import pytest

from tests.tile_program import parse_program
from tile2triton.ops.regions import difference, match_copy, read_region, static_value

FACTS = parse_program(
    """
    block_M = 64
    one = 1
    scale = 0.5
    def kernel(A: T.Tensor((B, M, 8, 64), "float16"), W: T.Tensor((M, 48), "float16"),
               C: T.Tensor((M, M // 2), "float16")):
        with T.Kernel(1) as bx:
            tile = T.alloc_shared((block_M, 48), "float16")
            flat = T.alloc_fragment((1, 48), "float32")
    """
).facts


def tree(text):
    return ast.parse(text, mode="eval").body


def region(text):
    found = read_region(tree(text), FACTS)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("block_M // 2 + 1", 33),
        ("T.ceildiv(100, block_M)", 2),
        ("-block_M % 5", 1),
        ("scale * 2", 1.0),
        ("T.max(one, 3)", 3),
        ("M", None),
        ("block_M * bx", None),
        ("1 // 0", None),
        ("'text'", None),
        ("True", True),
    ],
)
def test_static_values(text, value):
    assert static_value(tree(text), FACTS) == value


@pytest.mark.parametrize(
    ("left", "right", "value"),
    [
        ("(bx + 1) * block_M", "bx * block_M", 64),
        ("bx * block_M + 10", "block_M * bx", 10),
        ("i + j", "j + i", 0),
        ("M", "i", None),
        ("A[i] + 1", "A[i]", 1),
        ("-(i - 4)", "-i", 4),
    ],
)
def test_differences(left, right, value):
    assert difference(tree(left), tree(right), FACTS) == value


def test_whole_buffer():
    found = region("W")
    assert found.whole
    assert found.is_tensor
    assert [ast.unparse(extent) for extent in found.extents] == ["M", "48"]
    assert found.sizes == (None, 48)


def test_start_has_no_extents():
    found = region("W[i, 0]")
    assert found.extents is None
    assert [ast.unparse(start) for start in found.starts] == ["i", "0"]


def test_slices_and_indices():
    found = region("A[b, i * block_M:(i + 1) * block_M, h, :]")
    assert [ast.unparse(start) for start in found.starts] == ["b", "i * block_M", "h", "0"]
    assert found.sizes == (1, 64, 1, 64)
    assert found.shape_text == "(1, 64, 1, 64)"


def test_slice_from_the_end():
    found = region("tile[-16:, :]")
    assert ast.unparse(found.starts[0]) == "block_M - 16"
    assert found.sizes == (16, 48)


def test_what_is_no_region():
    assert read_region(tree("bx + 1"), FACTS) is None
    assert read_region(tree("W[i]"), FACTS) is None


@pytest.mark.parametrize(
    ("source", "destination", "extents", "source_axes", "destination_axes"),
    [
        ("W[i, 0]", "tile", ["block_M", "48"], (0, 1), (0, 1)),
        ("tile", "W[i, 0]", ["block_M", "48"], (0, 1), (0, 1)),
        ("A[b, i:i + 10, h, 0:48]", "tile", ["block_M", "48"], (1, 3), (0, 1)),
        ("A[b, h, i, 0]", "tile", ["block_M", "48"], (2, 3), (0, 1)),
        ("W[i, 0]", "flat", ["48"], (1,), (1,)),
        ("W[i:i + one, :]", "flat", ["48"], (1,), (1,)),
        ("tile[3, :]", "flat", ["48"], (1,), (1,)),
        ("tile[:n, :]", "W[i, 0]", ["n", "48"], (0, 1), (0, 1)),
        ("W[0:n, :]", "C[0, 0]", ["n", "48"], (0, 1), (0, 1)),
        ("W[i, j]", "C[j, i]", [], (), ()),
    ],
)
def test_sides_that_match(source, destination, extents, source_axes, destination_axes):
    match = match_copy(region(source), region(destination), FACTS)
    assert match is not None
    assert [ast.unparse(extent) for extent in match.extents] == extents
    assert match.source_axes == source_axes
    assert match.destination_axes == destination_axes


@pytest.mark.parametrize(
    ("source", "destination"), [("A[b, 0:64, :, 0:48]", "tile"), ("flat", "tile[0:2, :]")]
)
def test_sides_that_do_not_match(source, destination):
    assert match_copy(region(source), region(destination), FACTS) is None
