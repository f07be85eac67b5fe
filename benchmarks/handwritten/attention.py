"""Attention forward by hand with TMA descriptors: unmasked and masked loops; a rotated loop."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

CONFIGS = (
    {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
    {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
    {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 4, "num_stages": 2},
    {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 4, "num_stages": 3},
    {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
)
# The rotated loop needs the one masked block to come first: square tiles.
ROTATED_CONFIGS = (
    {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
    {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2},
    {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
)
LOG2E = 1.4426950408889634


@triton.jit
def attend(
    acc,
    row_max,
    row_sum,
    q,
    k_desc,
    v_desc,
    batch,
    column,
    first_row,
    start,
    stop,
    seq_len,
    scale,
    MASKED: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    for first in tl.range(start, stop, BLOCK_N):
        k = k_desc.load([batch, first, column]).reshape(BLOCK_N, DIM)
        scores = tl.dot(q, k.T)
        if MASKED:
            columns = first + tl.arange(0, BLOCK_N)
            if CAUSAL:
                rows = first_row + tl.arange(0, BLOCK_M)
                scores = tl.where(columns[None, :] <= rows[:, None], scores, -float("inf"))
            else:
                scores = tl.where(columns[None, :] < seq_len, scores, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = acc * rescale[:, None]
        v = v_desc.load([batch, first, column]).reshape(BLOCK_N, DIM)
        acc = tl.dot(weights.to(v.dtype), v, acc)
        row_max = new_max
    return acc, row_max, row_sum


@triton.jit
def attention_kernel(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    heads,
    seq_len,
    scale,
    GROUP: tl.constexpr,
    BSHD: tl.constexpr,
    CAUSAL: tl.constexpr,
    RAGGED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    batch = tl.program_id(2)
    head = tl.program_id(1)
    column = head * DIM
    kv_batch = batch
    kv_column = head // GROUP * DIM
    if not BSHD:
        kv_batch = batch * (heads // GROUP) + head // GROUP
        batch = batch * heads + head
        column = 0
        kv_column = 0
    first_row = tl.program_id(0) * BLOCK_M
    if CAUSAL:
        # The last rows have the most work and go first.
        first_row = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_M,), tl.float32)
    q = q_desc.load([batch, first_row, column]).reshape(BLOCK_M, DIM)
    if CAUSAL:
        whole = first_row // BLOCK_N * BLOCK_N
        stop = min(first_row + BLOCK_M, seq_len)
    else:
        whole = seq_len // BLOCK_N * BLOCK_N
        stop = seq_len
    acc, row_max, row_sum = attend(
        acc,
        row_max,
        row_sum,
        q,
        k_desc,
        v_desc,
        kv_batch,
        kv_column,
        first_row,
        0,
        whole,
        seq_len,
        scale,
        MASKED=False,
        CAUSAL=CAUSAL,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        DIM=DIM,
    )
    if CAUSAL or RAGGED:
        acc, row_max, row_sum = attend(
            acc,
            row_max,
            row_sum,
            q,
            k_desc,
            v_desc,
            kv_batch,
            kv_column,
            first_row,
            whole,
            stop,
            seq_len,
            scale,
            MASKED=True,
            CAUSAL=CAUSAL,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            DIM=DIM,
        )
    o = (acc / row_sum[:, None]).to(o_desc.dtype)
    o_desc.store([batch, first_row, column], o.reshape(1, BLOCK_M, DIM))


@triton.jit
def rotated_kernel(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    heads,
    seq_len,
    scale,
    GROUP: tl.constexpr,
    BSHD: tl.constexpr,
    CAUSAL: tl.constexpr,
    RAGGED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    tl.static_assert(BLOCK_M == BLOCK_N)
    batch = tl.program_id(2)
    head = tl.program_id(1)
    column = head * DIM
    kv_batch = batch
    kv_column = head // GROUP * DIM
    if not BSHD:
        kv_batch = batch * (heads // GROUP) + head // GROUP
        batch = batch * heads + head
        column = 0
        kv_column = 0
    first_row = tl.program_id(0) * BLOCK_M
    if CAUSAL:
        first_row = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    q = q_desc.load([batch, first_row, column]).reshape(BLOCK_M, DIM)
    # The block that needs a mask comes first; the loop then walks down to block 0.
    last = first_row if CAUSAL else (seq_len - 1) // BLOCK_N * BLOCK_N
    k = k_desc.load([kv_batch, last, kv_column]).reshape(BLOCK_N, DIM)
    scores = tl.dot(q, k.T)
    columns = last + tl.arange(0, BLOCK_N)
    if CAUSAL:
        rows = first_row + tl.arange(0, BLOCK_M)
        scores = tl.where(columns[None, :] <= rows[:, None], scores, -float("inf"))
    elif RAGGED:
        scores = tl.where(columns[None, :] < seq_len, scores, -float("inf"))
    row_max = tl.max(scores, 1) * scale
    weights = tl.exp2(scores * scale - row_max[:, None])
    row_sum = tl.sum(weights, 1)
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    # The next Q Kᵀ is issued before this P V, so that the tensor cores work during the softmax.
    for done in tl.range(0, last, BLOCK_N):
        first = last - done
        k = k_desc.load([kv_batch, first - BLOCK_N, kv_column]).reshape(BLOCK_N, DIM)
        scores = tl.dot(q, k.T)
        v = v_desc.load([kv_batch, first, kv_column]).reshape(BLOCK_N, DIM)
        acc = tl.dot(weights.to(v.dtype), v, acc)
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = acc * rescale[:, None]
        row_max = new_max
    v = v_desc.load([kv_batch, 0, kv_column]).reshape(BLOCK_N, DIM)
    acc = tl.dot(weights.to(v.dtype), v, acc)
    o = (acc / row_sum[:, None]).to(o_desc.dtype)
    o_desc.store([batch, first_row, column], o.reshape(1, BLOCK_M, DIM))


def launch(
    kernel: triton.JITFunction,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    is_causal: bool,
    layout: str,
    BLOCK_M: int,
    BLOCK_N: int,
    **options: int,
) -> Tensor:
    bshd = layout == "bshd"
    dim = q.shape[3]
    batches, seq_len, heads = q.shape[:3] if bshd else (q.shape[0], q.shape[2], q.shape[1])
    kv_heads = k.shape[2] if bshd else k.shape[1]
    # A block must not run on into the next sequence: the rows are a dimension of their own.
    view = (batches, seq_len, -1) if bshd else (-1, seq_len, dim)
    o = torch.empty_like(q)
    kernel[(triton.cdiv(seq_len, BLOCK_M), heads, batches)](
        TensorDescriptor.from_tensor(q.view(view), [1, BLOCK_M, dim]),
        TensorDescriptor.from_tensor(k.view(view), [1, BLOCK_N, dim]),
        TensorDescriptor.from_tensor(v.view(view), [1, BLOCK_N, dim]),
        TensorDescriptor.from_tensor(o.view(view), [1, BLOCK_M, dim]),
        heads,
        seq_len,
        dim**-0.5 * LOG2E,
        GROUP=heads // kv_heads,
        BSHD=bshd,
        CAUSAL=is_causal,
        RAGGED=seq_len % BLOCK_N != 0,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        DIM=dim,
        **options,
    )
    return o


def attention_tma(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, layout: str, **config: int
) -> Tensor:
    return launch(attention_kernel, q, k, v, is_causal, layout, **config)


def attention_rotated(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool, layout: str, **config: int
) -> Tensor:
    return launch(rotated_kernel, q, k, v, is_causal, layout, **config)
