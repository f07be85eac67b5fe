"""decode_attention: emitted from decode_attention.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def decode_attention_kernel_1(
    row_sum_parts,
    row_max_parts,
    acc_parts,
    Q_desc,
    K_desc,
    V_desc,
    heads: tl.constexpr,
    dim: tl.constexpr,
    kv_len: tl.constexpr,
    kv_heads: tl.constexpr,
    block_H: tl.constexpr,
    block_N: tl.constexpr,
    scale: tl.constexpr,
    parts: tl.constexpr,
):
    tl.static_assert(dim == 128)
    h = tl.program_id(0)
    b = tl.program_id(1)
    part = tl.program_id(2)

    # Rows past the group are another group's queries, whose results are not kept.
    Q_shared = Q_desc.load([b, h * (heads // kv_heads), 0]).reshape(block_H, dim)
    acc = tl.zeros((block_H, dim), tl.float32)
    row_sum = tl.zeros((block_H,), tl.float32)
    row_max = tl.full((block_H,), -1e30, tl.float32)
    share = tl.cdiv(tl.cdiv(kv_len, block_N), parts)
    first = part * share
    for k in tl.range(
        first, tl.minimum(first + share, tl.cdiv(kv_len, block_N)), num_stages=2
    ):
        offs_n = k * block_N + tl.arange(0, block_N)
        K_shared = K_desc.load([b, h, k * block_N, 0]).reshape(block_N, dim)
        scores = tl.dot(Q_shared, tl.trans(K_shared))
        seen = offs_n[None, :] < kv_len
        scores = tl.where(seen, scores * scale, float("-inf"))
        new_max = tl.max(scores, axis=1)
        new_max = tl.maximum(row_max, new_max)
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale
        row_max = new_max
        scores = tl.exp2(scores - row_max[:, None])
        row_sum = row_sum + tl.sum(scores, axis=1)
        acc = acc * rescale[:, None]
        weights = scores.to(tl.float16)
        V_shared = V_desc.load([b, h, k * block_N, 0]).reshape(block_N, dim)
        acc = tl.dot(weights, V_shared, acc)
    # T.copy(row_sum, row_sum_parts[b, h, part, :])
    offs_h = tl.arange(0, block_H)
    tl.store(
        row_sum_parts
        + b * (kv_heads * parts * block_H)
        + h * (parts * block_H)
        + part * block_H
        + offs_h,
        row_sum,
    )
    # T.copy(row_max, row_max_parts[b, h, part, :])
    tl.store(
        row_max_parts
        + b * (kv_heads * parts * block_H)
        + h * (parts * block_H)
        + part * block_H
        + offs_h,
        row_max,
    )
    # T.copy(acc, acc_parts[b, h, part, :, :])
    offs_dim = tl.arange(0, dim)
    tl.store(
        acc_parts
        + b * (kv_heads * parts * block_H * dim)
        + h * (parts * block_H * dim)
        + part * (block_H * dim)
        + offs_h[:, None] * dim
        + offs_dim[None, :],
        acc,
    )


@triton.jit
def decode_attention_kernel_2(
    O,
    row_sum_parts,
    row_max_parts,
    acc_parts,
    heads: tl.constexpr,
    dim: tl.constexpr,
    kv_heads: tl.constexpr,
    block_H: tl.constexpr,
    parts: tl.constexpr,
):
    h = tl.program_id(0)
    b = tl.program_id(1)

    acc = tl.zeros((block_H, dim), tl.float32)
    row_sum = tl.zeros((block_H,), tl.float32)
    row_max = tl.full((block_H,), -1e30, tl.float32)
    offs_h = tl.arange(0, block_H)
    offs_dim = tl.arange(0, dim)
    for part_1 in tl.range(parts, num_stages=4):
        # T.copy(row_sum_parts[b, h, part_1, :], row_sum_part)
        row_sum_part = tl.load(
            row_sum_parts
            + b * (kv_heads * parts * block_H)
            + h * (parts * block_H)
            + part_1 * block_H
            + offs_h
        )
        # T.copy(row_max_parts[b, h, part_1, :], row_max_part)
        row_max_part = tl.load(
            row_max_parts
            + b * (kv_heads * parts * block_H)
            + h * (parts * block_H)
            + part_1 * block_H
            + offs_h
        )
        # T.copy(acc_parts[b, h, part_1, :, :], acc_part)
        acc_part = tl.load(
            acc_parts
            + b * (kv_heads * parts * block_H * dim)
            + h * (parts * block_H * dim)
            + part_1 * (block_H * dim)
            + offs_h[:, None] * dim
            + offs_dim[None, :]
        )
        new_row_max = tl.maximum(row_max, row_max_part)
        row_sum = row_sum * tl.exp2(row_max - new_row_max) + row_sum_part * tl.exp2(
            row_max_part - new_row_max
        )
        acc = acc * tl.exp2(
            row_max[:, None] - new_row_max[:, None]
        ) + acc_part * tl.exp2(row_max_part[:, None] - new_row_max[:, None])
        row_max = new_row_max
    where = offs_h[:, None] < heads // kv_heads
    offs_h_1 = h * (heads // kv_heads) + tl.arange(0, block_H)
    tl.store(
        O + b * (heads * dim) + offs_h_1[:, None] * dim + offs_dim[None, :],
        (acc / row_sum[:, None]).to(tl.float16),
        mask=(offs_h_1[:, None] < heads) & where,
    )


# The constants of the kernels; tile sizes may be tuned here.
batch = 16
heads = 32
dim = 128
kv_len = 8192
kv_heads = 8
block_H = 16
block_N = 64
scale = 0.12751743082459868
parts = 8
decode_attention_kernel_1_grid = (kv_heads, batch, parts)
decode_attention_kernel_2_grid = (kv_heads, batch)

several_gpus = torch.cuda.device_count() > 1


def decode_attention(Q, K, V):
    """Arguments:
        Q: (batch, heads, dim) float16
        K, V: (batch, kv_len, kv_heads, dim) float16
    Results:
        O: (batch, heads, dim) float16
    """
    try:
        fits = (
            Q.shape == (batch, heads, dim)
            and K.shape == V.shape == (batch, kv_len, kv_heads, dim)
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
            return decode_attention(Q, K, V)
    O = torch.empty_like(Q)
    row_sum_parts = Q.new_empty((batch, kv_heads, parts, block_H), dtype=torch.float32)
    row_max_parts = Q.new_empty((batch, kv_heads, parts, block_H), dtype=torch.float32)
    acc_parts = Q.new_empty((batch, kv_heads, parts, block_H, dim), dtype=torch.float32)
    # TMA reads from multiples of 16 bytes only.
    if Q.data_ptr() % 16:
        Q = Q.clone()
    if K.data_ptr() % 16:
        K = K.clone()
    if V.data_ptr() % 16:
        V = V.clone()
    Q_desc = TensorDescriptor(
        Q, [batch, heads, dim], [heads * dim, dim, 1], [1, block_H, dim]
    )
    K_desc = TensorDescriptor(
        K,
        [batch, kv_heads, kv_len, dim],
        [kv_len * kv_heads * dim, dim, kv_heads * dim, 1],
        [1, 1, block_N, dim],
    )
    V_desc = TensorDescriptor(
        V,
        [batch, kv_heads, kv_len, dim],
        [kv_len * kv_heads * dim, dim, kv_heads * dim, 1],
        [1, 1, block_N, dim],
    )
    decode_attention_kernel_1[decode_attention_kernel_1_grid](
        row_sum_parts,
        row_max_parts,
        acc_parts,
        Q_desc,
        K_desc,
        V_desc,
        heads=heads,
        dim=dim,
        kv_len=kv_len,
        kv_heads=kv_heads,
        block_H=block_H,
        block_N=block_N,
        scale=scale,
        parts=parts,
        num_warps=4,
        num_stages=1,
    )
    decode_attention_kernel_2[decode_attention_kernel_2_grid](
        O,
        row_sum_parts,
        row_max_parts,
        acc_parts,
        heads=heads,
        dim=dim,
        kv_heads=kv_heads,
        block_H=block_H,
        parts=parts,
        num_warps=4,
        num_stages=1,
    )
    return O


def refuse(Q, K, V):
    """Say which argument does not fit, and why."""
    checked("Q", Q, "(batch, heads, dim)", (batch, heads, dim), torch.float16)
    checked(
        "K",
        K,
        "(batch, kv_len, kv_heads, dim)",
        (batch, kv_len, kv_heads, dim),
        torch.float16,
        Q.device,
    )
    checked(
        "V",
        V,
        "(batch, kv_len, kv_heads, dim)",
        (batch, kv_len, kv_heads, dim),
        torch.float16,
        Q.device,
    )
    raise ValueError("these arguments do not fit decode_attention")


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
