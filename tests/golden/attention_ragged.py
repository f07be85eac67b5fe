"""attention: emitted from flash_attention.py by tile2triton.

Specialised for is_causal=False, layout='bhsd', dtype='float16'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def attention_kernel(
    Q_desc,
    K_desc,
    V_desc,
    O_desc,
    seq_len: tl.constexpr,
    dim: tl.constexpr,
    block_M: tl.constexpr,
    block_N: tl.constexpr,
    scale: tl.constexpr,
):
    tl.static_assert(dim == 128)
    tl.static_assert(seq_len % block_N != 0)
    bx = tl.program_id(0)
    by = tl.program_id(1)
    bz = tl.program_id(2)

    first_row = bx * block_M

    Q_shared = Q_desc.load([bz, by, first_row, 0]).reshape(block_M, dim)
    acc = tl.zeros((block_M, dim), tl.float32)
    row_sum = tl.zeros((block_M,), tl.float32)
    row_max = tl.full((block_M,), float("-inf"), tl.float32)

    for k in tl.range(seq_len // block_N, num_stages=2):
        K_shared = K_desc.load([bz, by, k * block_N, 0]).reshape(block_N, dim)
        scores = tl.dot(Q_shared, tl.trans(K_shared))

        # What was summed under the old maximum is scaled to the new one.
        new_max = tl.max(scores, axis=1)
        new_max = tl.maximum(row_max, new_max * scale)
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale
        row_max = new_max
        scores = tl.exp2(scores * scale - row_max[:, None])
        row_sum = row_sum + tl.sum(scores, axis=1)
        acc = acc * rescale[:, None]

        weights = scores.to(tl.float16)
        V_shared = V_desc.load([bz, by, k * block_N, 0]).reshape(block_N, dim)
        acc = tl.dot(weights, V_shared, acc)

    # The blocks on the diagonal, or past the end of the sequence, need a mask.
    for k in tl.range(seq_len // block_N, tl.cdiv(seq_len, block_N), num_stages=2):
        offs_n = k * block_N + tl.arange(0, block_N)
        K_shared = K_desc.load([bz, by, k * block_N, 0]).reshape(block_N, dim)
        scores = tl.dot(Q_shared, tl.trans(K_shared))
        seen = offs_n[None, :] < seq_len
        scores = tl.where(seen, scores, float("-inf"))

        # What was summed under the old maximum is scaled to the new one.
        new_max = tl.max(scores, axis=1)
        new_max = tl.maximum(row_max, new_max * scale)
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale
        row_max = new_max
        scores = tl.exp2(scores * scale - row_max[:, None])
        row_sum = row_sum + tl.sum(scores, axis=1)
        acc = acc * rescale[:, None]

        weights = scores.to(tl.float16)
        V_shared = V_desc.load([bz, by, k * block_N, 0]).reshape(block_N, dim)
        acc = tl.dot(weights, V_shared, acc)

    acc = acc / row_sum[:, None]
    O_desc.store([bz, by, first_row, 0], acc.to(tl.float16).reshape(1, 1, block_M, dim))


# The constants of the kernels; tile sizes may be tuned here.
batch = 4
heads = 16
seq_len = 1000
dim = 128
block_M = 128
block_N = 128
scale = 0.12751743082459868
grid = (triton.cdiv(seq_len, block_M), heads, batch)

several_gpus = torch.cuda.device_count() > 1


def attention(Q, K, V):
    """Arguments:
        Q, K, V: (batch, heads, seq_len, dim) float16
    Results:
        O: (batch, heads, seq_len, dim) float16
    """
    try:
        fits = (
            Q.shape == K.shape == V.shape == (batch, heads, seq_len, dim)
            and Q.dtype == K.dtype == V.dtype == torch.float16
            and Q.is_contiguous()
            and K.is_contiguous()
            and V.is_contiguous()
            and (not several_gpus or Q.get_device() == K.get_device() == V.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(Q, K, V)
    if several_gpus and Q.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(Q.device):
            return attention(Q, K, V)
    O = torch.empty_like(Q)
    # TMA reads from multiples of 16 bytes only.
    if Q.data_ptr() % 16:
        Q = Q.clone()
    if K.data_ptr() % 16:
        K = K.clone()
    if V.data_ptr() % 16:
        V = V.clone()
    Q_desc = TensorDescriptor(
        Q,
        [batch, heads, seq_len, dim],
        [heads * seq_len * dim, seq_len * dim, dim, 1],
        [1, 1, block_M, dim],
    )
    K_desc = TensorDescriptor(
        K,
        [batch, heads, seq_len, dim],
        [heads * seq_len * dim, seq_len * dim, dim, 1],
        [1, 1, block_N, dim],
    )
    V_desc = TensorDescriptor(
        V,
        [batch, heads, seq_len, dim],
        [heads * seq_len * dim, seq_len * dim, dim, 1],
        [1, 1, block_N, dim],
    )
    O_desc = TensorDescriptor(
        O,
        [batch, heads, seq_len, dim],
        [heads * seq_len * dim, seq_len * dim, dim, 1],
        [1, 1, block_M, dim],
    )
    attention_kernel[grid](
        Q_desc,
        K_desc,
        V_desc,
        O_desc,
        seq_len=seq_len,
        dim=dim,
        block_M=block_M,
        block_N=block_N,
        scale=scale,
        num_warps=8,
        num_stages=1,
    )
    return O


def refuse(Q, K, V):
    """Say which argument does not fit, and why."""
    checked(
        "Q",
        Q,
        "(batch, heads, seq_len, dim)",
        (batch, heads, seq_len, dim),
        torch.float16,
    )
    checked(
        "K",
        K,
        "(batch, heads, seq_len, dim)",
        (batch, heads, seq_len, dim),
        torch.float16,
        Q.device,
    )
    checked(
        "V",
        V,
        "(batch, heads, seq_len, dim)",
        (batch, heads, seq_len, dim),
        torch.float16,
        Q.device,
    )
    raise ValueError("these arguments do not fit attention")


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
