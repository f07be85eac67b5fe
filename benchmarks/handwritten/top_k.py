"""Top-k by hand: number and column in one key of 64 bits, largest by turns or by a bitonic sort."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


def configs(columns: int) -> tuple[dict[str, int], ...]:
    """8 to 32 numbers a thread."""
    return tuple(
        {"ROWS": 32 * warps * numbers // columns, "num_warps": warps}
        for numbers in (8, 16, 32)
        for warps in (1, 2, 4)
    )


@triton.jit
def loaded_keys(x_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Keys in the order of the numbers; of equal numbers the first has the largest."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    places = rows[:, None].to(tl.int64) * N + columns[None, :]
    x = tl.load(x_ptr + places, mask=inside, other=float("-inf"))
    bits = x.to(tl.int32, bitcast=True)
    # Negative numbers are in the opposite order of their bits but the first.
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.to(tl.int64) << 32) | (BLOCK - 1 - columns)[None, :]


@triton.jit
def store_keys(keys, values_ptr, columns_ptr, M, K, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """What the first K keys of each row stand for."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    turns = tl.arange(0, keys.shape[1])
    places = rows[:, None] * K + turns[None, :]
    inside = (rows[:, None] < M) & (turns[None, :] < K)
    ordered = (keys >> 32).to(tl.int32)
    values = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    tl.store(values_ptr + places, values, mask=inside)
    tl.store(columns_ptr + places, BLOCK - 1 - keys.to(tl.int32), mask=inside)


@triton.jit
def turns_kernel(
    x_ptr,
    values_ptr,
    columns_ptr,
    M,
    N,
    K: tl.constexpr,
    SLOTS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    smallest: tl.constexpr = -(2**63)
    keys = loaded_keys(x_ptr, M, N, ROWS, BLOCK)
    slots = tl.arange(0, SLOTS)[None, :]
    found = tl.full((ROWS, SLOTS), smallest, tl.int64)
    for turn in tl.static_range(K):
        largest = tl.max(keys, 1)[:, None]
        found = tl.where(slots == turn, largest, found)
        keys = tl.where(keys == largest, smallest, keys)
    store_keys(found, values_ptr, columns_ptr, M, K, ROWS, BLOCK)


@triton.jit
def bitonic_kernel(
    x_ptr,
    values_ptr,
    columns_ptr,
    M,
    N,
    K: tl.constexpr,
    SLOTS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    keys = loaded_keys(x_ptr, M, N, ROWS, BLOCK)
    found = tl.topk(keys, SLOTS, dim=1)
    store_keys(found, values_ptr, columns_ptr, M, K, ROWS, BLOCK)


def launched(kernel: Any, x: Tensor, k: int, ROWS: int, num_warps: int) -> tuple[Tensor, Tensor]:
    """Rows of float32."""
    M, N = x.shape
    values = x.new_empty((M, k))
    columns = x.new_empty((M, k), dtype=torch.int32)
    block = triton.next_power_of_2(N)
    grid = (triton.cdiv(M, ROWS),)
    kernel[grid](
        x,
        values,
        columns,
        M,
        N,
        K=k,
        SLOTS=triton.next_power_of_2(k),
        ROWS=ROWS,
        BLOCK=block,
        num_warps=num_warps,
    )
    return values, columns


by_turns: Callable[..., tuple[Tensor, Tensor]] = partial(launched, turns_kernel)
bitonic: Callable[..., tuple[Tensor, Tensor]] = partial(launched, bitonic_kernel)
