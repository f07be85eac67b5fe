"""Programs that the fuzzer found and shrank, each of which was once wrong, or no Triton at all."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel
from tests.fuzz.compiling import Compiler
from tests.three_meanings import agree


def agree_on(body: str, dtype: str, shape: str, device: str) -> None:
    lines = [f'def k(C: T.Tensor({shape}, "{dtype}")):', "    with T.Kernel(1, threads=128) as bx:"]
    lines += ["        " + line for line in body.strip("\n").splitlines()]
    agree("\n".join(lines), [], device)


def test_loop_with_more_lanes_than_the_tile_that_it_writes_writes_all_of_it(device: str) -> None:
    body = """
wide = T.alloc_fragment((5, 1), "float64")
T.fill(wide, 2)
tile = T.alloc_shared((2, 1, 8), "float16")
for i, j, l in T.Parallel(2, 1, 8):
    tile[i, j, l] = wide[i, j] * 3
T.copy(tile, C)
"""
    agree_on(body, "float16", "(2, 1, 8)", device)


@pytest.mark.parametrize("function", ["truncdiv", "truncmod", "max"])
@pytest.mark.parametrize("divisor", ["3", "-5"])
def test_function_of_two_literals_has_a_type(function: str, divisor: str, device: str) -> None:
    body = f"""
for i in T.Parallel(2):
    C[i] = T.{function}(T.cast(7, "int32"), {divisor})
"""
    agree_on(body, "int8", "(2,)", device)


@pytest.mark.parametrize("kind", ["sum", "max", "absmax"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_tile_of_one_element_is_reduced_to_itself(kind: str, dtype: str, device: str) -> None:
    body = f"""
one = T.alloc_shared((1,), "{dtype}")
out = T.alloc_fragment((1,), "{dtype}")
T.fill(one, {"3" if dtype == "uint8" else "-3"})
T.fill(out, 2)
T.reduce_{kind}(one, out, clear=False)
T.copy(out, C)
"""
    if (kind, dtype) != ("absmax", "uint8"):
        agree_on(body, dtype, "(1,)", device)


def test_atomic_addition_of_a_row_of_one_element(device: str) -> None:
    text = """
    block_N = 1
    def k(C: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            wide = T.alloc_fragment((3, 8), "int32")
            T.fill(wide, 4)
            for i, j in T.Parallel(2, block_N):
                C[i] = 1.0
            for i, j in T.Parallel(2, block_N):
                T.atomic_add(C[i], wide[1, j] + j)
    """
    agree(text, [], device)


@pytest.mark.parametrize("value", ['-T.min_value("int32")', '-(-T.min_value("int32"))'])
def test_lowest_integer_is_its_own_opposite(value: str, device: str) -> None:
    body = f"""
x = {value}
for i in T.Parallel(2):
    C[i] = T.min(x, -5)
"""
    agree_on(body, "int32", "(2,)", device)


@pytest.mark.parametrize("value", ["T.floor(1.5)", "T.max(-0.25, 0)", "3.0"])
def test_literal_cast_to_an_integer_is_one(value: str, device: str) -> None:
    body = f"""
for i in T.Parallel(2):
    C[i] = T.cast({value}, "int32") | (3 + T.cast(-1, "uint32"))
"""
    agree_on(body, "int64", "(2,)", device)


def test_condition_that_is_a_literal(device: str) -> None:
    body = """
one = T.alloc_fragment((1,), "int32")
T.clear(one)
for i in T.Parallel(1):
    if T.cast(2.5, "float16"):
        one[i] = i + 5
T.copy(one, C)
"""
    agree_on(body, "int32", "(1,)", device)


@pytest.mark.parametrize("right", ['T.cast(-1, "int16")', "-1", "0.5"])
def test_comparison_of_literals_is_made_in_their_common_type(right: str, device: str) -> None:
    body = f"""
for i in T.Parallel(3):
    C[i] = 2
    if T.cast(1, "uint32") >= {right}:
        C[i] = 5
"""
    agree_on(body, "uint16", "(3,)", device)


@pytest.mark.parametrize("test", ["a[i] >= {}", "{} < a[i]", "{} >= T.min(a[i], 7)"])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_negative_number_beside_an_unsigned_literal_is_large(
    test: str, dtype: str, device: str
) -> None:
    body = f"""
a = T.alloc_fragment((8,), "{dtype}")
for i in T.Parallel(8):
    a[i] = i - 4
for i in T.Parallel(8):
    C[i] = 2
    if {test.format('T.cast(1, "uint32")')}:
        C[i] = 5
"""
    agree_on(body, "int32", "(8,)", device)


LITERALS = [
    'T.cast(0.25, "uint8")',
    'T.cast(-1, "uint32")',
    'T.cast(-1, "uint32") - T.cast(-1, "uint32")',
    'T.cast(7, "int64")',
]


@pytest.mark.parametrize("use", ["~x", "x & T.cast(200, 'int8')", "T.max(T.cast(1, 'uint32'), x)"])
@pytest.mark.parametrize("value", LITERALS)
@pytest.mark.parametrize("inside", [True, False])
def test_name_of_a_literal_has_the_type_of_the_literal(
    value: str, use: str, inside: bool, device: str
) -> None:
    let = f"x = {value}"
    body = f"""
{"" if inside else let}
for i in T.Parallel(3):
    {let if inside else "pass"}
    C[i] = {use}
"""
    agree_on(body, "int64", "(3,)", device)


def test_opposite_of_the_lowest_integers_bits_does_not_overflow(device: str) -> None:
    body = """
for i in T.Parallel(4):
    C[i] = (3 + ~T.min_value("int32")) * (i + 1)
"""
    agree_on(body, "int32", "(4,)", device)


@pytest.mark.parametrize("value", ['T.cast(3, "float64")', 'T.cast(-1, "float16")'])
def test_whole_float_stored_to_an_integer_is_an_integer(value: str, device: str) -> None:
    body = f"""
a = T.alloc_fragment((4,), "int32")
for i in T.Parallel(4):
    a[i] = {value}
for i in T.Parallel(4):
    C[i] = a[i] & (i + 1)
"""
    agree_on(body, "int32", "(4,)", device)


def test_quotient_of_literals_cast_to_a_float_is_one(device: str) -> None:
    body = """
for i in T.Parallel(4):
    C[i] = T.cast(i, "uint32") * T.cast(T.floordiv(T.cast(200, "int8"), 1), "float32")
"""
    agree_on(body, "float32", "(4,)", device)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("value", ["-a[i]", "-3.0"])
def test_fp8_takes_opposites_and_literals(value: str, dtype: str, device: str) -> None:
    body = f"""
a = T.alloc_fragment((4,), "{dtype}")
T.fill(a, 2)
for i in T.Parallel(4):
    if i > 1:
        a[i] = {value}
T.copy(a, C)
"""
    agree_on(body, "float32", "(4,)", device)


@pytest.mark.parametrize("place", ["0, 2 * j", "0, 2 * j + 1"])
def test_loop_of_one_turn_writes_one_digit(place: str, device: str) -> None:
    body = f"""
a = T.alloc_shared((1, 2), "int16")
T.fill(a, 3)
for i, j in T.Parallel(1, 1):
    a[{place}] = j + 7
for i, j in T.Parallel(1, 1):
    C[i, j] = a[{place}]
    C[i, 1 - j] = a[0, 1 - 2 * j]
"""
    agree_on(body, "int16", "(1, 2)", device)


@pytest.mark.parametrize("comparison", ["A[0] > A[0]", "A[1] <= A[1]", "not (n == n)"])
def test_branch_whose_condition_compares_equal_numbers(comparison: str, device: str) -> None:
    text = f"""
    def k(A: T.Tensor((2,), "bool"), n: T.int32, C: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(4):
                C[i] = 1
            if {comparison}:
                for i in T.Parallel(4):
                    C[i] = i + 5
    """
    agree(text, [torch.tensor([True, False]), 3], device)


COMPARED = """
import tile2triton.language as T
@T.prim_func
def kernel(A: T.Tensor((4,), "bool"), C: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=128) as bx:
        if A[0] > A[0]:
            for i in T.Parallel(4):
                C[i] = i
"""


@pytest.mark.compile
def test_branch_that_is_never_taken_compiles() -> None:
    assert Compiler("cuda:90").outcome(COMPARED).kind == "agree"


COUNTED = """
import tile2triton.language as T
@T.prim_func
def kernel(A: T.Tensor((4,), "int64"), C: T.Tensor((3, 4), "int64")):
    with T.Kernel(1, threads=128) as bx:
        for i in T.Parallel(4):
            C[0, i] = T.popcount(A[i])
            C[1, i] = T.clz(T.cast(A[i], "int32"))
            C[2, i] = T.__ffs(A[i])
"""


@pytest.mark.compile
def test_bits_are_counted_on_amd() -> None:
    assert Compiler("hip:gfx942").outcome(COUNTED).kind == "agree"


N = T.dynamic("N")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_row_behind_the_end_of_a_run_time_size_is_zeros(n: int, device: str) -> None:
    @T.prim_func
    def rows(A: T.Tensor((N, 8), "float32"), C: T.Tensor((2, 8), "float32")):
        with T.Kernel(1):
            t = T.alloc_fragment((1, 8), "float32")
            T.copy(A[3, 0], t)
            T.copy(t, C[0, 0])
            T.copy(A[2, :], C[1, :])

    A = torch.arange(1.0, 8 * n + 1).reshape(n, 8)
    _, made = run_kernel(tile2triton.compile(rows), [A, torch.full((2, 8), -1.0)], device)
    expected = [A[at].tolist() if at < n else [0.0] * 8 for at in (3, 2)]
    assert made.tolist() == expected


def changing_with_their_transposes(how: str) -> str:
    """Tiles of several types, which something changes together with their transposes."""
    lines, dtypes = [], {"int64": "1", "float16": "0.5", "bool": "True", "float8_e5m2": "2.0"}
    for number, (dtype, value) in enumerate(dtypes.items()):
        tile, turned = f"tile{number}", f"turned{number}"
        lines += [
            f'{tile} = T.alloc_shared((32, 3), "{dtype}")',
            f'{turned} = T.alloc_shared((3, 32), "{dtype}")',
            "for i, j in T.Parallel(32, 3):",
            f'    {tile}[i, j] = T.cast(A[i, j], "{dtype}")',
            f"T.transpose({tile}, {turned})",
            how,
            "    for i, j in T.Parallel(32, 3):",
            f"        {tile}[i, j] = {turned}[j, i]",
            f"        {turned}[j, i] = {value}",
            "for i, j in T.Parallel(32, 3):",
            f'    C[{number}, i, j] = T.cast({tile}[i, j], "float32")',
            f'    D[{number}, i, j] = T.cast({turned}[j, i], "float32")',
        ]
    body = "".join(f"        {line}\n" for line in lines)
    tensors = 'C: T.Tensor((4, 32, 3), "float32"), D: T.Tensor((4, 32, 3), "float32")'
    return (
        f'def kernel(A: T.Tensor((32, 3), "int8"), {tensors}):\n'
        f"    with T.Kernel(1, threads=128) as bx:\n{body}"
    )


@pytest.mark.parametrize("how", ["for k in T.serial(1 + bx):", "if A[0, 0] > 0:"])
def test_tile_and_its_transpose_change_together_on_amd(how: str, device: str) -> None:
    text = changing_with_their_transposes(how)
    a = torch.randint(-4, 5, (32, 3), dtype=torch.int8)
    found = agree(text, [a], device, ("C", "D"), "hip:gfx942")
    assert found.text.count("tl.where(always, tile") == 4


@pytest.mark.compile
def test_tile_and_its_transpose_that_change_together_compile_on_amd() -> None:
    text = changing_with_their_transposes("for k in T.serial(A[0, 0]):")
    text = "import tile2triton.language as T\n@T.prim_func\n" + text
    assert Compiler("hip:gfx942").outcome(text).kind == "agree"


@pytest.mark.parametrize("number", ["4294967295", "2147483648", "-2147483649", "7"])
def test_wide_literal_with_a_name_keeps_its_type(number: str, device: str) -> None:
    body = f"""
for i in T.Parallel(2):
    x = T.cast({number}, "int64")
    C[i] = T.max(T.min(x, 8), -8)
"""
    agree_on(body, "float32", "(2,)", device)


def test_magnitude_of_the_lowest_integer_is_itself(device: str) -> None:
    body = """
tile = T.alloc_shared((8, 3), "int32")
most = T.alloc_shared((8,), "int32")
T.fill(tile, T.min_value("int32"))
T.reduce_absmax(tile, most)
T.copy(most, C)
"""
    agree_on(body, "int32", "(8,)", device)


def test_negative_variable_of_a_written_out_loop_meets_unsigned_numbers(device: str) -> None:
    body = """
tile = T.alloc_shared((8,), "uint32")
T.fill(tile, 3)
for k in T.unroll(2):
    for i in T.Parallel(8):
        tile[i] = (k * -5) ^ tile[i]
T.copy(tile, C)
"""
    agree_on(body, "uint32", "(8,)", device)


@pytest.mark.parametrize("name", ["min", "max", "minimum", "maximum", "truncdiv", "truncmod"])
def test_function_of_two_truth_values_is_a_truth_value(name: str, device: str) -> None:
    other = "i < 8" if name.startswith("trunc") else "i < 4"  # no division by 0
    body = f"""
tile = T.alloc_shared((8,), "bool")
other = T.alloc_shared((8,), "bool")
for i in T.Parallel(8):
    tile[i] = i % 2 == 0
    other[i] = {other}
    C[i] = T.if_then_else(~T.{name}(tile[i], other[i]), 1, 0)
"""
    agree_on(body, "int32", "(8,)", device)


def test_opposite_of_a_truth_value_is_a_number(device: str) -> None:
    body = """
tile = T.alloc_shared((8,), "bool")
for i in T.Parallel(8):
    tile[i] = i % 3 == 0
    C[i] = T.min(i, -tile[i])
"""
    agree_on(body, "int32", "(8,)", device)


@pytest.mark.parametrize("value", ["T.min_value('int32') - k", "k * 2147483647 * 3"])
def test_numbers_of_a_written_out_loop_wrap(value: str, device: str) -> None:
    body = f"""
for k in T.unroll(3):
    for i in T.Parallel(8):
        C[i] = {value} + i
"""
    agree_on(body, "int32", "(8,)", device)


@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64", "uint16", "int8"])
def test_float_that_leaves_an_integer_type_becomes_the_nearest(dtype: str, device: str) -> None:
    # Of 8 bits, what is left of the nearest that 16 bits hold.
    body = f"""
tile = T.alloc_shared((8,), "{dtype}")
for i in T.Parallel(8):
    tile[i] = T.max_value("{dtype}")
    tile[i] += i * 1000.5
    C[i] = tile[i]
    C[i + 8] = T.cast(T.cast(tile[i], "float32") - i * 5e9, "{dtype}")
"""
    agree_on(body, dtype, "(16,)", device)
