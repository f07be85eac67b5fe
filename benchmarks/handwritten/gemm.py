"""GEMM by hand: with pointers, with TMA descriptors, and persistent with TMA descriptors."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

TILES = (
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 128, "num_warps": 8, "num_stages": 2},
    {"BLOCK_M": 64, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 4, "num_stages": 4},
)
CONFIGS = tuple({**tile, "GROUP_M": 8} for tile in TILES)
# Storing half a tile at a time leaves shared memory for a stage more.
PERSISTENT_CONFIGS = (
    *({**CONFIGS[index], "SUBTILE": False} for index in (0, 2, 4, 5)),
    *({**CONFIGS[index], "SUBTILE": True} for index in (0, 1, 3, 6)),
)
# Small products need many programs more than large tiles.
SMALL_CONFIGS = tuple(
    {
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": block_k,
        "num_warps": warps,
        "num_stages": stages,
        "GROUP_M": 8,
    }
    for block_m, block_n, block_k, warps, stages in (
        (64, 64, 64, 4, 4),
        (64, 64, 128, 4, 4),
        (64, 128, 64, 4, 4),
        (64, 128, 128, 4, 3),
        (128, 64, 64, 4, 4),
        (128, 128, 64, 4, 4),
        (128, 128, 64, 8, 4),
        (128, 256, 64, 8, 4),
    )
)
# A few rows only: what counts is how many loads are under way.
FEW_ROWS_CONFIGS = tuple(
    {
        "BLOCK_M": 16,
        "BLOCK_N": block_n,
        "BLOCK_K": block_k,
        "num_warps": 4,
        "num_stages": stages,
        "GROUP_M": 1,
    }
    for block_n, block_k, stages in (
        (32, 128, 4),
        (32, 256, 4),
        (32, 256, 6),
        (64, 128, 5),
        (64, 256, 4),
        (128, 128, 4),
    )
)


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    num_m = tl.cdiv(M, BLOCK_M)
    per_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = pid // per_group * GROUP_M
    group = min(num_m - first_m, GROUP_M)
    return first_m + pid % per_group % group, pid % per_group // group


@triton.jit
def pointer_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_bn,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr,
):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    # Rows and columns past the end are computed twice elsewhere and never stored.
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * stride_bk + columns[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=ks[None, :] < K - k, other=0.0)
            b = tl.load(b_ptrs, mask=ks[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None].to(tl.int64) * stride_cm + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=inside)


def gemm_pointers(
    a: Tensor, b: Tensor, transpose_b: bool, num_warps: int, num_stages: int, **tile: int
) -> Tensor:
    M, K = a.shape
    N = b.shape[0] if transpose_b else b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    stride_bn, stride_bk = b.stride() if transpose_b else reversed(b.stride())
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    pointer_kernel[grid](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        stride_bk,
        stride_bn,
        c.stride(0),
        EVEN_K=K % tile["BLOCK_K"] == 0,
        num_warps=num_warps,
        num_stages=num_stages,
        **tile,
    )
    return c


@triton.jit
def tma_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    TRANSPOSE_B: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([pid_m * BLOCK_M, k])
        if TRANSPOSE_B:
            b = b_desc.load([pid_n * BLOCK_N, k]).T
        else:
            b = b_desc.load([k, pid_n * BLOCK_N])
        acc = tl.dot(a, b, acc)
    c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


def gemm_tma(
    a: Tensor,
    b: Tensor,
    transpose_b: bool,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    **options: int,
) -> Tensor:
    M, K = a.shape
    N = b.shape[0] if transpose_b else b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    b_block = [BLOCK_N, BLOCK_K] if transpose_b else [BLOCK_K, BLOCK_N]
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    tma_kernel[grid](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b, b_block),
        TensorDescriptor.from_tensor(c, [BLOCK_M, BLOCK_N]),
        M,
        N,
        K,
        TRANSPOSE_B=transpose_b,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        **options,
    )
    return c


@triton.jit
def persistent_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    TRANSPOSE_B: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SUBTILE: tl.constexpr,
):
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    # One flat loop: the loads of a tile begin while the tile before it is being stored.
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        pid_m, pid_n = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            a = a_desc.load([pid_m * BLOCK_M, k])
            if TRANSPOSE_B:
                b = b_desc.load([pid_n * BLOCK_N, k]).T
            else:
                b = b_desc.load([k, pid_n * BLOCK_N])
            acc = tl.dot(a, b, acc)
        if SUBTILE:
            halves = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1)
            left, right = tl.split(halves)
            c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], left.to(c_desc.dtype))
            middle = pid_n * BLOCK_N + BLOCK_N // 2
            c_desc.store([pid_m * BLOCK_M, middle], right.to(c_desc.dtype))
        else:
            c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


def gemm_persistent(
    a: Tensor,
    b: Tensor,
    transpose_b: bool,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    SUBTILE: bool,
    **options: int,
) -> Tensor:
    M, K = a.shape
    N = b.shape[0] if transpose_b else b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    b_block = [BLOCK_N, BLOCK_K] if transpose_b else [BLOCK_K, BLOCK_N]
    c_block = [BLOCK_M, BLOCK_N // 2 if SUBTILE else BLOCK_N]
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    persistent_kernel[(min(tiles, processors),)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b, b_block),
        TensorDescriptor.from_tensor(c, c_block),
        M,
        N,
        K,
        TRANSPOSE_B=transpose_b,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        SUBTILE=SUBTILE,
        **options,
    )
    return c
