"""Calling the reference meaning: arguments, sizes, conflicts between programs, torch tensors."""

import ml_dtypes
import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference

DOUBLE = """
def kernel(A: T.Tensor((N,), "{dtype}"), C: T.Tensor((N,), "{dtype}")):
    with T.Kernel(T.ceildiv(N, 16)) as bx:
        for i in T.Parallel(16):
            C[bx * 16 + i] = A[bx * 16 + i] * 2
            A[bx * 16 + i] = 0
"""


def test_arguments_by_name():
    (c,) = reference.run(parse_program(DOUBLE.format(dtype="float32")), {"A": np.ones(5, "f4")})
    np.testing.assert_array_equal(c, [2] * 5)


def test_no_elements_launch_nothing():
    (c,) = reference.run(parse_program(DOUBLE.format(dtype="float32")), [np.ones(0, "f4")])
    assert c.shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int32"])
def test_torch_tensors_are_used_in_place(dtype):
    torch = pytest.importorskip("torch")
    a = torch.ones(20).to(getattr(torch, dtype))
    (c,) = reference.run(parse_program(DOUBLE.format(dtype=dtype)), [a])
    assert c.dtype.name == dtype
    np.testing.assert_array_equal(c.astype(np.float32), [2] * 20)
    assert a.float().abs().sum() == 0
    result = reference.to_torch(c)
    assert result.dtype == a.dtype
    assert (result.float() == 2).all()


@pytest.mark.parametrize(
    ("arrays", "error", "words"),
    [
        ([], TypeError, "takes 1 arguments"),
        ([None], TypeError, "A is None"),
        ([np.ones(4, np.float16)], TypeError, "float32 is needed"),
        ([np.ones((4, 4), np.float32)], ValueError, "A has shape"),
        ({"B": np.ones(4, np.float32)}, TypeError, "missing: A, unknown: B"),
    ],
)
def test_arguments_that_do_not_fit(arrays, error, words):
    with pytest.raises(error, match=words):
        reference.run(parse_program(DOUBLE.format(dtype="float32")), arrays)


ADD_SCALAR = """
def kernel(x: T.{dtype}, C: T.Tensor((4,), "{dtype}")):
    with T.Kernel(1) as bx:
        for i in T.Parallel(4):
            C[i] = x
"""


@pytest.mark.parametrize(
    ("dtype", "value", "error", "words"),
    [
        ("int32", 3.5, TypeError, "x must be an int, found float"),
        ("int32", True, TypeError, "x must be an int, found bool"),
        ("int32", 2**31, ValueError, "x must fit int32, found 2147483648"),
        ("int32", -(2**31) - 1, ValueError, "x must fit int32"),
        ("uint8", -1, ValueError, "x must fit uint8, found -1"),
        ("bool", 1, TypeError, "x must be a bool, found int"),
        ("float32", "1", TypeError, "x must be a float, found str"),
    ],
)
def test_scalars_that_do_not_fit(dtype, value, error, words):
    with pytest.raises(error, match=words):
        reference.run(parse_program(ADD_SCALAR.format(dtype=dtype)), [value])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int32", -(2**31)),
        ("int64", 2**63 - 1),
        ("uint64", 2**64 - 1),
        ("float32", 3),
        ("float64", 0.1),
        ("bool", True),
    ],
)
def test_scalars_that_fit(dtype, value):
    (c,) = reference.run(parse_program(ADD_SCALAR.format(dtype=dtype)), [value])
    assert c.tolist() == [value] * 4


def test_sizes_that_no_argument_has():
    program = parse_program(
        """
        def kernel(C: T.Tensor((N,), "int32")):
            with T.Kernel(T.ceildiv(N, 8)) as bx:
                for i in T.Parallel(8):
                    C[bx * 8 + i] = bx
        """
    )
    (c,) = reference.run(program, [], dims_overrides={"N": 11})
    np.testing.assert_array_equal(c, [0] * 8 + [1] * 3)


def test_two_programs_that_write_one_element_are_reported():
    program = parse_program(
        """
        def kernel(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, 8)) as bx:
                f = T.alloc_fragment((16,), "float32")
                T.fill(f, bx)
                T.copy(f, C[bx * 8])
        """
    )
    with pytest.raises(reference.WriteConflictError) as conflict:
        reference.run(program, [np.zeros(32, np.float32)])
    assert "(0,) and (1,) both write `C[8]`" in str(conflict.value)
    assert conflict.value.line == 6


def test_two_programs_that_add_without_an_atomic_are_reported():
    program = parse_program(
        """
        def kernel(A: T.Tensor((4, 8), "float32"), C: T.Tensor((1,), "float32")):
            with T.Kernel(2) as bx:
                for i, j in T.Parallel(2, 8):
                    C[0] += A[bx * 2 + i, j]
        """,
        outputs=(),
    )
    arrays = [np.ones((4, 8), np.float32), np.zeros(1, np.float32)]
    with pytest.raises(reference.WriteConflictError, match=r"use T\.atomic_add"):
        reference.run(program, arrays)


def test_two_programs_may_write_the_same_value():
    program = parse_program(
        """
        def kernel(C: T.Tensor((8,), "float32")):
            with T.Kernel(4) as bx:
                for i in T.Parallel(8):
                    C[i] = i
        """
    )
    np.testing.assert_array_equal(reference.run(program, [])[0], np.arange(8))


def test_name_without_a_value_is_reported():
    program = parse_program(
        """
        def kernel(A: T.Tensor((1,), "float32"), C: T.Tensor((1,), "float32")):
            with T.Kernel(1) as bx:
                if A[0] > 0:
                    x = A[0]
                C[0] = x
        """
    )
    with pytest.raises(reference.UnsupportedError, match="`x` has no value here"):
        reference.run(program, [np.zeros(1, np.float32)])


def test_bfloat16_arrays_of_numpy():
    a = np.ones(3, ml_dtypes.bfloat16)
    (c,) = reference.run(parse_program(DOUBLE.format(dtype="bfloat16")), [a])
    assert c.dtype == a.dtype
