"""linear_attention: emitted from linear_attention.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def linear_attention_kernel(
    Q_desc,
    K_desc,
    V_desc,
    O_desc,
    seq_len: tl.constexpr,
    dim_K: tl.constexpr,
    block_V: tl.constexpr,
    chunk: tl.constexpr,
):
    bx = tl.program_id(0)
    by = tl.program_id(1)
    bz = tl.program_id(2)

    state = tl.zeros((dim_K, block_V), tl.float32)
    offs_chunk = tl.arange(0, chunk)
    for c in tl.range(tl.cdiv(seq_len, chunk), num_stages=2):
        # Rows past the end are zero: they neither see nor change the state.
        q = Q_desc.load([bz, by, c * chunk, 0]).reshape(chunk, dim_K)
        k = K_desc.load([bz, by, c * chunk, 0]).reshape(chunk, dim_K)
        v = V_desc.load([bz, by, c * chunk, bx * block_V]).reshape(chunk, block_V)

        # What the chunk sees of itself, then of all chunks before it.
        scores = tl.dot(q, tl.trans(k))
        weights = tl.where(offs_chunk[None, :] <= offs_chunk[:, None], scores, 0.0).to(
            tl.float16
        )
        o = tl.dot(weights, v)
        state_cast = state.to(tl.float16)
        o = tl.dot(q, state_cast, o)

        state = tl.dot(tl.trans(k), v, state)
        O_desc.store(
            [bz, by, c * chunk, bx * block_V],
            o.to(tl.float16).reshape(1, 1, chunk, block_V),
        )


# The constants of the kernels; tile sizes may be tuned here.
batch = 4
seq_len = 4096
heads = 16
dim_K = 128
dim_V = 128
block_V = 64
chunk = 64
grid = (triton.cdiv(dim_V, block_V), heads, batch)

several_gpus = torch.cuda.device_count() > 1


def linear_attention(Q, K, V):
    """Arguments:
        Q, K: (batch, seq_len, heads, dim_K) float16
        V: (batch, seq_len, heads, dim_V) float16
    Results:
        O: (batch, seq_len, heads, dim_V) float16
    """
    try:
        fits = (
            Q.shape == K.shape == (batch, seq_len, heads, dim_K)
            and V.shape == (batch, seq_len, heads, dim_V)
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
            return linear_attention(Q, K, V)
    O = torch.empty_like(V)
    # TMA reads from multiples of 16 bytes only.
    if Q.data_ptr() % 16:
        Q = Q.clone()
    if K.data_ptr() % 16:
        K = K.clone()
    if V.data_ptr() % 16:
        V = V.clone()
    Q_desc = TensorDescriptor(
        Q,
        [batch, heads, seq_len, dim_K],
        [seq_len * heads * dim_K, dim_K, heads * dim_K, 1],
        [1, 1, chunk, dim_K],
    )
    K_desc = TensorDescriptor(
        K,
        [batch, heads, seq_len, dim_K],
        [seq_len * heads * dim_K, dim_K, heads * dim_K, 1],
        [1, 1, chunk, dim_K],
    )
    V_desc = TensorDescriptor(
        V,
        [batch, heads, seq_len, dim_V],
        [seq_len * heads * dim_V, dim_V, heads * dim_V, 1],
        [1, 1, chunk, block_V],
    )
    O_desc = TensorDescriptor(
        O,
        [batch, heads, seq_len, dim_V],
        [seq_len * heads * dim_V, dim_V, heads * dim_V, 1],
        [1, 1, chunk, block_V],
    )
    linear_attention_kernel[grid](
        Q_desc,
        K_desc,
        V_desc,
        O_desc,
        seq_len=seq_len,
        dim_K=dim_K,
        block_V=block_V,
        chunk=chunk,
        num_warps=4,
        num_stages=1,
    )
    return O


def refuse(Q, K, V):
    """Say which argument does not fit, and why."""
    checked(
        "Q",
        Q,
        "(batch, seq_len, heads, dim_K)",
        (batch, seq_len, heads, dim_K),
        torch.float16,
    )
    checked(
        "K",
        K,
        "(batch, seq_len, heads, dim_K)",
        (batch, seq_len, heads, dim_K),
        torch.float16,
        Q.device,
    )
    checked(
        "V",
        V,
        "(batch, seq_len, heads, dim_V)",
        (batch, seq_len, heads, dim_V),
        torch.float16,
        Q.device,
    )
    raise ValueError("these arguments do not fit linear_attention")


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
