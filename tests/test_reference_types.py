"""The reference meaning of arithmetic: literals, promotion, rounding, casts, floor division."""

import ml_dtypes
import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference
from tile2triton.ops import OPERATORS
from tile2triton.reference.values import as_tf32, cast

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def elementwise(expression, dtypes, result):
    """The program C[i] = expression of A[i], B[i], …"""
    names = "ABDEF"[: len(dtypes)]
    tensors = ", ".join(
        f'{name}: T.Tensor((N,), "{dtype}")' for name, dtype in zip(names, dtypes, strict=True)
    )
    return parse_program(
        f"""
def kernel({tensors}, C: T.Tensor((N,), "{result}")):
    with T.Kernel(T.ceildiv(N, 16)) as bx:
        for i in T.Parallel(16):
            C[bx * 16 + i] = {expression.replace("@", "[bx * 16 + i]")}
"""
    )


def run(expression, result, *arrays):
    program = elementwise(expression, [array.dtype.name for array in arrays], result)
    return reference.run(program, arrays)[0]


@pytest.fixture
def halves():
    return np.random.default_rng(0).standard_normal(40).astype(np.float16)


def test_float_literal_makes_a_half_float32(halves):
    c = run("A@ * 1.1", "float32", halves)
    np.testing.assert_array_equal(c, halves.astype(np.float32) * np.float32(1.1))


def test_literal_that_is_cast_to_float64_computes_in_float64():
    a = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    c = run('T.cast(3, "float64") * A@', "float64", a)
    np.testing.assert_array_equal(c, a.astype(np.float64) * 3)
    c = run('T.cast(0.1, "float64") * A@', "float64", a)
    np.testing.assert_array_equal(c, a.astype(np.float64) * 0.1)


@pytest.mark.parametrize(
    ("dtype", "init", "value"),
    [
        ("uint64", 1 << 63, 1 << 63),
        ("uint64", (1 << 64) - 1, (1 << 64) - 1),
        ("int64", -(1 << 63), -(1 << 63)),
        ("int32", 1 << 40, 0),
        ("float64", 0.1, 0.1),
    ],
)
def test_variable_starts_with_its_literal(dtype, init, value):
    program = parse_program(
        f"""
def kernel(C: T.Tensor((1,), "{dtype}")):
    with T.Kernel(1) as bx:
        x = T.alloc_var("{dtype}", {init})
        C[0] = x
"""
    )
    assert reference.run(program, [])[0].tolist() == [value]


def test_integer_literal_keeps_a_half(halves):
    c = run("A@ * 3", "float32", halves)
    np.testing.assert_array_equal(c, (halves * np.float16(3)).astype(np.float32))


def test_maximum_with_a_literal_promotes(halves):
    c = run("T.max(A@, 0.1)", "float32", halves)
    np.testing.assert_array_equal(c, np.maximum(halves.astype(np.float32), np.float32(0.1)))


def test_exp_of_an_integer_is_float32():
    numbers = np.arange(-20, 20, dtype=np.int32)
    np.testing.assert_allclose(run("T.exp(A@)", "float32", numbers), np.exp(numbers), rtol=1e-6)


def test_exp_of_a_half_is_rounded_to_half(halves):
    c = run("T.exp(A@)", "float32", halves)
    expected = np.exp(halves.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(c, expected.astype(np.float32))


def test_bfloat16_rounds_after_each_operation():
    a = np.random.default_rng(0).standard_normal(40).astype(BFLOAT16)
    c = run("A@ * A@ + A@", "float32", a)
    wide = a.astype(np.float32)
    expected = ((wide * wide).astype(BFLOAT16).astype(np.float32) + wide).astype(BFLOAT16)
    np.testing.assert_array_equal(c, expected.astype(np.float32))


def test_int8_times_int8_wraps_and_int8_plus_literal_does_not():
    a = np.array([100, -100, 7], np.int8)
    np.testing.assert_array_equal(run("A@ * A@", "int32", a), (a * a).astype(np.int32))
    np.testing.assert_array_equal(run("A@ + 100", "int32", a), a.astype(np.int32) + 100)


def test_int32_wraps_around():
    a = np.array([2**31 - 1], np.int32)
    assert run("A@ + 1", "int32", a)[0] == -(2**31)


def test_integer_times_half_is_half(halves):
    numbers = np.arange(40, dtype=np.int32)
    c = run("A@ * B@", "float32", numbers, halves)
    np.testing.assert_array_equal(c, (numbers.astype(np.float16) * halves).astype(np.float32))


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("A@ // B@", np.floor_divide),
        ("A@ % B@", np.mod),
        ("T.floordiv(A@, B@)", np.floor_divide),
        ("T.floormod(A@, B@)", np.mod),
        ("T.truncmod(A@, B@)", np.fmod),
        ("T.truncdiv(A@, B@)", lambda a, b: np.trunc(a / b).astype(np.int32)),
        ("T.ceildiv(A@, B@)", lambda a, b: -(-a // b)),
    ],
)
def test_division_of_negative_integers(expression, function):
    a = np.arange(-20, 20, dtype=np.int32)
    b = np.resize(np.array([3, 5, 7, 4], np.int32), 40)
    np.testing.assert_array_equal(run(expression, "int32", a, b), function(a, b))


def test_division_of_integers_with_a_slash_is_refused():
    with pytest.raises(reference.UnsupportedError, match="divides integers"):
        run("A@ / 2", "float32", np.arange(3, dtype=np.int32))


@pytest.mark.parametrize(("number", "rounded"), [(259, 260), (33000, 33024), (-259, -260)])
def test_integers_round_to_even_in_bfloat16(number, rounded):
    c = run("T.cast(A@, 'bfloat16')", "bfloat16", np.array([number], np.int32))
    assert float(c[0]) == rounded


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "float16", "bfloat16", "float32"])
def test_small_whole_numbers_survive_every_cast(source, target):
    numbers = cast(np.arange(0, 100, 7, dtype=np.int32), source)
    np.testing.assert_array_equal(
        run("A@", target, numbers).astype(np.float32), numbers.astype(np.float32)
    )


def test_float_to_integer_drops_the_fraction():
    a = np.array([2.9, -2.9, 0.5], np.float32)
    np.testing.assert_array_equal(run("T.cast(A@, 'int32')", "int32", a), [2, -2, 0])
    np.testing.assert_array_equal(run("T.Cast('int32', A@)", "int32", a), [2, -2, 0])


def test_reinterpret_keeps_the_bits():
    a = np.array([1.0, -2.5], np.float32)
    np.testing.assert_array_equal(run("T.reinterpret(A@, 'int32')", "int32", a), a.view(np.int32))


def test_minimum_and_maximum_pass_over_nan():
    a = np.array([np.nan, 1, np.nan], np.float32)
    b = np.array([2, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(run("T.max(A@, B@)", "float32", a, b), [2, 1, np.nan])
    np.testing.assert_array_equal(run("T.min(A@, B@)", "float32", a, b), [2, 1, np.nan])


def test_infinity_in_every_type():
    assert OPERATORS["infinity"].reference("float16") == np.inf
    assert float(OPERATORS["infinity"].reference("float8_e4m3fn")) == 448
    assert OPERATORS["infinity"].reference("int8") == 127
    assert OPERATORS["min_value"].reference("int8") == -128


def test_tf32_keeps_ten_bits():
    assert as_tf32(np.float32(1 + 2**-10)) == np.float32(1 + 2**-10)
    assert as_tf32(np.float32(1 + 2**-12)) == 1
    assert as_tf32(np.float32(1 + 3 * 2**-11)) == np.float32(1 + 2**-9)
    assert np.isnan(as_tf32(np.float32(np.nan)))


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("T.sqrt(T.abs(A@))", lambda x: np.sqrt(np.abs(x))),
        ("T.rsqrt(T.abs(A@) + 1)", lambda x: 1 / np.sqrt(np.abs(x) + 1)),
        ("T.sigmoid(A@)", lambda x: 1 / (1 + np.exp(-x))),
        ("T.tanh(A@)", np.tanh),
        ("T.exp2(A@)", np.exp2),
        ("T.log2(T.fabs(A@) + 1)", lambda x: np.log2(np.abs(x) + 1)),
        ("T.floor(A@)", np.floor),
        ("T.pow(T.abs(A@), 1.5)", lambda x: np.power(np.abs(x), 1.5)),
        ("T.atan2(A@, 2.0)", lambda x: np.arctan2(x, 2)),
        ("-A@ + (A@ > 0)", lambda x: -x + (x > 0)),
        (
            "T.if_then_else(A@ > 0 and not A@ > 1, A@, 2)",
            lambda x: np.where((x > 0) & (x <= 1), x, 2),
        ),
        ("T.clamp(A@, -0.5, 0.5)", lambda x: np.clip(x, -0.5, 0.5)),
    ],
)
def test_functions_of_float32(expression, function):
    a = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    np.testing.assert_allclose(
        run(expression, "float32", a), function(a.astype(np.float64)), rtol=2e-6, atol=1e-7
    )


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("A@ << 2 | 1", lambda x: x << 2 | 1),
        ("A@ >> 1 & 3", lambda x: x >> 1 & 3),
        ("~A@ ^ 5", lambda x: ~x ^ 5),
        ("T.bitwise_and(T.shift_right(A@, 1), 6)", lambda x: (x >> 1) & 6),
    ],
)
def test_operators_on_bits(expression, function):
    a = np.arange(-20, 20, dtype=np.int32)
    np.testing.assert_array_equal(run(expression, "int32", a), function(a))
