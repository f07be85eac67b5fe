"""gemm: emitted from gemm.py by tile2triton.

Specialised for transpose_B=False, dtype='float16', out_dtype='float16',
accum_dtype='float32'.

Patched where tile2triton is installed: inferred_layouts of gemm_kernel.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    A,
    B,
    C,
    M: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    block_N: tl.constexpr,
    block_M: tl.constexpr,
    block_K: tl.constexpr,
):
    tl.static_assert(M % block_M == 0)
    tl.static_assert(K % block_K == 0)
    tl.static_assert(N % block_N == 0)
    pid_x = tl.program_id(0)
    pid_y = tl.program_id(1)
    # Blocks run in panels, so that neighbours share tiles in the L2 cache.
    by, bx = tl.swizzle2d(pid_y, pid_x, tl.num_programs(1), tl.num_programs(0), 8)
    C_local = tl.zeros((block_M, block_N), tl.float32)
    offs_m = by * block_M + tl.arange(0, block_M)
    offs_n = bx * block_N + tl.arange(0, block_N)
    for k in tl.range(tl.cdiv(K, block_K), num_stages=2):
        offs_k = k * block_K + tl.arange(0, block_K)
        # T.copy(A[by * block_M, k * block_K], A_shared)
        A_shared = tl.load(A + offs_m[:, None] * K + offs_k[None, :])
        # T.copy(B[k * block_K, bx * block_N], B_shared)
        B_shared = tl.load(B + offs_k[:, None] * N + offs_n[None, :])
        C_local = tl.dot(A_shared, B_shared, C_local)
    # T.copy(C_local, C[by * block_M, bx * block_N])
    tl.store(C + offs_m[:, None] * N + offs_n[None, :], C_local.to(tl.float16))


# What Triton's language cannot say; without tile2triton it is left out.
try:
    from tile2triton.ttgir import patch
except ImportError:
    pass
else:
    patch(gemm_kernel, ("inferred_layouts", "", {}))

# The constants of the kernels; tile sizes may be tuned here.
M = 8192
K = 8192
N = 8192
block_N = 128
block_M = 128
block_K = 32
grid = (triton.cdiv(N, block_N), triton.cdiv(M, block_M))

several_gpus = torch.cuda.device_count() > 1


def gemm(A, B):
    """A: (M, K) float16, B: (K, N) float16 -> C: (M, N) float16."""
    try:
        fits = (
            A.shape == (M, K)
            and B.shape == (K, N)
            and A.dtype == B.dtype == torch.float16
            and A.is_contiguous()
            and B.is_contiguous()
            and (not several_gpus or A.get_device() == B.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(A, B)
    if several_gpus and A.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(A.device):
            return gemm(A, B)
    C = A.new_empty((M, N))
    gemm_kernel[grid](
        A,
        B,
        C,
        M=M,
        K=K,
        N=N,
        block_N=block_N,
        block_M=block_M,
        block_K=block_K,
        num_warps=4,
        num_stages=1,
    )
    return C


def refuse(A, B):
    """Say which argument does not fit, and why."""
    checked("A", A, "(M, K)", (M, K), torch.float16)
    checked("B", B, "(K, N)", (K, N), torch.float16, A.device)
    raise ValueError("these arguments do not fit gemm")


def checked(name, tensor, sizes, wanted, dtype, device=None):
    """The sizes of an argument that fits; an error that says why another does not."""
    if not isinstance(tensor, torch.Tensor):
        found = "None" if tensor is None else type(tensor).__name__
        raise TypeError(f"{name} must be a torch.Tensor, found {found}")
    found = tuple(tensor.shape)
    if len(found) != len(wanted):
        raise ValueError(
            f"{name} must have {len(wanted)} dimensions, {sizes}, "
            + f"found {len(found)}: {found}"
        )
    if any(size not in (None, here) for size, here in zip(wanted, found)):
        values = tuple("any" if size is None else size for size in wanted)
        raise ValueError(f"{name} must be of shape {sizes} = {values}, found {found}")
    if tensor.dtype != dtype:
        raise TypeError(
            f"{name} must be {dtype}, found {tensor.dtype}; pass {name}.to({dtype})"
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"{name} must be contiguous, found strides {tensor.stride()}; "
            + f"pass {name}.contiguous()"
        )
    if device is not None and tensor.device != device:
        raise ValueError(
            f"{name} must be on {device}, found {tensor.device}; "
            + f"pass {name}.to('{device}')"
        )
    return found
