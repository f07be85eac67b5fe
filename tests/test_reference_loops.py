"""The reference meaning of T.Parallel, loops, branches and variables."""

import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference


def test_index_expressions_in_parallel():
    program = parse_program(
        """
        def kernel(A: T.Tensor((16, 64), "float32"), B: T.Tensor((7,), "float32"),
                   C: T.Tensor((16, 64), "float32")):
            with T.Kernel(1) as bx:
                for i, j in T.Parallel(16, 64):
                    C[i, j] = A[i, j] + B[j % 7]
        """
    )
    a, b = np.zeros((16, 64), np.float32), np.arange(7, dtype=np.float32)
    (c,) = reference.run(program, [a, b])
    np.testing.assert_array_equal(c, np.tile(np.arange(64) % 7, (16, 1)))


def test_rotated_read_of_a_tile():
    program = parse_program(
        """
        def kernel(A: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
            with T.Kernel(1) as bx:
                buf = T.alloc_shared((128,), "float32")
                T.copy(A, buf)
                for i in T.Parallel(128):
                    C[i] = buf[(i + 1) % 128]
        """
    )
    a = np.arange(128, dtype=np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, np.roll(a, -1))


def test_parallel_shorter_than_the_tile():
    program = parse_program(
        """
        def kernel(C: T.Tensor((256,), "float32")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((256,), "float32")
                T.clear(f)
                for i in T.Parallel(100):
                    f[i] = 5
                for i in T.Parallel(256):
                    C[i] = f[i] + 1
        """
    )
    (c,) = reference.run(program, [])
    np.testing.assert_array_equal(c, [6] * 100 + [1] * 156)


@pytest.mark.parametrize("stages", range(5))
def test_pipelined_keeps_the_order_of_the_program(stages):
    program = parse_program(
        f"""
        def kernel(A: T.Tensor((8, 32), "float32"), C: T.Tensor((32,), "float32")):
            with T.Kernel(1) as bx:
                S = T.alloc_shared((32,), "float32")
                acc = T.alloc_fragment((32,), "float32")
                T.clear(acc)
                T.fill(S, 100)
                for k in T.Pipelined(8, num_stages={stages}):
                    for i in T.Parallel(32):
                        acc[i] += S[i]
                    T.copy(A[k, :], S)
                T.copy(acc, C)
        """
    )
    a = np.repeat(np.arange(1, 9, dtype=np.float32)[:, None], 32, axis=1)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, [128] * 32)


def test_variables_lets_and_branches_per_element():
    program = parse_program(
        """
        def kernel(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, 16)) as bx:
                for i in T.Parallel(16):
                    x = A[bx * 16 + i]
                    total = T.alloc_var("int32", 3)
                    if x > 0:
                        total = total + 2.7
                    else:
                        if x < -1:
                            total = total - 10
                    for k in T.serial(i % 3):
                        total = total + k + 1
                    C[bx * 16 + i] = total
        """
    )
    a = np.random.default_rng(0).standard_normal(37).astype(np.float32)
    (c,) = reference.run(program, [a])
    trips = np.arange(37) % 16 % 3
    expected = np.where(a > 0, 5, np.where(a < -1, -7, 3)) + trips * (trips + 1) // 2
    np.testing.assert_array_equal(c, expected)


def test_serial_with_start_stop_and_step():
    program = parse_program(
        """
        def kernel(C: T.Tensor((16,), "int32")):
            with T.Kernel(1) as bx:
                n = T.alloc_var("int32")
                for i in T.Parallel(16):
                    C[i] = 0
                for i in T.serial(10, 2, -3):
                    n = n + 1
                    C[i] = n
                while n < 5:
                    n = n + 1
                    C[n + 10] = n
        """
    )
    (c,) = reference.run(program, [])
    expected = np.zeros(16)
    expected[[10, 7, 4, 14, 15]] = [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(c, expected)


def test_let_is_evaluated_where_it_stands():
    program = parse_program(
        """
        def kernel(A: T.Tensor((2,), "float32"), C: T.Tensor((1,), "float32")):
            with T.Kernel(1) as bx:
                before = A[0]
                A[0] = 9
                C[0] = before
        """
    )
    a = np.array([4, 5], np.float32)
    (c,) = reference.run(program, [a])
    assert c[0] == 4
    assert a[0] == 9


def test_iterations_that_share_an_element_add_up():
    program = parse_program(
        """
        def kernel(A: T.Tensor((16, 8), "float32"), C: T.Tensor((8,), "float32")):
            with T.Kernel(1) as bx:
                acc = T.alloc_fragment((8,), "float32")
                T.clear(acc)
                for i, j in T.Parallel(16, 8):
                    acc[j] += A[i, j]
                for i, j in T.Parallel(16, 8):
                    acc[j] -= 1
                T.copy(acc, C)
        """
    )
    a = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_allclose(c, a.sum(0) - 16, rtol=1e-5)


def test_iterations_that_store_different_values_are_reported():
    program = parse_program(
        """
        def kernel(C: T.Tensor((8,), "int32")):
            with T.Kernel(1) as bx:
                for i, j in T.Parallel(16, 8):
                    C[j] = i
        """
    )
    with pytest.raises(reference.WriteConflictError, match=r"iterations of T\.Parallel"):
        reference.run(program, [])


def test_tile_operator_in_parallel_is_refused():
    program = parse_program(
        """
        def kernel(A: T.Tensor((8, 8), "float32"), C: T.Tensor((8, 8), "float32")):
            with T.Kernel(1) as bx:
                s = T.alloc_shared((8,), "float32")
                for i in T.Parallel(8):
                    T.copy(A[i, :], s)
        """
    )
    with pytest.raises(reference.UnsupportedError, match="Move it out of the loop"):
        reference.run(program, [np.zeros((8, 8), np.float32)])


def test_nested_parallel_loops():
    program = parse_program(
        """
        def kernel(A: T.Tensor((4, 8), "float32"), C: T.Tensor((4, 8), "float32")):
            with T.Kernel(1) as bx:
                for i in T.Parallel(4):
                    x = A[i, 0]
                    for j in T.Parallel(8):
                        C[i, j] = A[i, j] - x
        """
    )
    a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, a - a[:, :1])


def test_several_kernels_run_one_after_the_other():
    program = parse_program(
        """
        def kernel(A: T.Tensor((N,), "float32"), W: T.Tensor((N,), "float32"),
                   C: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, 8)) as bx:
                for i in T.Parallel(8):
                    W[bx * 8 + i] = A[bx * 8 + i] * 2
            with T.Kernel(N) as by:
                W[by] = W[by] + 1
            with T.Kernel(T.ceildiv(N, 8)) as bz:
                for k in T.Parallel(8):
                    C[bz * 8 + k] = W[N - 1 - (bz * 8 + k)]
        """,
        workspaces=("W",),
    )
    a = np.arange(19, dtype=np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, (a * 2 + 1)[::-1])
