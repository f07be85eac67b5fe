"""Triton's language on the CPU: products, reductions, control flow, the standard library."""

import pytest
import torch

from tests.triton_text import pointwise, run

ROWS = """
@triton.jit
{combine}
@triton.jit
def kernel(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i * N + j)
    out = {expression}
    {store}


def launch(x, out):
    kernel[(1,)](out, x, *x.shape, out.shape[-1])
    return out
"""
COMBINE = "def combine(a, b):\n    return a + b\n"


def by_rows(
    expression: str, x: torch.Tensor, out: torch.Tensor, combine: str = COMBINE
) -> torch.Tensor:
    """`expression` over a whole matrix `x`, stored where `out` has room for it."""
    if out.ndim == 2:
        store = "tl.store(out_ptr + tl.arange(0, M)[:, None] * S + tl.arange(0, S)[None, :], out)"
    elif out.ndim == 1:
        store = "tl.store(out_ptr + tl.arange(0, S), out)"
    else:
        out = out.reshape(1)
        store = "tl.store(out_ptr, out)"
    text = ROWS.format(expression=expression, combine=combine, store=store)
    return run(text, x, out)  # type: ignore[return-value]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("axis", [0, 1])
def test_sum_and_maximum_along_an_axis(dtype, axis):
    x = torch.randn(16, 32).to(dtype)
    out = torch.empty(x.shape[1 - axis])
    torch.testing.assert_close(
        by_rows(f"tl.sum(x.to(tl.float32), axis={axis})", x, out), x.float().sum(axis)
    )
    assert torch.equal(by_rows(f"tl.max(x, axis={axis})", x, out), x.float().amax(axis))
    assert torch.equal(by_rows(f"tl.min(x, axis={axis})", x, out), x.float().amin(axis))


def test_sums_of_narrow_types():
    x = torch.randn(16, 32).bfloat16()
    out = by_rows("tl.sum(x, axis=1)", x, torch.empty(16, dtype=torch.bfloat16))
    torch.testing.assert_close(out, x.sum(1), rtol=2e-2, atol=2e-2)
    y = torch.randint(-100, 100, (16, 32), dtype=torch.int8)
    out = by_rows("tl.sum(x, axis=1)", y, torch.empty(16, dtype=torch.int32))
    assert torch.equal(out, y.sum(1, dtype=torch.int32))


def test_reductions_skip_nan_and_keep_dimensions():
    x = torch.randn(4, 8)
    x[1, 2] = float("nan")
    out = by_rows("tl.max(x, axis=1, keep_dims=True)", x, torch.empty(4, 1))
    assert torch.equal(out[:, 0], x.nan_to_num(-1e9).amax(1))
    out = by_rows("tl.sum(x, axis=None)", torch.ones(4, 8), torch.empty(()))
    assert out.item() == 32


def test_argument_of_the_maximum_is_the_leftmost():
    x = torch.randint(0, 4, (16, 32)).float()
    out = by_rows("tl.argmax(x, axis=1)", x, torch.empty(16, dtype=torch.int32))
    assert torch.equal(out.long(), (x == x.amax(1, keepdim=True)).int().argmax(1))
    out = by_rows("tl.argmin(x, axis=0)", x, torch.empty(32, dtype=torch.int32))
    assert torch.equal(out.long(), (x == x.amin(0, keepdim=True)).int().argmax(0))


def test_reduce_with_a_function_of_the_module():
    x = torch.randn(16, 32)
    combine = "def combine(a, b):\n    return tl.maximum(tl.abs(a), tl.abs(b))\n"
    out = by_rows("tl.reduce(x, 1, combine)", x, torch.empty(16), combine)
    assert torch.equal(out, x.abs().amax(1))


def test_reduce_keeps_the_order_of_its_operands():
    x = torch.arange(64.0).reshape(2, 32)
    combine = "def combine(a, b):\n    return b\n"
    assert by_rows("tl.reduce(x, 1, combine)", x, torch.empty(2), combine).tolist() == [31, 63]


def test_scans():
    x = torch.randn(8, 16)
    out = torch.empty(8, 16)
    torch.testing.assert_close(by_rows("tl.cumsum(x, axis=1)", x, out), x.cumsum(1))
    torch.testing.assert_close(by_rows("tl.cumprod(x, axis=0)", x, out), x.cumprod(0))
    backwards = by_rows("tl.cumsum(x, axis=1, reverse=True)", x, out)
    torch.testing.assert_close(backwards, x.flip(1).cumsum(1).flip(1))
    torch.testing.assert_close(by_rows("tl.associative_scan(x, 0, combine)", x, out), x.cumsum(0))


def test_softmax_sort_flip_and_transpose():
    x = torch.randn(16, 32)
    out = torch.empty(16, 32)
    row = "tl.reshape(tl.softmax(tl.reshape(x, (M * N,)), 0), (M, N))"
    torch.testing.assert_close(by_rows(row, x, out), x.flatten().softmax(0).reshape(16, 32))
    assert torch.equal(by_rows("tl.sort(x)", x, out), x.sort(1).values)
    square = torch.randn(16, 16)
    for expression in ("tl.trans(x)", "x.T", "tl.permute(x, (1, 0))"):
        assert torch.equal(by_rows(expression, square, torch.empty(16, 16)), square.T)


def test_shapes():
    x = torch.randn(8, 16)
    out = torch.empty(8, 16)
    assert torch.equal(by_rows("tl.reshape(tl.reshape(x, (M * N,)), (M, N))", x, out), x)
    first = by_rows("tl.sum(tl.join(x, -x), axis=2)", x, out)
    assert torch.equal(first, torch.zeros(8, 16))
    assert torch.equal(
        by_rows("tl.broadcast_to(x[:, None, :], (M, 1, N)).reshape(M, N)", x, out), x
    )


def test_gather_along_an_axis():
    x = torch.randn(8, 16)
    reverse = by_rows("tl.gather(x, (N - 1 - j + 0 * i), 1)", x, torch.empty(8, 16))
    assert torch.equal(reverse, x.flip(1))


def test_histogram():
    x = torch.randint(0, 8, (1, 64), dtype=torch.int32)
    out = by_rows("tl.histogram(tl.reshape(x, (64,)), 8)", x, torch.empty(8, dtype=torch.int32))
    assert torch.equal(out.long(), torch.bincount(x[0], minlength=8))


DOT = """
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           precision: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    c = tl.load(c_ptr + m[:, None] * N + n[None, :])
    c = tl.dot(a, b, c, input_precision=precision, out_dtype=c_ptr.dtype.element_ty)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


def launch(a, b, c, precision="tf32"):
    kernel[(1,)](a, b, c, c.shape[0], c.shape[1], a.shape[1], precision)
    return c
"""


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float32, torch.float16, torch.bfloat16, torch.float64),
        *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
    ],
)
def test_dot(dtype):
    a, b = torch.randn(32, 64).to(dtype), torch.randn(64, 16).to(dtype)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    c = torch.randn(32, 16, dtype=wide)
    expected = c.double() + a.double() @ b.double()
    torch.testing.assert_close(run(DOT, a, b, c), expected.to(wide), rtol=1e-5, atol=1e-4)


def test_dot_of_int8_is_exact():
    a = torch.randint(-128, 128, (32, 64), dtype=torch.int8)
    b = torch.randint(-128, 128, (64, 16), dtype=torch.int8)
    c = torch.randint(-1000, 1000, (32, 16), dtype=torch.int32)
    expected = c + (a.long() @ b.long()).int()
    assert torch.equal(run(DOT, a, b, c), expected)


def test_tf32_operands_are_not_rounded():
    a = torch.full((16, 16), 1 + 2.0**-20)
    out = run(DOT, a, torch.eye(16), torch.zeros(16, 16), "tf32")
    assert torch.equal(out, a)


def test_dot_with_a_batch():
    text = """
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, B: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, B)[:, None, None] * M * M
    i += tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    tl.store(c_ptr + i, tl.dot(tl.load(a_ptr + i), tl.load(b_ptr + i)))


def launch(a, b, c):
    kernel[(1,)](a, b, c, a.shape[0], a.shape[1])
    return c
"""
    a, b = torch.randn(4, 16, 16).half(), torch.randn(4, 16, 16).half()
    out = run(text, a, b, torch.empty(4, 16, 16))
    torch.testing.assert_close(out, a.float() @ b.float(), rtol=1e-5, atol=1e-5)


def test_loop_variables_are_runtime_integers():
    text = """
@triton.jit
def kernel(out_ptr, n, step):
    for k in tl.range(-n, n, step, num_stages=2):
        half = k // 2
        tl.store(out_ptr + k + n, half)


def launch(out, n, step):
    kernel[(1,)](out, n, step)
    return out
"""
    out = run(text, torch.full((8,), 99, dtype=torch.int32), 4, 1)
    assert out.tolist() == [-2, -1, -1, 0, 0, 0, 1, 1]


def test_static_loops_conditions_and_static_values():
    text = """
@triton.jit
def add(x, y, WITH: tl.constexpr):
    if WITH:
        return x + y
    return x


@triton.jit
def kernel(out_ptr, n, LAST: tl.constexpr, WITH: tl.constexpr = True):
    tl.static_assert(LAST > 1)
    HALF: tl.constexpr = LAST // 2
    total = 0
    for k in tl.static_range(LAST):
        if k % 2 == 0 and n > 2:
            total = add(total, k, WITH)
    count = 0
    while count < n and not count == HALF:
        count += 1
    value = total if n > 3 else -total
    tl.store(out_ptr, value)
    tl.store(out_ptr + 1, count)
    tl.store(out_ptr + 2, min(n, HALF) + max(n, HALF))
    if n > 100:
        tl.store(out_ptr + 3, 1)
    elif n == 4:
        tl.store(out_ptr + 3, 2)
    else:
        tl.store(out_ptr + 3, 3)


def launch(out, n, last):
    kernel[(1,)](out, n, last)
    return out
"""
    assert run(text, torch.zeros(4, dtype=torch.int32), 4, 6).tolist() == [6, 3, 7, 2]
    assert run(text, torch.zeros(4, dtype=torch.int32), 3, 6).tolist() == [-6, 3, 6, 3]
    assert run(text, torch.zeros(4, dtype=torch.int32), 1, 6).tolist() == [0, 1, 4, 3]


def test_and_or_not_work_on_blocks():
    x = torch.randn(64)
    out = pointwise("tl.where((x0 > 0) and not (x0 > 1), 1, 0)", [x], torch.int32)
    assert torch.equal(out, ((x > 0) & ~(x > 1)).int())
    out = pointwise("tl.where((x0 < 0) or (x0 > 1), 1, 0)", [x], torch.int32)
    assert torch.equal(out, ((x < 0) | (x > 1)).int())


def test_module_constants_and_hints():
    text = """
LOG2E: tl.constexpr = tl.constexpr(1.5)


@triton.jit
def kernel(out_ptr, n, N: tl.constexpr):
    tl.assume(n > 0)
    i = tl.multiple_of(tl.max_contiguous(tl.arange(0, N), N), N)
    tl.debug_barrier()
    tl.store(out_ptr + i, tl.exp2(LOG2E * (i % n).to(tl.float32)), cache_modifier=".cg")


def launch(out, n):
    kernel[(1,)](out, n, out.numel())
    return out
"""
    expected = torch.exp2(1.5 * (torch.arange(16) % 3).float())
    torch.testing.assert_close(run(text, torch.empty(16), 3), expected)


def test_standard_library_on_scalars_and_shapes():
    text = """
@triton.jit
def kernel(out_ptr, m, n):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), m, n, 2)
    pid = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(out_ptr + pid, i * 100 + j)
    x = tl.zeros((4, 8), tl.float32) + tl.full((4, 8), 2.0, tl.float32)
    y = tl.zeros_like(x)
    tl.static_assert(y.shape[0] * x.shape[1] == 32)
    tl.store(out_ptr + m * n, tl.cdiv(n + x.numel, 8))


def launch(out, m, n):
    kernel[(m, n)](out, m, n)
    return out
"""
    out = run(text, torch.zeros(17, dtype=torch.int32), 4, 4)
    grouped = [0, 100, 1, 101, 2, 102, 3, 103, 200, 300, 201, 301, 202, 302, 203, 303]
    assert out[:16].tolist() == grouped
    assert out[16] == 5


def test_int64_offsets_do_not_wrap():
    x = torch.full((16,), 2**31 - 1, dtype=torch.int32)
    assert pointwise("x0.to(tl.int64) * 4", [x], torch.int64).tolist() == [4 * (2**31 - 1)] * 16


def test_random_numbers_are_those_of_the_library():
    text = """
@triton.jit
def kernel(out_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.rand(seed, i))


def launch(out, seed):
    kernel[(1,)](out, seed, out.numel())
    return out
"""
    out = run(text, torch.empty(1024), 7)
    assert out.min() >= 0
    assert out.max() < 1
    assert abs(out.mean() - 0.5) < 0.05
