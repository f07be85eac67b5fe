"""Memory on the CPU: masks, bounds, atomics and tensor descriptors."""

import pytest
import torch

from tests.triton_text import run
from tile2triton.interpreter import InterpreterError

COPY = """
@triton.jit
def kernel(out_ptr, x_ptr, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=-1.0)
    tl.store(out_ptr + i, x, mask=i < n + 1)


def launch(out, x, n):
    kernel[(triton.cdiv(out.numel(), 16),)](out, x, n, 16)
    return out
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2, torch.int64])
def test_masked_loads_and_stores(dtype):
    x = torch.arange(40).float().to(dtype)
    out = run(COPY, torch.zeros(48).to(dtype), x, 40).float()
    assert torch.equal(out[:40], x.float())
    assert out[40:].tolist() == [-1.0] + [0.0] * 7


def test_booleans_in_memory():
    text = """
@triton.jit
def kernel(out_ptr, x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i) & (i > 1))


def launch(out, x):
    kernel[(1,)](out, x, x.numel())
    return out
"""
    x = torch.tensor([True, False, True, False])
    assert run(text, torch.ones(4, dtype=torch.bool), x).tolist() == [False, False, True, False]


def test_an_access_outside_every_tensor_is_an_error_that_names_the_nearest():
    with pytest.raises(InterpreterError, match=r"nearest is `x_ptr`, element 40 of 40"):
        run(COPY, torch.zeros(48), torch.zeros(40), 48)


def test_an_empty_tensor_may_be_passed_but_not_read():
    assert run(COPY, torch.zeros(0), torch.zeros(0), 0).numel() == 0
    with pytest.raises(InterpreterError, match="outside every tensor"):
        run(COPY, torch.zeros(16), torch.zeros(0), 1)


def test_views_and_strides():
    text = """
@triton.jit
def kernel(out_ptr, x_ptr, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i * stride))


def launch(out, x):
    kernel[(1,)](out, x, x.stride(0), out.numel())
    return out
"""
    x = torch.randn(16, 8)[:, 3]
    assert torch.equal(run(text, torch.empty(16), x), x)


ATOMIC = """
@triton.jit
def kernel(out_ptr, x_ptr, old_ptr, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=1)
    old = tl.atomic_{operation}(out_ptr + i % 4, x, mask=i < n)
    tl.store(old_ptr + i, old, mask=i < n)


def launch(out, x):
    old = torch.zeros_like(x)
    kernel[(triton.cdiv(x.numel(), 16),)](out, x, old, x.numel(), 16)
    return old
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_atomic_add_to_shared_addresses(dtype):
    x = torch.randint(-4, 5, (40,)).to(dtype)
    out = torch.zeros(4, dtype=dtype)
    old = run(ATOMIC.format(operation="add"), out, x)
    assert torch.equal(out, x.reshape(10, 4).sum(0, dtype=dtype))
    # The elements before each addition are the running sums.
    running = x.reshape(10, 4).float().cumsum(0) - x.reshape(10, 4).float()
    assert torch.equal(old.reshape(10, 4).float(), running)


def test_atomic_add_in_bfloat16_rounds_each_time():
    x = torch.full((40,), 1.0, dtype=torch.bfloat16)
    out = torch.full((4,), 256.0, dtype=torch.bfloat16)
    run(ATOMIC.format(operation="add"), out, x)
    assert out.tolist() == [256.0] * 4


@pytest.mark.parametrize(("operation", "reduce"), [("max", "amax"), ("min", "amin")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64])
def test_atomic_maximum_and_minimum(operation, reduce, dtype):
    x = torch.randint(-50, 50, (40,)).to(dtype)
    out = torch.zeros(4, dtype=dtype)
    run(ATOMIC.format(operation=operation), out, x)
    both = torch.cat([x.reshape(10, 4), torch.zeros(1, 4, dtype=dtype)])
    assert torch.equal(out, getattr(both, reduce)(0))


def test_atomic_exchange_and_compare_and_swap():
    text = """
@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + 1, tl.atomic_xchg(x_ptr, 5))
    tl.store(x_ptr + 2, tl.atomic_cas(x_ptr, 5, 7))
    tl.atomic_cas(x_ptr, 5, 9)


def launch(x):
    kernel[(1,)](x, 1)
    return x
"""
    assert run(text, torch.tensor([3, 0, 0], dtype=torch.int32)).tolist() == [7, 3, 5]


DESCRIPTOR = """
@triton.jit
def kernel(out_desc, x_desc, m, n, M: tl.constexpr, N: tl.constexpr):
    block = x_desc.load([m, n])
    out_desc.store([0, 0], block)


def launch(x, m, n, rows, columns):
    out = torch.full((rows, columns), 9.0, dtype=x.dtype)
    kernel[(1,)](
        TensorDescriptor.from_tensor(out, [rows, columns]),
        TensorDescriptor.from_tensor(x, [rows, columns]),
        m, n, rows, columns,
    )
    return out
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int8])
@pytest.mark.parametrize(("m", "n"), [(0, 0), (8, 16), (-4, -16)])
def test_descriptors_fill_with_zero_out_of_bounds(dtype, m, n):
    x = (torch.randn(20, 32) * 10).to(dtype)
    padded = torch.zeros(64, 96, dtype=dtype)
    padded[16:36, 32:64] = x
    expected = padded[16 + m : 32 + m, 32 + n : 64 + n]
    assert torch.equal(run(DESCRIPTOR, x, m, n, 16, 32), expected)


def test_stores_through_a_descriptor_stop_at_its_bounds():
    text = """
@triton.jit
def kernel(desc, M: tl.constexpr, N: tl.constexpr):
    desc.store([8, 16], tl.full((M, N), 1.0, tl.float32))


def launch(x):
    kernel[(1,)](TensorDescriptor(x, [10, 20], [32, 1], [16, 16]), 16, 16)
    return x
"""
    x = run(text, torch.zeros(16, 32))
    assert x.sum() == 2 * 4
    assert x[8:10, 16:20].sum() == 8


def test_descriptors_of_rank_five_and_a_reshape():
    text = """
@triton.jit
def kernel(out_ptr, desc, i, M: tl.constexpr, N: tl.constexpr):
    block = desc.load([1, i, 2, 0, 0]).reshape(M, N)
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], block)


def launch(x, i):
    out = torch.empty(4, 8)
    kernel[(1,)](out, TensorDescriptor.from_tensor(x, [1, 1, 1, 4, 8]), i, 4, 8)
    return out
"""
    x = torch.randn(2, 3, 4, 4, 8)
    assert torch.equal(run(text, x, 1), x[1, 1, 2])


def test_descriptors_made_in_the_kernel():
    text = """
@triton.jit
def kernel(out_ptr, x_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    out = tl.make_tensor_descriptor(out_ptr, [m, n], [n, 1], [M, N])
    for i in range(0, tl.cdiv(m, M)):
        out.store([i * M, 0], x.load([i * M, 0]) * 2)


def launch(x):
    out = torch.empty_like(x)
    kernel[(1,)](out, x, x.shape[0], x.shape[1], 16, 32)
    return out
"""
    x = torch.randn(40, 24)
    assert torch.equal(run(text, x), 2 * x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_atomic_add_through_a_descriptor(dtype):
    text = """
@triton.jit
def kernel(desc, M: tl.constexpr, N: tl.constexpr):
    desc.atomic_add([0, 0], tl.full((M, N), 1.0, desc.dtype))


def launch(x):
    kernel[(3,)](TensorDescriptor.from_tensor(x, [16, 16]), 16, 16)
    return x
"""
    assert torch.equal(
        run(text, torch.ones(8, 16, dtype=dtype)), torch.full((8, 16), 4.0).to(dtype)
    )


def test_a_gather_index_out_of_range_is_an_error():
    text = """
@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, tl.gather(x, i + 1, 0))


def launch(x):
    kernel[(1,)](x, x.numel())
"""
    with pytest.raises(InterpreterError, match=r"`tl.gather` index outside 0\.\.15"):
        run(text, torch.randn(16))


def test_an_address_may_come_in_32_bits():
    text = """
@triton.jit
def kernel(out_ptr, address):
    tl.store(out_ptr, address.to(tl.pointer_type(tl.float16)).to(tl.int64))


def launch(out, address):
    kernel[(1,)](out, address)
    return out
"""
    for address in (4096, 1 << 40):
        assert run(text, torch.zeros(1, dtype=torch.int64), address).item() == address
