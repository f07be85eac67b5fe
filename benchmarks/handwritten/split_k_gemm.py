"""Split-K GEMM by hand: TMA descriptors for the operands, atomics for the parts of a tile."""

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
