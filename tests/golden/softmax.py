"""softmax: emitted from softmax.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(X, Y, M: tl.constexpr, N: tl.constexpr, block_M: tl.constexpr):
    tl.static_assert(block_M == 1)
    bx = tl.program_id(0)

    # T.copy(X[bx * block_M, 0], x)
    offs_m = bx * block_M + tl.arange(0, block_M)
    offs_n = tl.arange(0, N)
    x = tl.load(X + offs_m[:, None] * N + offs_n[None, :]).to(tl.float32)
    row_max = tl.max(x)
    x = tl.exp(x - row_max)
    row_sum = tl.sum(x)
    x = x / row_sum
    # T.copy(x, Y[bx * block_M, 0])
    tl.store(Y + offs_m[:, None] * N + offs_n[None, :], x.to(tl.float16))


# The constants of the kernels; tile sizes may be tuned here.
M = 8192
N = 8192
block_M = 1
grid = (triton.cdiv(M, block_M),)

several_gpus = torch.cuda.device_count() > 1


def softmax(X):
    """X: (M, N) float16 -> Y: (M, N) float16."""
    try:
        fits = X.shape == (M, N) and X.dtype == torch.float16 and X.is_contiguous()
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(X)
    if several_gpus and X.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(X.device):
            return softmax(X)
    Y = torch.empty_like(X)
    softmax_kernel[grid](X, Y, M=M, N=N, block_M=block_M, num_warps=8, num_stages=1)
    return Y


def refuse(X):
    """Say which argument does not fit, and why."""
    checked("X", X, "(M, N)", (M, N), torch.float16)
    raise ValueError("these arguments do not fit softmax")


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
