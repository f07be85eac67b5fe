"""Whole kernels of both styles become the tile program that a reader expects."""

import time
from pathlib import Path

import tile2triton
import tile2triton.language as T
from tests.frontend_programs import eager_program, text_of
from tests.kernels.flash_attention import flash_attention


@tile2triton.kernel
def matmul(A, B, block_M=64, block_N=32, block_K=16, dtype=T.float16, relu=False):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared([block_K, block_N], "half")
        C_local = T.alloc_fragment((block_M, block_N), T.float)

        T.clear(C_local)
        # All of K, step by step.
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)  # B as well
            T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.FullRow)
        if relu:
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = T.max(C_local[i, j], 0)
        T.copy(C_local, C[by * block_M, bx * block_N])

    return C


MATMUL = """\
M = 128
K = 96
N = 200
block_N = 32
block_M = 64
block_K = 16


def matmul(
    A: T.Tensor((M, K), "float16"),
    B: T.Tensor((K, N), "float16"),
    C: T.Tensor((M, N), "float16"),
):
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (
        bx,
        by,
    ):
        A_shared = T.alloc_shared((block_M, block_K), "float16")
        B_shared = T.alloc_shared((block_K, block_N), "float16")
        C_local = T.alloc_fragment((block_M, block_N), "float32")

        T.clear(C_local)
        # All of K, step by step.
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            # B as well
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local, policy="FullRow")
        T.copy(C_local, C[by * block_M, bx * block_N])
"""


def test_eager_gemm_keeps_names_and_comments():
    program = eager_program(matmul, {"M": 128, "N": 200, "K": 96})
    assert text_of(program) == MATMUL
    facts = program.facts
    assert facts.parameters == ("A", "B")
    assert facts.outputs == ("C",)
    assert facts.tensors["C"].role == "output"
    assert facts.settings == {"dtype": "'float16'", "relu": "False"}
    assert facts.tiles["B_shared"].shape == (16, 32)


def test_static_branch_is_chosen_by_its_flag():
    text = text_of(eager_program(matmul, {"M": 128, "N": 200, "K": 96}, relu=True))
    assert "C_local[i, j] = T.max(C_local[i, j], 0)" in text
    assert "if" not in text


def make_scale(rows, columns, factor=2.0, block=8):
    shape = [rows, columns]
    doubled = factor * 2

    @T.prim_func
    def scale(X: T.Tensor(shape, T.float32), n: T.int32, Y: T.Tensor(shape, T.float32)):
        with T.Kernel(T.ceildiv(rows, block)) as bx:
            for i, j in T.Parallel(block, columns):
                if bx * block + i < n:
                    Y[bx * block + i, j] = X[bx * block + i, j] * doubled
                else:
                    Y[bx * block + i, j] = 0

    return scale


def test_lazy_kernel_names_the_sizes_of_lists_and_the_numbers_of_its_factory():
    program = make_scale(20, 6).program((2,))
    assert (
        text_of(program)
        == """\
rows = 20
columns = 6
block = 8
doubled = 4.0


def scale(
    X: T.Tensor((rows, columns), "float32"),
    n: T.int32,
    Y: T.Tensor((rows, columns), "float32"),
):
    with T.Kernel(T.ceildiv(rows, block)) as bx:
        for i, j in T.Parallel(block, columns):
            if bx * block + i < n:
                Y[bx * block + i, j] = X[bx * block + i, j] * doubled
            else:
                Y[bx * block + i, j] = 0
"""
    )
    assert program.facts.parameters == ("X", "n")
    assert program.facts.scalars == {"n": "int32"}
    assert program.facts.outputs == ("Y",)


Y = [1, 2]


def test_parameter_may_have_the_name_of_a_list_of_the_module():
    def factory(n):
        @T.prim_func
        def program(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(n):
                    Y[i] = X[i]

        return program

    assert "Y[i] = X[i]" in text_of(factory(8).program((1,)))


def test_negative_out_idx_counts_from_the_end():
    assert make_scale(20, 6).program((-1,)).facts.outputs == ("Y",)


def make_dynamic():
    m = T.dynamic("m")
    n = T.symbolic("n")

    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), B: T.Tensor((n, 2 * m), "float32")):
        rows = A.shape[0]
        with T.Kernel(T.ceildiv(rows, 32)) as bx:
            B[0, bx] = T.cast(B.shape[1], "float32")

    return main


def test_dynamic_sizes_are_read_from_the_first_tensor_that_has_them():
    program = make_dynamic().program()
    assert program.facts.dims == {"m": ("A", 0), "n": ("A", 1)}
    assert program.facts.scalars == {"m": "int32", "n": "int32"}
    assert 'B: T.Tensor((n, 2 * m), "float32")' in text_of(program)
    assert "T.ceildiv(m, 32)" in text_of(program)


def test_two_kernels_share_a_workspace():
    @tile2triton.kernel
    def two_steps(A):
        n = T.dynamic("n")
        A: T.Tensor((n,), "float32")
        between = T.alloc_global((n,), "float32")
        B = T.empty((n,), "float32")
        with T.Kernel(n) as bx:
            between[bx] = A[bx] + 1
        with T.Kernel(n) as bx:
            B[bx] = between[bx] * 2
        return B

    program = eager_program(two_steps)
    assert [t.role for t in program.facts.tensors.values()] == ["input", "workspace", "output"]
    assert text_of(program).count("with T.Kernel(n) as bx:") == 2


def test_every_statement_and_call_has_a_place_in_the_source():
    import ast

    program = eager_program(matmul, {"M": 128, "N": 200, "K": 96}, relu=True)
    function = program.tree.body[-1]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    copies = [node for node in calls if ast.unparse(node.func) == "T.copy"]
    assert len(copies) == 3
    for copy in copies:
        assert lines[copy.lineno - 1][copy.col_offset :].startswith("T.copy(")
        assert not hasattr(copy, "filename")
    assert all(hasattr(node, "lineno") for node in ast.walk(function) if isinstance(node, ast.stmt))


def test_no_tree_is_shared_between_statements():
    import ast

    program = flash_attention.function(1, 2, 128, 64, True).program((3,))
    nodes = [
        id(node)
        for node in ast.walk(program.tree)
        if not isinstance(node, (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop))
    ]
    assert len(nodes) == len(set(nodes))


def test_tracing_flash_attention_takes_less_than_40_ms():
    flash_attention.function(1, 2, 128, 64, True).program((3,))
    times = []
    for _ in range(5):
        kernel = flash_attention.function(1, 2, 128, 64, True)
        started = time.process_time()
        kernel.program((3,))
        times.append(time.process_time() - started)
    assert min(times) < 0.04
