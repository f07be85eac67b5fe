"""Every operator's check: the bad calls that it names, and the good ones that it lets pass."""

import ast

import pytest

from tests.tile_program import parse_program
from tile2triton.ops.base import Operator

HEAD = """
block_M = 64
block_K = 32
def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((4, M, 8, 64), "float32"),
           W: T.Tensor((60, 60), "float16"), I: T.Tensor((N,), "int32"),
           C: T.Tensor((M, K), "float32")):
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((block_M, block_K), "float16")
        at = T.alloc_shared((block_K, block_M), "float16")
        b = T.alloc_shared((block_K, 48), "float16")
        odd = T.alloc_shared((60, 48), "float16")
        wide = T.alloc_shared((block_K, 48), "float32")
        staged = T.alloc_shared((2, block_M, block_K), "float16")
        c = T.alloc_fragment((block_M, 48), "float32")
        ci = T.alloc_fragment((block_M, 48), "int32")
        row = T.alloc_fragment((block_M,), "float32")
        row1 = T.alloc_fragment((block_M, 1), "float32")
        one = T.alloc_fragment((1,), "float32")
        flat = T.alloc_fragment((64,), "float32")
        unsigned = T.alloc_shared((block_M, block_K), "uint8")
        unsignedt = T.alloc_shared((block_K, 48), "uint8")
        x = T.alloc_var("int32")
        {statement}
"""


def problems_of(statement):
    program = parse_program(HEAD.format(statement=statement))
    kernel = program.tree.body[-1].body[0]
    found = []
    for node in ast.walk(kernel.body[-1]):
        if isinstance(node, ast.Call):
            operator = program.facts.operators[node.func.attr]
            assert isinstance(operator, Operator)
            found.extend(operator.check(node, program.facts))
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "T.copy(A[bx * 64, 0], a)",
        "T.copy(A[bx * block_M:(bx + 1) * block_M, x:x + block_K], a)",
        "T.copy(A[0:10, :], a[:, :])",
        "T.copy(a, A[0, 0])",
        "T.copy(B[x, 0, 3, :], flat)",
        "T.copy(flat, B[x, 0:1, 3, :])",
        "T.copy(staged[1, :, :], a)",
        "T.copy(row, row1[:, 0])",
        "T.copy(row1[:, :], row[:])",
        "T.copy(a[:x, :], A[0, 0])",
        "T.copy(W[0, 0], W[1, 1])",
        "T.gemm(a, b, c)",
        "T.gemm(at, b, c, transpose_A=True)",
        "T.gemm(staged[x, :, :], b, c, policy='FullRow', clear_accum=x == 0)",
        "T.reduce_sum(c, row, dim=1)",
        "T.reduce_max(c, row1, dim=-1, clear=False)",
        "T.reduce_absmax(row, one)",
        "T.reduce(c, row, 'min', dim=1)",
        "T.fill(c, 1.0)",
        "T.clear(a[0:8, :])",
        "T.clear(x)",
        "T.atomic_add(C[0, 0], c[:, 0:32])",
        "T.atomic_add(C[x, x], row[x])",
        "y = T.atomic_add(I[0], 1, return_prev=True)",
        "y = T.cast(x, 'float16') + T.infinity('float16')",
        "T.use_swizzle(8, order='column')",
        "T.annotate_safe_value({A: -1})",
        "for i in T.Pipelined(x, num_stages=3): pass",
        "for i in T.serial(10, 0, -2): pass",
        "for i, j in T.Parallel(block_M, block_K // 2): pass",
    ],
)
def test_good_calls_pass(statement):
    assert problems_of(statement) == []


@pytest.mark.parametrize(
    ("statement", "code", "words"),
    [
        ("T.copy(x, a)", "T2T201", "`x` is neither a tensor nor a tile"),
        ("T.clear(nothing)", "T2T270", "`nothing` is none"),
        ("T.copy(A[0:64:2, 0:32], a)", "T2T205", "no step"),
        ("T.clear(a[0:65, :])", "T2T206", "index 0 to 64 of dimension 0, which has extent 64"),
        ("T.copy(W[60, 0], a)", "T2T206", "index 60 of dimension 0"),
        ("T.copy(flat, a[0:2, :])", "T2T211", "different numbers of dimensions"),
        ("T.copy(A, a)", "T2T210", "two whole buffers"),
        ("T.copy(a, b)", "T2T210", "two whole buffers"),
        ("T.copy(B[0, 0:64, :, 0:32], a)", "T2T211", "different numbers of dimensions"),
        ("T.copy(A[0:128, 0:32], a)", "T2T212", "128 against 64 in dimension 0"),
        ("T.copy(a[0:32, 0:16], b[:, 0:32])", "T2T213", "32 against 16"),
        ("T.copy(a, c[0, 40])", "T2T206", "reaches outside of `c`"),
        ("T.gemm(a, odd, c)", "T2T221", "`a` has K = 32, `odd` has K = 60"),
        ("T.gemm(at, b, c)", "T2T221", "inner sizes"),
        ("T.gemm(a, at, c)", "T2T222", "`at` has N = 64, `c` has N = 48"),
        ("T.gemm(staged, b, c)", "T2T220", "has shape (2, 64, 32)"),
        ("T.gemm(A[0:64, 0:32], b, c)", "T2T226", "is a global tensor"),
        ("T.gemm(a, wide, c)", "T2T223", "two tiles of one type"),
        ("T.gemm(unsigned, unsignedt, ci)", "T2T224", "do not multiply uint8"),
        ("T.gemm(a, b, ci)", "T2T225", "not added up in int32"),
        ("T.gemm(a, b, c, transpose_A=x)", "T2T204", "`transpose_A=x`"),
        ("T.reduce_sum(c, one, dim=1)", "T2T230", "reduced along dim 1 is (64,) or (64, 1)"),
        ("T.reduce_sum(c, row, dim=2)", "T2T231", "`dim=2` is none of them"),
        ("T.reduce_sum(W, row)", "T2T232", "`W` is a global tensor"),
        ("T.reduce(c, row, 'mean')", "T2T233", "no kind of reduction"),
        ("T.atomic_add(C[0, 0], a, return_prev=True)", "T2T242", "one element"),
        ("T.atomic_add(C[0, 0], a, memory_order='soon')", "T2T243", "memory order"),
        ("for i in T.Parallel(x): pass", "T2T250", "`x` is not"),
        ("for i in T.Parallel(): pass", "T2T253", "at least one"),
        ("for i in T.Pipelined(8, num_stages=-1): pass", "T2T251", "num_stages=-1"),
        ("for i in T.serial(0, 8, 0): pass", "T2T252", "other than 0"),
        ("y = T.alloc_fragment((M, 8), 'float32')", "T2T280", "`M` is not"),
        ("y = T.cast(x, 'float17')", "T2T202", "`'float17'` is no element type"),
        ("y = T.cast(x, 'float16', round='rs')", "T2T290", "round='rs'"),
        ("T.use_swizzle(0)", "T2T291", "panel_size=0"),
        ("T.use_swizzle(8, order='diagonal')", "T2T292", "order='diagonal'"),
        ("T.annotate_safe_value({a: 1})", "T2T293", "`a` is no global tensor"),
        ("T.gemm(a, b, c, k_pack=3)", "T2T296", "`k_pack=3` is no number"),
        ("T.gemm(a, b, c, k_pack=-1)", "T2T296", "`k_pack=-1` is no number"),
    ],
)
def test_bad_calls_are_named(statement, code, words):
    problems = problems_of(statement)
    assert [problem.code for problem in problems] == [code]
    assert words in problems[0].message
    assert problems[0].node.lineno == HEAD.count("\n", 0, HEAD.index("{statement}")) + 1


def test_gemm_says_what_stands_on_each_side():
    (problem,) = problems_of("T.gemm(a, odd, c)")
    assert problem.found == (
        "a: (64, 32) float16",
        "odd: (60, 48) float16",
        "c: (64, 48) float32",
    )
    assert "transpose_A=True" in problem.hint


def test_several_problems_of_one_call_are_reported_together():
    assert [problem.code for problem in problems_of("T.gemm(x, W, c)")] == ["T2T201", "T2T226"]


@pytest.mark.parametrize(
    ("head", "code"),
    [("T.Kernel(1, 2, 3, 4)", "T2T260"), ("T.Kernel(1, threads=0)", "T2T261")],
)
def test_bad_grids_are_named(head, code):
    program = parse_program(f"def kernel(C: T.Tensor((1,), 'int32')):\n  with {head}: pass")
    call = program.tree.body[0].body[0].items[0].context_expr
    problems = list(program.facts.operators["Kernel"].check(call, program.facts))
    assert [problem.code for problem in problems] == [code]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("T.linear_scan(a, A, a)", "T2T863"),
        ("T.linear_scan(c, ci, c)", "T2T863"),
        ("T.linear_scan(c, c[0:32, :], c)", "T2T863"),
        ("T.linear_scan(c, c, c, start=row, dim=0)", "T2T863"),
        ("T.linear_scan(c, c, c, dim=2)", "T2T231"),
    ],
)
def test_tiles_of_a_recurrence_fit(statement, code):
    assert [problem.code for problem in problems_of(statement)] == [code]
    assert not problems_of("T.linear_scan(c, c, c, start=row, dim=1)")
