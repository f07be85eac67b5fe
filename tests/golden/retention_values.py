"""retention: emitted from retention.py by tile2triton.

Specialised for dtype='float16'.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def retention_kernel(
    log2_decay,
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
    log2_decay_value = tl.load(log2_decay + by)
    rate = log2_decay_value
    state = tl.zeros((dim_K, block_V), tl.float32)
    offs_chunk = tl.arange(0, chunk) + 1
    offs_chunk_1 = tl.arange(0, chunk)
    offs_chunk_2 = chunk - 1 - tl.arange(0, chunk)
    for c in tl.range(tl.cdiv(seq_len, chunk), num_stages=2):
        q = Q_desc.load([bz, by, c * chunk, 0]).reshape(chunk, dim_K)
        k = K_desc.load([bz, by, c * chunk, 0]).reshape(chunk, dim_K)
        v = V_desc.load([bz, by, c * chunk, bx * block_V]).reshape(chunk, block_V)

        # What was before the chunk has decayed by one more step for each token.
        state_cast = state.to(tl.float16)
        o = tl.dot(q, state_cast)
        o = o * tl.exp2(rate * offs_chunk[:, None])
        scores = tl.dot(q, tl.trans(k))
        weights = tl.where(
            offs_chunk_1[None, :] <= offs_chunk_1[:, None],
            scores * tl.exp2(rate * (offs_chunk_1[:, None] - offs_chunk_1[None, :])),
            0.0,
        ).to(tl.float16)
        o = tl.dot(weights, v, o)

        decayed = (v * tl.exp2(rate * offs_chunk_2[:, None])).to(tl.float16)
        state = state * tl.exp2(rate * chunk)
        state = tl.dot(tl.trans(k), decayed, state)
        O_desc.store(
            [bz, by, c * chunk, bx * block_V],
            o.to(tl.float16).reshape(1, 1, chunk, block_V),
        )


# The constants of the kernels; tile sizes may be tuned here.
batch = 4
seq_len = 1000
heads = 16
dim_K = 128
dim_V = 96
block_V = 64
chunk = 64
grid = (triton.cdiv(dim_V, block_V), heads, batch)

several_gpus = torch.cuda.device_count() > 1


def retention(Q, K, V, log2_decay):
    """Arguments:
        Q, K: (batch, seq_len, heads, dim_K) float16
        V: (batch, seq_len, heads, dim_V) float16
        log2_decay: (heads,) float32
    Results:
        O: (batch, seq_len, heads, dim_V) float16
    """
    try:
        fits = (
            Q.shape == K.shape == (batch, seq_len, heads, dim_K)
            and V.shape == (batch, seq_len, heads, dim_V)
            and log2_decay.shape == (heads,)
            and Q.dtype == K.dtype == V.dtype == torch.float16
            and log2_decay.dtype == torch.float32
            and Q.is_contiguous()
            and K.is_contiguous()
            and V.is_contiguous()
            and log2_decay.is_contiguous()
            and (
                not several_gpus
                or Q.get_device()
                == K.get_device()
                == V.get_device()
                == log2_decay.get_device()
            )
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(Q, K, V, log2_decay)
    if several_gpus and Q.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(Q.device):
            return retention(Q, K, V, log2_decay)
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
    retention_kernel[grid](
        log2_decay,
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


def refuse(Q, K, V, log2_decay):
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
    checked("log2_decay", log2_decay, "(heads,)", (heads,), torch.float32, Q.device)
    raise ValueError("these arguments do not fit retention")


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
