"""FlashAttention's backward pass by hand, with TMA: one kernel for dK and dV, one for dQ."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2_E = tl.constexpr(1.4426950408889634)
CONFIGS = tuple(
    {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": stages}
    for m, n, warps, stages in (
        (32, 128, 4, 3),
        (64, 64, 4, 2),
        (64, 128, 4, 2),
        (64, 128, 8, 2),
        (64, 128, 8, 3),
        (128, 128, 8, 2),
    )
)


@triton.jit
def delta_kernel(o_ptr, do_ptr, delta_ptr, rows, DIM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    places = row[:, None] * DIM + tl.arange(0, DIM)
    inside = row < rows
    o = tl.load(o_ptr + places, mask=inside[:, None], other=0.0).to(tl.float32)
    do = tl.load(do_ptr + places, mask=inside[:, None], other=0.0).to(tl.float32)
    tl.store(delta_ptr + row, tl.sum(o * do, 1), mask=inside)


@triton.jit
def key_kernel(
    q_desc,
    k_desc,
    v_desc,
    do_desc,
    dk_desc,
    dv_desc,
    lse_ptr,
    delta_ptr,
    seq_len,
    scale,
    CAUSAL: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BLOCK_N
    lse_ptr += head.to(tl.int64) * seq_len
    delta_ptr += head.to(tl.int64) * seq_len
    keys = first + tl.arange(0, BLOCK_N)
    k = k_desc.load([head, first, 0]).reshape(BLOCK_N, DIM)
    v = v_desc.load([head, first, 0]).reshape(BLOCK_N, DIM)
    dk = tl.zeros((BLOCK_N, DIM), tl.float32)
    dv = tl.zeros((BLOCK_N, DIM), tl.float32)
    for row in range(first // BLOCK_M * BLOCK_M if CAUSAL else 0, seq_len, BLOCK_M):
        rows = row + tl.arange(0, BLOCK_M)
        inside = rows < seq_len
        q = q_desc.load([head, row, 0]).reshape(BLOCK_M, DIM)
        lse = tl.load(lse_ptr + rows, mask=inside, other=0.0) * LOG2_E
        weights = tl.exp2(tl.dot(k, q.T) * (scale * LOG2_E) - lse[None, :])
        if CAUSAL:
            weights = tl.where(keys[:, None] <= rows[None, :], weights, 0.0)
        do = do_desc.load([head, row, 0]).reshape(BLOCK_M, DIM)
        delta = tl.load(delta_ptr + rows, mask=inside, other=0.0)
        grads = weights * (tl.dot(v, do.T) - delta[None, :])
        dv = tl.dot(weights.to(do.dtype), do, dv)
        dk = tl.dot(grads.to(q.dtype), q, dk)
    dk_desc.store([head, first, 0], (dk * scale).to(k.dtype).reshape(1, BLOCK_N, DIM))
    dv_desc.store([head, first, 0], dv.to(k.dtype).reshape(1, BLOCK_N, DIM))


@triton.jit
def query_kernel(
    q_desc,
    k_desc,
    v_desc,
    do_desc,
    dq_desc,
    lse_ptr,
    delta_ptr,
    seq_len,
    scale,
    CAUSAL: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BLOCK_N
    rows = first + tl.arange(0, BLOCK_N)
    inside = rows < seq_len
    q = q_desc.load([head, first, 0]).reshape(BLOCK_N, DIM)
    do = do_desc.load([head, first, 0]).reshape(BLOCK_N, DIM)
    at = head.to(tl.int64) * seq_len + rows
    lse = tl.load(lse_ptr + at, mask=inside, other=0.0) * LOG2_E
    delta = tl.load(delta_ptr + at, mask=inside, other=0.0)
    dq = tl.zeros((BLOCK_N, DIM), tl.float32)
    for key in range(0, tl.minimum(first + BLOCK_N, seq_len) if CAUSAL else seq_len, BLOCK_M):
        keys = key + tl.arange(0, BLOCK_M)
        k = k_desc.load([head, key, 0]).reshape(BLOCK_M, DIM)
        weights = tl.exp2(tl.dot(q, k.T) * (scale * LOG2_E) - lse[:, None])
        if CAUSAL:
            weights = tl.where(keys[None, :] <= rows[:, None], weights, 0.0)
        v = v_desc.load([head, key, 0]).reshape(BLOCK_M, DIM)
        grads = weights * (tl.dot(do, v.T) - delta[:, None])
        dq = tl.dot(grads.to(k.dtype), k, dq)
    dq_desc.store([head, first, 0], (dq * scale).to(q.dtype).reshape(1, BLOCK_N, DIM))


def attention_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    do: Tensor,
    lse: Tensor,
    is_causal: bool,
    BLOCK_M: int,
    BLOCK_N: int,
    **options: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, heads, seq_len, dim) each, `dim` a power of two; `lse` is in natural logarithms."""
    batch, heads, seq_len, dim = q.shape
    dq, dk, dv = (torch.empty_like(one) for one in (q, k, v))
    delta = torch.empty_like(lse)
    rows = batch * heads * seq_len
    delta_kernel[(triton.cdiv(rows, 64),)](o, do, delta, rows, DIM=dim, BLOCK=64, num_warps=4)

    def blocks(tensor: Tensor, length: int) -> TensorDescriptor:
        return TensorDescriptor.from_tensor(tensor.view(-1, seq_len, dim), [1, length, dim])

    grid = (triton.cdiv(seq_len, BLOCK_N), batch * heads)
    sizes = {"CAUSAL": is_causal, "DIM": dim, "BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N}
    loaded, kept = (BLOCK_M, BLOCK_N)
    key_kernel[grid](
        blocks(q, loaded),
        blocks(k, kept),
        blocks(v, kept),
        blocks(do, loaded),
        blocks(dk, kept),
        blocks(dv, kept),
        lse,
        delta,
        seq_len,
        dim**-0.5,
        **sizes,
        **options,
    )
    query_kernel[grid](
        blocks(q, kept),
        blocks(k, loaded),
        blocks(v, loaded),
        blocks(do, kept),
        blocks(dq, kept),
        lse,
        delta,
        seq_len,
        dim**-0.5,
        **sizes,
        **options,
    )
    return dq, dk, dv
