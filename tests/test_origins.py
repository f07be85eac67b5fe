"""The lines of the user's that emitted lines come from."""

import pytest

import tile2triton
import tile2triton.language as T
from tile2triton.emit import emit
from tile2triton.explaining.origins import origins, statement_lines


@tile2triton.kernel(out_idx=[2])
def product(M=128, N=64, K=128, rows=64):
    @T.macro
    def scaled(c):
        for i, j in T.Parallel(rows, N):
            c[i, j] = c[i, j] * 2.0
            if j < 7:
                c[i, j] = c[i, j] + 1.0

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            a = T.alloc_shared((rows, 64), "float16")
            b = T.alloc_shared((64, N), "float16")
            c = T.alloc_fragment((rows, N), "float32")
            first = bx * rows
            # Nothing is summed yet.
            T.clear(c)
            for k in T.Pipelined(K // 64, num_stages=3):
                T.copy(A[first, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            scaled(c)
            T.copy(c, C[first, 0])

    return main


@pytest.fixture(scope="module")
def lines():
    """The pairs of an emitted line and the user's."""
    kernel = product()
    tree, facts = kernel.lowered_for("cuda:80")
    text = emit(tree, facts)
    emitted = text.splitlines()
    with open(__file__) as file:
        written = file.read().splitlines()
    found = origins(tree, text, facts.filename)
    assert {place.filename for place in found.values()} == {facts.filename}
    return {
        emitted[line - 1].strip(): written[place.line - 1].strip() for line, place in found.items()
    }


@pytest.mark.parametrize(
    ("emitted", "written"),
    [
        ("@triton.jit", "with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:"),
        ("first = bx * rows", "first = bx * rows"),
        ("# Nothing is summed yet.", "T.clear(c)"),
        ("c = tl.zeros((rows, N), tl.float32)", "T.clear(c)"),
        ("for k in", "for k in T.Pipelined(K // 64, num_stages=3):"),
        ("a = tl.load(", "T.copy(A[first, k * 64], a)"),
        ("c = tl.dot(", "T.gemm(a, b, c)"),
        ("c = c * 2.0", "c[i, j] = c[i, j] * 2.0"),
        ("c = tl.where(", "c[i, j] = c[i, j] + 1.0"),
        ("tl.store(", "T.copy(c, C[first, 0])"),
    ],
)
def test_lines_come_from_the_statements_that_they_stand_for(lines, emitted, written):
    found = {user for line, user in lines.items() if line.startswith(emitted)}
    assert found == {written}, lines


def test_lines_of_a_statement_belong_to_its_first():
    text = "@jit\ndef k(\n    A,\n):\n    for i in range(\n        3\n    ):\n        # why\n"
    text += "        a = (\n            A\n        )\n"
    found = statement_lines(text)
    assert [found[line] for line in range(1, 12)] == [2] * 4 + [5] * 3 + [9] * 4
