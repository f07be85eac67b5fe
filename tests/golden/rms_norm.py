"""rms_norm: emitted from norm.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    X, W, Y, M: tl.constexpr, N: tl.constexpr, block_M: tl.constexpr, eps: tl.constexpr
):
    tl.static_assert(block_M == 1)
    bx = tl.program_id(0)

    # T.copy(X[bx * block_M, 0], x)
    offs_m = bx * block_M + tl.arange(0, block_M)
    offs_n = tl.arange(0, N)
    x = tl.load(X + offs_m[:, None] * N + offs_n[None, :]).to(tl.float32)
    squares = x * x
    mean_square = tl.sum(squares)
    mean_square = mean_square / N
    w = tl.load(W + offs_n[None, :])
    x = x * tl.rsqrt(mean_square + eps) * w
    # T.copy(x, Y[bx * block_M, 0])
    tl.store(Y + offs_m[:, None] * N + offs_n[None, :], x.to(tl.float16))


# The constants of the kernels; tile sizes may be tuned here.
M = 8192
N = 8192
block_M = 1
eps = 1e-06
grid = (triton.cdiv(M, block_M),)

several_gpus = torch.cuda.device_count() > 1


def rms_norm(X, W):
    """X: (M, N) float16, W: (N,) float16 -> Y: (M, N) float16."""
    try:
        fits = (
            X.shape == (M, N)
            and W.shape == (N,)
            and X.dtype == W.dtype == torch.float16
            and X.is_contiguous()
            and W.is_contiguous()
            and (not several_gpus or X.get_device() == W.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(X, W)
    if several_gpus and X.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(X.device):
            return rms_norm(X, W)
    Y = torch.empty_like(X)
    rms_norm_kernel[grid](
        X, W, Y, M=M, N=N, block_M=block_M, eps=eps, num_warps=8, num_stages=1
    )
    return Y


def refuse(X, W):
    """Say which argument does not fit, and why."""
    checked("X", X, "(M, N)", (M, N), torch.float16)
    checked("W", W, "(N,)", (N,), torch.float16, X.device)
    raise ValueError("these arguments do not fit rms_norm")


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
