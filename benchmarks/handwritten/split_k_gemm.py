"""Split-K GEMM by hand: parts of a tile by atomics, and for few rows by a second kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

TILES = (
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 3},
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
)
CONFIGS = tuple({**tile, "SPLIT_K": split_k} for tile in TILES for split_k in (4, 8))
FEW_ROWS_CONFIGS = tuple(
    {**tile, "SPLIT_K": split_k}
    for tile in (
        {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 128, "num_warps": 4, "num_stages": 5},
        {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 256, "num_warps": 4, "num_stages": 4},
        {"BLOCK_M": 16, "BLOCK_N": 128, "BLOCK_K": 128, "num_warps": 4, "num_stages": 4},
    )
    for split_k in (2, 4, 8)
)


@triton.jit
def split_k_kernel(
    a_desc,
    b_desc,
    c_ptr,
    M,
    N,
    K,
    SPLIT_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    first_m = tl.program_id(1) * BLOCK_M
    first_n = tl.program_id(0) * BLOCK_N
    steps = tl.cdiv(K, BLOCK_K * SPLIT_K)
    first_k = tl.program_id(2) * steps * BLOCK_K
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(first_k, min(first_k + steps * BLOCK_K, K), BLOCK_K):
        a = a_desc.load([first_m, k])
        b = b_desc.load([k, first_n])
        acc = tl.dot(a, b, acc)
    rows = first_m + tl.arange(0, BLOCK_M)
    columns = first_n + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c_ptrs, acc, mask=inside, sem="relaxed")


def split_k_gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    SPLIT_K: int,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    **options: int,
) -> None:
    """c += a @ b."""
    (M, K), N = a.shape, b.shape[1]
    split_k_kernel[(triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M), SPLIT_K)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b, [BLOCK_K, BLOCK_N]),
        c,
        M,
        N,
        K,
        SPLIT_K=SPLIT_K,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        **options,
    )


@triton.jit
def part_kernel(
    a_desc,
    b_desc,
    parts_desc,
    N,
    K,
    SPLIT_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    first_n = tl.program_id(0) * BLOCK_N
    part = tl.program_id(1)
    steps = tl.cdiv(K, BLOCK_K * SPLIT_K)
    first_k = part * steps * BLOCK_K
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(first_k, min(first_k + steps * BLOCK_K, K), BLOCK_K):
        a = a_desc.load([0, k])
        b = b_desc.load([first_n, k])
        acc = tl.dot(a, b.T, acc)
    parts_desc.store([part, 0, first_n], acc.reshape(1, BLOCK_M, BLOCK_N))


@triton.jit
def whole_kernel(parts_ptr, c_ptr, size, SPLIT_K: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(SPLIT_K):
        total += tl.load(parts_ptr + part * size + places, mask=places < size, other=0.0)
    tl.store(c_ptr + places, total.to(c_ptr.dtype.element_ty), mask=places < size)


def few_rows_gemm(
    a: Tensor, b: Tensor, SPLIT_K: int, BLOCK_M: int, BLOCK_N: int, BLOCK_K: int, **options: int
) -> Tensor:
    """a @ b.T for up to BLOCK_M rows of `a`, with the same bits each time."""
    (M, K), N = a.shape, b.shape[0]
    c = a.new_empty((M, N))
    parts = a.new_empty((SPLIT_K, M, N), dtype=torch.float32)
    part_kernel[(triton.cdiv(N, BLOCK_N), SPLIT_K)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b, [BLOCK_N, BLOCK_K]),
        TensorDescriptor.from_tensor(parts, [1, BLOCK_M, BLOCK_N]),
        N,
        K,
        SPLIT_K=SPLIT_K,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        **options,
    )
    whole_kernel[(triton.cdiv(M * N, 1024),)](
        parts, c, M * N, SPLIT_K=SPLIT_K, BLOCK=1024, num_warps=4
    )
    return c
