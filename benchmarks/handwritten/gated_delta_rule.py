"""The gated delta rule by hand: triangular systems of all chunks, then one chunk after another."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

CONFIGS = tuple(
    {"CHUNK": chunk, "BLOCK_V": block_v, "num_warps": num_warps, "num_stages": num_stages}
    for chunk, block_v, num_warps, num_stages in (
        (64, 32, 4, 2),
        (64, 32, 4, 3),
        (64, 64, 4, 1),
        (64, 64, 4, 2),
        (64, 64, 4, 3),
        (64, 64, 8, 2),
        (64, 128, 8, 2),
        (32, 64, 4, 2),
    )
)


@triton.jit
def solve_kernel(
    k_desc,
    v_desc,
    w_desc,
    u_desc,
    rate_ptr,
    beta_ptr,
    sums_ptr,
    seq_len,
    heads,
    DIM_K: tl.constexpr,
    DIM_V: tl.constexpr,
    CHUNK: tl.constexpr,
    LEVELS: tl.constexpr,
):
    """W = T diag(β Γ) K and U = T diag(β) V for T, the inverse of 1 + A of a chunk."""
    first = tl.program_id(0) * CHUNK
    head = tl.program_id(1)
    batch = tl.program_id(2)
    rows = first + tl.arange(0, CHUNK)
    inside = rows < seq_len
    places = (batch.to(tl.int64) * seq_len + rows) * heads + head
    decay = tl.cumsum(tl.load(rate_ptr + places, mask=inside, other=0.0), 0)
    beta = tl.load(beta_ptr + places, mask=inside, other=0.0)
    tl.store(sums_ptr + (batch * heads + head) * seq_len + rows, decay, mask=inside)
    k = k_desc.load([batch, first, head, 0]).reshape(CHUNK, DIM_K)
    v = v_desc.load([batch, first, head, 0]).reshape(CHUNK, DIM_V)
    i = tl.arange(0, CHUNK)[:, None]
    j = tl.arange(0, CHUNK)[None, :]
    scores = tl.dot(k, k.T) * beta[:, None] * tl.exp2(decay[:, None] - decay[None, :])
    a = tl.where(j < i, scores, 0.0)
    # From the inverses of blocks on the diagonal, those of blocks twice as large.
    inverse = tl.where(i == j, 1.0, tl.where(i ^ j == 1, -a, 0.0))
    for level in tl.static_range(1, LEVELS):
        between = tl.where((i ^ j) >> level == 1, -a, 0.0)
        inverse = tl.dot(inverse, tl.dot(between, inverse), inverse)
    scaled = inverse * beta[None, :]
    u = tl.dot(scaled.to(v.dtype), v)
    u_desc.store([batch, first, head, 0], u.to(v.dtype).reshape(1, CHUNK, 1, DIM_V))
    w = tl.dot((scaled * tl.exp2(decay)[None, :]).to(k.dtype), k)
    w_desc.store([batch, first, head, 0], w.to(k.dtype).reshape(1, CHUNK, 1, DIM_K))


@triton.jit
def scan_kernel(
    q_desc,
    k_desc,
    w_desc,
    u_desc,
    o_desc,
    sums_ptr,
    seq_len,
    heads,
    DIM_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
    CHUNK: tl.constexpr,
):
    column = tl.program_id(0) * BLOCK_V
    head = tl.program_id(1)
    batch = tl.program_id(2)
    sums_ptr += (batch * heads + head) * seq_len
    i = tl.arange(0, CHUNK)[:, None]
    j = tl.arange(0, CHUNK)[None, :]
    state = tl.zeros((DIM_K, BLOCK_V), tl.float32)
    for first in range(0, seq_len, CHUNK):
        rows = first + tl.arange(0, CHUNK)
        w = w_desc.load([batch, first, head, 0]).reshape(CHUNK, DIM_K)
        u = u_desc.load([batch, first, head, column]).reshape(CHUNK, BLOCK_V)
        q = q_desc.load([batch, first, head, 0]).reshape(CHUNK, DIM_K)
        k = k_desc.load([batch, first, head, 0]).reshape(CHUNK, DIM_K)
        decay = tl.load(sums_ptr + rows, mask=rows < seq_len, other=0.0)
        whole = tl.load(sums_ptr + min(first + CHUNK, seq_len) - 1)
        held = state.to(q.dtype)
        added = (u - tl.dot(w, held)).to(q.dtype)
        o = tl.dot(q, held) * tl.exp2(decay)[:, None]
        scores = tl.dot(q, k.T) * tl.exp2(decay[:, None] - decay[None, :])
        o = tl.dot(tl.where(j <= i, scores, 0.0).to(q.dtype), added, o)
        o = o.to(q.dtype).reshape(1, CHUNK, 1, BLOCK_V)
        o_desc.store([batch, first, head, column], o)
        left = (added * tl.exp2(whole - decay)[:, None]).to(q.dtype)
        state = tl.dot(k.T, left, state * tl.exp2(whole))


def gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log2_decay: Tensor,
    beta: Tensor,
    CHUNK: int,
    BLOCK_V: int,
    **options: int,
) -> Tensor:
    """(batch, seq_len, heads, dim) each, and numbers of tokens and heads; dims are powers of 2."""
    batch, seq_len, heads, dim_k = q.shape
    dim_v = v.shape[3]
    o, w, u = torch.empty_like(v), torch.empty_like(k), torch.empty_like(v)
    sums = q.new_empty((batch, heads, seq_len), dtype=torch.float32)
    keys, values = [1, CHUNK, 1, dim_k], [1, CHUNK, 1, dim_v]
    block = [1, CHUNK, 1, BLOCK_V]
    k_desc = TensorDescriptor.from_tensor(k, keys)
    w_desc = TensorDescriptor.from_tensor(w, keys)
    solve_kernel[(triton.cdiv(seq_len, CHUNK), heads, batch)](
        k_desc,
        TensorDescriptor.from_tensor(v, values),
        w_desc,
        TensorDescriptor.from_tensor(u, values),
        log2_decay,
        beta,
        sums,
        seq_len,
        heads,
        DIM_K=dim_k,
        DIM_V=dim_v,
        CHUNK=CHUNK,
        LEVELS=CHUNK.bit_length() - 1,
        **options,
    )
    scan_kernel[(triton.cdiv(dim_v, BLOCK_V), heads, batch)](
        TensorDescriptor.from_tensor(q, keys),
        k_desc,
        w_desc,
        TensorDescriptor.from_tensor(u, block),
        TensorDescriptor.from_tensor(o, block),
        sums,
        seq_len,
        heads,
        DIM_K=dim_k,
        BLOCK_V=BLOCK_V,
        CHUNK=CHUNK,
        **options,
    )
    return o
