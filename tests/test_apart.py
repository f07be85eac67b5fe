"""Stores of a loop that go to elements of their own in each iteration need no barrier."""

import ast
import textwrap

import pytest

from rewrites import separate_accesses
from tests.tile_program import parse_program

PROGRAM = """
size = 32
half = 16

def k(A: T.Tensor((1024,), "float32"), C: T.Tensor((1024,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_fragment((size,), "float32")
        for v in T.serial(8):
            T.copy(A[v * size], tile)
            {store}
"""


def barriers(store: str) -> int:
    program = parse_program(PROGRAM.format(store=store))
    tree = separate_accesses.run(program.tree, program.facts)
    return ast.unparse(tree).count("T.sync_threads()")


@pytest.mark.parametrize(
    "store",
    [
        "T.copy(tile, C[v * size])",
        "T.copy(tile, C[v * size : (v + 1) * size])",
        "T.copy(tile, C[v * size : v * size + size])",
        "for i in T.Parallel(size): C[v * size + i] = tile[i]",
        "for i in T.Parallel(size): C[(v + 1) * size + i] = tile[i]",
        "for i in T.Parallel(32): C[v * 64 + i * 2] = tile[i]",
        "C[v] = 1.0",
    ],
)
def test_tiles_side_by_side_need_no_barrier(store: str) -> None:
    assert barriers(store) == 0


@pytest.mark.parametrize(
    "store",
    [
        "T.copy(tile, C[v * half])",
        "T.copy(tile, C[v * half : (v + 2) * half])",
        "T.copy(tile, C[bx * size])",
        "for i in T.Parallel(size): C[v * half + i] = tile[i]",
        "for i in T.Parallel(size): C[v * size + i * 2] = tile[i]",
        "for i in T.Parallel(32): C[v * 62 + i * 2] = tile[i]",
        # The end of a slice means nothing: the tile says how much is copied.
        "T.copy(tile, C[v * half : v * half + half])",
        "T.copy(tile, C[v * half : (v + 1) * half])",
        # The constants of an emitted file may be edited.
        "T.copy(tile, C[v * 32])",
        "T.copy(tile, C[v * size % 64])",
        "C[v // 2] = 1.0",
    ],
)
def test_tiles_that_overlap_need_one(store: str) -> None:
    assert barriers(store) == 1


def test_a_loop_around_that_goes_over_the_same_tiles_again_needs_one() -> None:
    store = "for w in T.serial(4): T.copy(tile, C[w * size])"
    assert barriers(store) == 1


def ordered(body: str) -> str:
    """The statements of a kernel with barriers; tiles `t` and `u` have 64 elements."""
    head = """
def k(A: T.Tensor((1024,), "float32"), B: T.Tensor((64, 64), "float32"),
      I: T.Tensor((64,), "int32"), C: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        t = T.alloc_fragment((64,), "float32")
        u = T.alloc_fragment((64,), "float32")
        n = T.alloc_fragment((4,), "int32")
        v = T.alloc_var("int32", 0)
"""
    program = parse_program(head + textwrap.indent(textwrap.dedent(body).strip(), " " * 8))
    tree = separate_accesses.run(program.tree, program.facts)
    (kernel,) = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    return "\n".join(ast.unparse(statement) for statement in kernel.body[4:])


def test_overlapping_windows_are_in_order_and_not_pipelined() -> None:
    text = ordered(
        """
        for k in T.Pipelined(4, num_stages=3):
            T.copy(A[k * 32:k * 32 + 32], t)
            T.copy(t, A[k * 32:k * 32 + 32])
        """
    )
    assert text == textwrap.dedent(
        """\
        for k in T.Pipelined(4):
            T.sync_threads()
            T.copy(A[k * 32:k * 32 + 32], t)
            T.copy(t, A[k * 32:k * 32 + 32])"""
    )


def test_tiles_that_are_changed_in_place_stay_pipelined() -> None:
    body = """
        for k in T.Pipelined(4, num_stages=3):
            T.copy(A[k * 64:k * 64 + 64], t)
            T.copy(t, A[k * 64:k * 64 + 64])
        """
    assert ordered(body) == textwrap.dedent(body).strip()


def test_a_loop_may_step_by_the_tile_itself() -> None:
    body = "for k in T.serial(0, 512, {}):\n    T.copy(A[k], t)\n    T.copy(t, A[k])"
    assert "sync" not in ordered(body.format(64))
    assert "sync" in ordered(body.format(32))


@pytest.mark.parametrize(
    "between",
    ["v = v + 32", "if bx == 0: v = 3", "while v < 3: v = v + 1"],
)
def test_a_variable_that_changed_names_another_place(between: str) -> None:
    text = ordered(f"T.copy(A[v], t)\n{between}\nT.copy(t, A[v])")
    assert text.endswith("T.sync_threads()\nT.copy(t, A[v])")


@pytest.mark.parametrize(
    ("index", "change"),
    [("n[0]", "n[0] = 5"), ("n[0]", "T.copy(I[0], n)"), ("I[0]", "I[0] = 5")],
)
def test_an_element_that_changed_names_another_place(index: str, change: str) -> None:
    assert "sync" not in ordered(f"T.copy(A[{index}], t)\nv = 1\nT.copy(t, A[{index}])")
    text = ordered(f"T.copy(A[{index}], t)\n{change}\nT.copy(t, A[{index}])")
    assert text.endswith(f"T.sync_threads()\nT.copy(t, A[{index}])")


def test_the_next_iteration_is_another_place() -> None:
    text = ordered(
        """
        for k in T.serial(4):
            T.copy(u, A[k * 32])
            T.copy(A[k * 32], t)
        """
    )
    assert text == textwrap.dedent(
        """\
        for k in T.serial(4):
            T.sync_threads()
            T.copy(u, A[k * 32])
            T.sync_threads()
            T.copy(A[k * 32], t)"""
    )


def test_a_tile_that_is_loaded_and_stored_once_needs_no_barrier() -> None:
    body = "T.copy(A[bx * 64], t)\nT.copy(t, A[bx * 64])"
    assert ordered(body) == body


def test_the_same_start_of_another_length_is_shared_out_otherwise() -> None:
    text = ordered("T.copy(A[0], t)\nfor i in T.Parallel(32):\n    A[i] = 0.0")
    assert text.count("T.sync_threads()") == 1
    loops = "for i in T.Parallel(64):\n    C[i] = A[i]\nfor i in T.Parallel({}):\n    A[i] = 0.0"
    assert "sync" not in ordered(loops.format(64))
    assert "sync" in ordered(loops.format(32))


def test_each_of_two_loops_has_to_move_the_tile() -> None:
    body = "for r in T.serial(8):\n    for q in T.serial(8):\n        T.copy(u, {})"
    assert "sync" not in ordered(body.format("B[r, q * 64]"))
    assert "sync" in ordered(body.format("B[r, 0]"))
    assert "sync" in ordered(body.format("B[0, q * 64]"))
    assert "sync" in ordered(body.format("B[r + q, 0]"))


def test_named_indices_are_the_same_as_written_out_ones() -> None:
    body = (
        "for r in T.serial(8):\n    x = r * 2\n    y = {}\n    T.copy(A[y], t)\n    T.copy(t, A[y])"
    )
    assert "sync" not in ordered(body.format("(x + 1) * 32"))
    assert "sync" in ordered(body.format("x * 16"))
    assert "sync" in ordered(body.format("I[r]"))
    assert "sync" in ordered(body.format("r * 64 + v"))
    inner = "    for i in T.Parallel(64):\n        x = r * {} + i\n        A[x] = A[x] + 1.0"
    body = "for r in T.serial(8):\n" + inner
    assert "sync" not in ordered(body.format(64))
    assert "sync" in ordered(body.format(32))


def test_the_condition_of_a_loop_is_read_behind_its_body() -> None:
    text = ordered("while A[0] < 5.0:\n    A[0] = 7.0")
    assert text == ("while A[0] < 5.0:\n    T.sync_threads()\n    A[0] = 7.0\n    T.sync_threads()")
