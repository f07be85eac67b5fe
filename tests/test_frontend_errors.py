"""What cannot be traced is refused at its place, with what to write instead."""

# Kernels are written as their users write them.
# ruff: noqa: F821, RET504

import pytest

import tile2triton.language as T
from tests.frontend_programs import errors_of, marked
from tile2triton.diagnostics import TileError

N = 64


def test_python_number_cannot_add_up_over_a_loop():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            s = 0.0
            for k in range(N):
                s = s + A[k]
            A[0] = s

    (error,) = errors_of(main)
    assert error.code == "T2T121"
    assert marked(error) == "s = s + A[k]"
    assert "T.alloc_var(dtype, init=0.0)" in error.hint


def test_static_counter_cannot_change_in_a_loop():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            stage = 0
            for k in range(N):
                A[k] = A[stage]
                stage = (stage + 1) % 2

    (error,) = errors_of(main)
    assert error.code == "T2T121"
    assert "stage" in error.message


def test_let_cannot_change_over_a_loop():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            x = A[0]
            for k in range(N):
                x *= A[k]

    (error,) = errors_of(main)
    assert error.code == "T2T121"


def test_value_of_a_branch_is_dead_after_it():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            x = 1
            if bx == 0:
                x = 2
            A[bx] = x

    (error,) = errors_of(main)
    assert error.code == "T2T120"
    assert marked(error) == "x"


def test_loop_variable_is_dead_after_its_loop():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for k in range(N):
                A[k] = 0
            A[0] = k

    (error,) = errors_of(main)
    assert error.code == "T2T120"


def test_dead_value_in_a_list_is_found():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            kept = []
            for k in range(N):
                x = A[k]
                kept.append(x + 1)
            A[0] = kept[0]

    (error,) = errors_of(main)
    assert error.code == "T2T120"
    assert "`x`" in error.message


def test_name_of_an_untaken_branch_has_no_value():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            if N == 1:
                x = 1
            A[0] = x

    (error,) = errors_of(main)
    assert error.message == "`x` has no value here"


def test_helper_that_decides_at_run_time_is_told_of_macros():
    def clip(x):
        if x < 1.0:
            return x
        return 1.0

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            A[bx] = clip(A[bx])

    (error,) = errors_of(main)
    assert error.code == "T2T133"
    assert "T.macro" in error.hint
    assert marked(error) == "x < 1.0"


def test_every_syntax_error_is_reported_at_once():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            for k in range(N):
                A[k] = 0
            else:
                A[0] = 1
            try:
                del A
            finally:
                pass
            if (y := bx) > 0:
                T.copyy(A, y)

    errors = errors_of(main)
    assert [error.code for error in errors] == ["T2T102"] * 3 + ["T2T110"]
    assert [error.line for error in errors] == sorted(error.line for error in errors)
    assert "T.copy" in errors[-1].hint


def test_wrong_statements_are_reported_together():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N):
            tile = T.alloc_shared((N,), "float32")
            T.fill(tile)
            T.fill(tile, 1, 2, 3, 4)
            T.copy(tile, A)

    errors = errors_of(main)
    assert [error.code for error in errors] == ["T2T160", "T2T160"]
    assert "T.fill(buffer, value" in errors[0].hint


def test_error_in_a_macro_points_into_the_macro():
    @T.macro
    def broken(x):
        y = x + undefined
        return y

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            A[bx] = broken(A[bx])

    (error,) = errors_of(main)
    assert "undefined" in error.message
    assert marked(error) == "undefined"


def test_python_cannot_leave_its_loop_at_run_time():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for k in range(N):
                for a in [1, 2, 3]:
                    if a == 2:
                        continue
                    if A[k] > 0:
                        break
                    A[a] = 0
                if A[k] > 0:
                    continue
                A[k] = 0

    (error,) = errors_of(main)
    assert error.code == "T2T165"
    assert marked(error) == "break"


def test_return_inside_a_branch_is_refused():
    @T.macro
    def early(A, bx):
        if bx > 3:
            return A[bx]
        return A[0]

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            A[bx] = early(A, bx)

    (error,) = errors_of(main)
    assert error.code == "T2T166"


def test_statement_outside_of_the_kernel_is_refused():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        A[0] = 1
        with T.Kernel(N) as bx:
            A[bx] = 0

    (error,) = errors_of(main)
    assert error.code == "T2T173"


def test_operator_outside_of_tracing_is_refused():
    with pytest.raises(TileError, match="outside of a kernel"):
        T.clear(None)
    assert T.ceildiv(7, 2) == 4
    assert T.min(3, 4) == 3


def test_prim_func_is_not_called_before_it_is_compiled():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            A[bx] = 0

    with pytest.raises(TileError, match=r"tile2triton\.compile"):
        main(None)


def test_code_without_a_file_is_refused():
    scope = {"T": T}
    exec("def main(A: T.Tensor((4,), 'float32')):\n    pass", scope)
    with pytest.raises(TileError, match="source text"):
        T.prim_func(scope["main"]).program()
