"""split_k_gemm: emitted from split_k_gemm.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def split_k_gemm_kernel(
    C,
    A_desc,
    B_desc,
    M: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    block_N: tl.constexpr,
    block_M: tl.constexpr,
    split_k: tl.constexpr,
    block_K: tl.constexpr,
):
    tl.static_assert(M % block_M == 0)
    tl.static_assert(N % block_N == 0)
    bx = tl.program_id(0)
    by = tl.program_id(1)
    bz = tl.program_id(2)

    C_local = tl.zeros((block_M, block_N), tl.float32)
    for k in tl.range(tl.cdiv(K, block_K * split_k), num_stages=3):
        # Past the end of K both tiles are zero and add nothing.
        A_shared = A_desc.load(
            [by * block_M, (bz * tl.cdiv(K, block_K * split_k) + k) * block_K]
        )
        B_shared = B_desc.load(
            [(bz * tl.cdiv(K, block_K * split_k) + k) * block_K, bx * block_N]
        )
        C_local = tl.dot(A_shared, B_shared, C_local)
    # T.atomic_add(C[by * block_M, bx * block_N], C_local)
    offs_m = by * block_M + tl.arange(0, block_M)
    offs_n = bx * block_N + tl.arange(0, block_N)
    tl.atomic_add(C + offs_m[:, None] * N + offs_n[None, :], C_local, sem="relaxed")


# The constants of the kernels; tile sizes may be tuned here.
M = 512
K = 65536
N = 512
block_N = 128
block_M = 128
split_k = 4
block_K = 64
grid = (triton.cdiv(N, block_N), triton.cdiv(M, block_M), split_k)

several_gpus = torch.cuda.device_count() > 1


def split_k_gemm(A, B, C):
    """A: (M, K) float16, B: (K, N) float16, C: (M, N) float32."""
    try:
        fits = (
            A.shape == (M, K)
            and B.shape == (K, N)
            and C.shape == (M, N)
            and A.dtype == B.dtype == torch.float16
            and C.dtype == torch.float32
            and A.is_contiguous()
            and B.is_contiguous()
            and C.is_contiguous()
            and (not several_gpus or A.get_device() == B.get_device() == C.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(A, B, C)
    if several_gpus and A.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(A.device):
            return split_k_gemm(A, B, C)
    # TMA reads from multiples of 16 bytes only.
    if A.data_ptr() % 16:
        A = A.clone()
    if B.data_ptr() % 16:
        B = B.clone()
    A_desc = TensorDescriptor(A, [M, K], [K, 1], [block_M, block_K])
    B_desc = TensorDescriptor(B, [K, N], [N, 1], [block_K, block_N])
    split_k_gemm_kernel[grid](
        C,
        A_desc,
        B_desc,
        M=M,
        K=K,
        N=N,
        block_N=block_N,
        block_M=block_M,
        split_k=split_k,
        block_K=block_K,
        num_warps=4,
        num_stages=1,
    )


def refuse(A, B, C):
    """Say which argument does not fit, and why."""
    checked("A", A, "(M, K)", (M, K), torch.float16)
    checked("B", B, "(K, N)", (K, N), torch.float16, A.device)
    checked("C", C, "(M, N)", (M, N), torch.float32, A.device)
    raise ValueError("these arguments do not fit split_k_gemm")


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
