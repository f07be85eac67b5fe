"""gemm: emitted from gemm.py by tile2triton.

Specialised for transpose_B=False, dtype='float16', out_dtype='float16',
accum_dtype='float32'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def gemm_kernel(
    A_desc,
    B_desc,
    C_desc,
    K: tl.constexpr,
    block_N: tl.constexpr,
    block_M: tl.constexpr,
    block_K: tl.constexpr,
):
    pid_x = tl.program_id(0)
    pid_y = tl.program_id(1)
    # Blocks run in panels, so that neighbours share tiles in the L2 cache.
    by, bx = tl.swizzle2d(pid_y, pid_x, tl.num_programs(1), tl.num_programs(0), 8)
    C_local = tl.zeros((block_M, block_N), tl.float32)
    for k in tl.range(tl.cdiv(K, block_K), num_stages=3):
        A_shared = A_desc.load([by * block_M, k * block_K])
        B_shared = B_desc.load([k * block_K, bx * block_N])
        C_local = tl.dot(A_shared, B_shared, C_local)
    C_desc.store([by * block_M, bx * block_N], C_local.to(tl.float16))


# The constants of the kernels; tile sizes may be tuned here.
M = 1000
K = 1000
N = 1000
block_N = 256
block_M = 128
block_K = 64
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
    # TMA reads from multiples of 16 bytes only.
    if A.data_ptr() % 16:
        A = A.clone()
    if B.data_ptr() % 16:
        B = B.clone()
    A_desc = TensorDescriptor(A, [M, K], [K, 1], [block_M, block_K])
    B_desc = TensorDescriptor(B, [K, N], [N, 1], [block_K, block_N])
    C_desc = TensorDescriptor(C, [M, N], [N, 1], [block_M, block_N])
    gemm_kernel[grid](
        A_desc,
        B_desc,
        C_desc,
        K=K,
        block_N=block_N,
        block_M=block_M,
        block_K=block_K,
        num_warps=8,
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
