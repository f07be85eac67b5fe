"""Threads as lanes: what kernels that compute with the number of the thread mean."""

import pytest
import torch

from tests.cases.agreement import expect
from tests.cases.kernels.lanes import (
    marked_in_place,
    numbers_of_threads,
    row_products,
    scaled_by_threads,
    stored_by_one,
    through_shared,
    two_dimensions,
)

DTYPES = ("float32", "float16", "bfloat16", "int32", "int8")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "threads"), [(512, 64), (500, 64), (777, 96), (5, 128)])
def test_every_thread_stores_its_elements(n, threads, dtype):
    values = torch.randint(-50, 50, (n,)).to(getattr(torch, dtype))
    expect(scaled_by_threads(n, threads, 2, dtype), (values,), values * 2)


@pytest.mark.parametrize(("columns", "threads", "block"), [(512, 64, 128), (700, 96, 192)])
def test_conditions_of_each_thread_are_masks(columns, threads, block):
    start = torch.tensor([0, 3, 100, columns - 1], dtype=torch.int32)
    end = torch.tensor([10, columns, 300, columns], dtype=torch.int32)
    at = torch.arange(columns)
    right = torch.zeros(4, columns)
    right[(at == start[:, None]) | (at == end[:, None] - 1)] = 1
    right[(at < start[:, None]) | (at >= end[:, None])] = -1
    expect(marked_in_place(4, columns, threads, block), (start, end), right)


@pytest.mark.parametrize("kind", ["variable", "array", "fill", "loop"])
@pytest.mark.parametrize(("rows", "columns", "threads"), [(128, 16, 64), (100, 7, 96)])
def test_each_thread_has_its_own_variables(kind, rows, columns, threads):
    a, b = torch.randn(rows, columns), torch.randn(columns)
    expect(row_products(rows, columns, threads, kind), (a, b), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n", "threads"), [(256, 64), (192, 96)])
def test_threads_pass_values_on_through_shared_memory(n, threads):
    values = torch.randint(0, 1000, (n,), dtype=torch.int32)
    turned = values.view(-1, threads).flip(1).reshape(-1)
    expect(through_shared(n, threads), (values,), values * 1000 + turned)


@pytest.mark.parametrize(("m", "n"), [(4, 32), (3, 10)])
def test_blocks_of_threads_in_two_dimensions(m, n):
    right = torch.arange(m)[:, None] * 100 + torch.arange(n) + n * 10000
    expect(two_dimensions(m, n), (), right.int())


@pytest.mark.parametrize("threads", [128, 256, 96])
def test_numbers_of_lanes_and_warps(threads):
    tx = torch.arange(threads)
    right = torch.stack([tx % 32, tx // 32, tx // 128, (tx % 64 == 0).long(), tx // 64])
    expect(numbers_of_threads(threads), (), right.int())


@pytest.mark.parametrize("columns", [64, 50])
def test_one_thread_stores_for_all(columns):
    values = torch.randn(5, columns)
    right = torch.stack([values.sum(1), values.amax(1)], 1)
    expect(stored_by_one(5, columns), (values,), right, rtol=1e-4, atol=1e-5)
