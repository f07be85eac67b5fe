"""The reference meaning of copies: extents from the tile, bounds per dimension, casts."""

import ml_dtypes
import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference


def program_of(body, constants="", dtype="float32", source="(M, N)", result="(M, N)"):
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return parse_program(
        f"{constants}\n"
        f'def kernel(A: T.Tensor({source}, "{dtype}"), C: T.Tensor({result}, "{dtype}")):\n'
        f"    with T.Kernel(1, threads=128) as bx:\n{lines}\n"
    )


def test_copy_reads_zero_outside_of_the_tensor():
    program = program_of(
        """
s = T.alloc_shared((64, 64), "float32")
T.copy(A[0, 0], s)
T.copy(s, C[0, 0])
""",
        result="(64, 64)",
    )
    (c,) = reference.run(program, [np.ones((60, 60), np.float32)])
    expected = np.zeros((64, 64))
    expected[:60, :60] = 1
    np.testing.assert_array_equal(c, expected)


def test_safe_value_is_read_outside_until_the_block_ends():
    program = program_of(
        """
s = T.alloc_shared((4, 4), "float32")
if A[0, 0] > 0:
    T.annotate_safe_value({A: -99})
    T.copy(A[0, 0], s)
    T.copy(s, C[0:4, 0:4])
T.copy(A[0, 0], s)
T.copy(s, C[4:8, 0:4])
""",
        result="(8, 4)",
    )
    (c,) = reference.run(program, [np.ones((3, 3), np.float32)])
    assert c[3, 0] == -99
    assert c[7, 0] == 0
    assert c[4, 0] == 1


@pytest.mark.parametrize("shape", [(128, 96), (65, 33), (1, 7)])
def test_tiles_cover_ragged_sizes(shape):
    program = parse_program(
        """
        block_M = 32
        block_N = 32
        def kernel(A: T.Tensor((M, N), "float16"), C: T.Tensor((M, N), "float32")):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M)) as (bx, by):
                s = T.alloc_shared((block_M, block_N), "float16")
                f = T.alloc_fragment((block_M, block_N), "float32")
                T.copy(A[by * block_M:(by + 1) * block_M, bx * block_N:(bx + 1) * block_N], s)
                T.copy(s, f)
                T.copy(f, C[by * block_M, bx * block_N])
        """
    )
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, a.astype(np.float32))


def test_slice_end_is_ignored():
    program = program_of(
        """
s = T.alloc_shared((64, 8), "float32")
T.copy(A[2:12, :], s)
T.copy(s, C[0:10, :])
""",
        source="(80, 8)",
        result="(64, 8)",
    )
    a = np.random.default_rng(0).standard_normal((80, 8)).astype(np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, a[2:66])


def test_indices_drop_dimensions():
    program = parse_program(
        """
        def kernel(A: T.Tensor((B, S, H, D), "float32"), C: T.Tensor((B, H, S, D), "float32")):
            with T.Kernel(T.ceildiv(S, 16), H, B) as (bx, by, bz):
                s = T.alloc_shared((16, 8), "float32")
                row = T.alloc_fragment((8,), "float32")
                T.copy(A[bz, bx * 16:(bx + 1) * 16, by, :], s)
                T.copy(s[5, :], row)
                T.copy(row, s[6, :])
                T.copy(s, C[bz, by, bx * 16, 0])
        """
    )
    a = np.random.default_rng(0).standard_normal((2, 37, 3, 8)).astype(np.float32)
    (c,) = reference.run(program, [a])
    expected = a.copy()
    for start in range(0, 37, 16):
        if start + 6 < 37:
            expected[:, start + 6] = expected[:, start + 5]
    np.testing.assert_array_equal(c, expected.transpose(0, 2, 1, 3))


def test_prefix_of_a_tile_is_stored():
    program = parse_program(
        """
        def kernel(A: T.Tensor((M, N), "float32"), n: "int32", C: T.Tensor((M, N), "float32")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((16, 8), "float32")
                T.fill(f, 3)
                T.copy(f[:n, :], C[0, 0])
        """
    )
    (c,) = reference.run(program, [np.zeros((16, 8), np.float32), 5])
    assert (c[:5] == 3).all()
    assert np.isnan(c[5:]).all()


def test_copy_to_float8_saturates():
    program = parse_program(
        """
        def kernel(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float8_e4m3fn")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((8,), "float32")
                T.copy(A, f)
                T.copy(f, C)
        """
    )
    a = np.array([448, 449, 464, 500, -1e5, 0.3, np.nan, 1], np.float32)
    (c,) = reference.run(program, [a])
    assert c.dtype == ml_dtypes.float8_e4m3fn
    values = c.astype(np.float32)
    np.testing.assert_array_equal(values[[0, 1, 2, 3, 4, 7]], [448, 448, 448, 448, -448, 1])
    assert np.isnan(values[6])


def test_element_copy_in_parallel_is_a_store():
    program = program_of(
        """
for i, j in T.Parallel(8, 8):
    T.copy(A[i, j], C[j, i])
""",
        source="(8, 8)",
        result="(8, 8)",
    )
    a = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    (c,) = reference.run(program, [a])
    np.testing.assert_array_equal(c, a.T)


def test_tile_index_outside_is_reported_with_its_line():
    program = program_of(
        """
s = T.alloc_shared((8, 8), "float32")
T.clear(s)
for i in T.Parallel(8):
    C[i, 0] = s[i + 1, 0]
"""
    )
    with pytest.raises(reference.OutOfBoundsError, match=r"`s\[i \+ 1, 0\]`.*index 8 of dim") as at:
        reference.run(program, [np.zeros((8, 8), np.float32)])
    assert at.value.line == 7
    assert str(at.value).startswith("<kernel>:7: ")


def test_tile_index_outside_is_fine_where_it_is_not_evaluated():
    program = program_of(
        """
s = T.alloc_shared((8, 8), "float32")
T.fill(s, 2)
for i in T.Parallel(8):
    C[i, 0] = T.if_then_else(i < 7, s[i + 1, 0], 5)
    if i > 0 and s[i - 1, 0] > 1:
        C[i, 1] = s[i - 1, 0]
    else:
        C[i, 1] = 7
"""
    )
    (c,) = reference.run(program, [np.zeros((8, 8), np.float32)])
    np.testing.assert_array_equal(c[:, 0], [2] * 7 + [5])
    np.testing.assert_array_equal(c[:, 1], [7] + [2] * 7)


def test_constant_index_outside_of_a_tensor_is_reported():
    program = program_of("C[0, 0] = A[0, 9]", source="(8, 8)", result="(8, 8)")
    with pytest.raises(reference.OutOfBoundsError, match="constant index 9"):
        reference.run(program, [np.zeros((8, 8), np.float32)])


def test_gathered_index_outside_reads_zero_and_stores_nothing():
    program = parse_program(
        """
        def kernel(KV: T.Tensor((S, D), "float32"), I: T.Tensor((N,), "int32"),
                   C: T.Tensor((N, D), "float32"), E: T.Tensor((S, D), "float32")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((4, 8), "float32")
                for i, j in T.Parallel(4, 8):
                    f[i, j] = KV[I[i], j]
                T.copy(f, C[0, 0])
                for i, j in T.Parallel(4, 8):
                    E[I[i], j] = 1
        """,
        outputs=("C", "E"),
    )
    kv = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    c, e = reference.run(program, [kv, np.array([3, -1, 7, 0], np.int32)])
    np.testing.assert_array_equal(c, np.stack([kv[3], 0 * kv[0], 0 * kv[0], kv[0]]))
    assert (e[[3, 0]] == 1).all()
    assert np.isnan(e[[1, 2, 4]]).all()
