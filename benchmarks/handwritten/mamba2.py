"""Mamba-2's chunk scan and chunk state by hand, with TMA descriptors where they help."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2_E = tl.constexpr(1.4426950408889634)
SCANS = tuple(
    {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": warps, "num_stages": stages}
    for m, n, k, warps, stages in (
        (64, 64, 32, 4, 2),
        (64, 64, 64, 4, 2),
        (64, 64, 64, 4, 3),
        (128, 64, 32, 4, 2),
        (128, 64, 32, 4, 4),
        (128, 64, 64, 4, 2),
        (128, 64, 64, 8, 3),
        (256, 64, 32, 8, 3),
        (256, 64, 64, 8, 2),
    )
)
STATES = tuple(
    {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": warps, "num_stages": stages}
    for m, n, k, warps, stages in (
        (64, 128, 32, 4, 3),
        (64, 128, 64, 4, 2),
        (64, 128, 64, 4, 3),
        (64, 128, 64, 4, 4),
        (64, 128, 128, 4, 2),
        (64, 64, 64, 4, 3),
        (64, 128, 64, 8, 3),
    )
)


@triton.jit
def scan_kernel(
    cb_desc,
    x_desc,
    own_desc,
    c_desc,
    states_desc,
    y_desc,
    dt_ptr,
    sums_ptr,
    d_ptr,
    chunks,
    heads,
    per_group,
    CHUNK: tl.constexpr,
    DIM: tl.constexpr,
    STATE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    blocks_n: tl.constexpr = DIM // BLOCK_N
    m = tl.program_id(0) // blocks_n * BLOCK_M
    n = tl.program_id(0) % blocks_n * BLOCK_N
    batch = tl.program_id(1) // chunks
    chunk = tl.program_id(1) % chunks
    head = tl.program_id(2)
    group = head // per_group
    groups = heads // per_group
    per_head = ((batch * heads + head) * chunks + chunk) * CHUNK
    sums_ptr += per_head
    dt_ptr += per_head
    rows = m + tl.arange(0, BLOCK_M)
    sums_m = tl.load(sums_ptr + rows) * LOG2_E

    never = tl.program_id(0) // tl.num_programs(0) == 1
    c = c_desc.load([batch, chunk * CHUNK + m, group, 0]).reshape(BLOCK_M, STATE)
    states = states_desc.load([((batch * chunks + chunk) * heads + head) * DIM + n, 0])
    acc = tl.dot(c, states.T) * tl.exp2(sums_m)[:, None]
    cb_row = ((batch * chunks + chunk) * groups + group) * CHUNK + m
    for k in range(0, m + BLOCK_M, BLOCK_K):
        columns = k + tl.arange(0, BLOCK_K)
        cb = cb_desc.load([cb_row, k])
        x = x_desc.load([batch, chunk * CHUNK + k, head, n]).reshape(BLOCK_K, BLOCK_N)
        sums_k = tl.load(sums_ptr + columns) * LOG2_E
        dt = tl.load(dt_ptr + columns)
        weights = cb * (tl.exp2(sums_m[:, None] - sums_k[None, :]) * dt[None, :])
        weights = tl.where(rows[:, None] >= columns[None, :], weights, 0.0)
        acc = tl.dot(weights.to(x.dtype), x, acc)
        # Makes Triton wait before `weights` changes: triton-lang/triton#9433.
        if never:
            acc = tl.zeros_like(acc)
    token = chunk * CHUNK + m
    own = own_desc.load([batch, token, head, n]).reshape(BLOCK_M, BLOCK_N)
    acc += own * tl.load(d_ptr + head)
    y = acc.to(own.dtype).reshape(1, BLOCK_M, 1, BLOCK_N)
    y_desc.store([batch, token, head, n], y)


def chunk_scan(
    cb: Tensor,
    x: Tensor,
    dt: Tensor,
    sums: Tensor,
    c: Tensor,
    states: Tensor,
    d: Tensor,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    **options: int,
) -> Tensor:
    """Whole chunks only, of a multiple of the block sizes, as are `dim` and the state's size."""
    batch, chunks, groups, chunk = cb.shape[:4]
    heads, dim, state = x.shape[2], x.shape[3], c.shape[3]
    y = torch.empty_like(x)
    tokens = [1, BLOCK_M, 1, BLOCK_N]
    scan_kernel[(chunk // BLOCK_M * (dim // BLOCK_N), batch * chunks, heads)](
        TensorDescriptor.from_tensor(cb.view(-1, chunk), [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(x, [1, BLOCK_K, 1, BLOCK_N]),
        TensorDescriptor.from_tensor(x, tokens),
        TensorDescriptor.from_tensor(c, [1, BLOCK_M, 1, state]),
        TensorDescriptor.from_tensor(states.view(-1, state), [BLOCK_N, state]),
        TensorDescriptor.from_tensor(y, tokens),
        dt,
        sums,
        d,
        chunks,
        heads,
        heads // groups,
        CHUNK=chunk,
        DIM=dim,
        STATE=state,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        **options,
    )
    return y


@triton.jit
def state_kernel(
    b_desc,
    x_desc,
    states_desc,
    dt_ptr,
    sums_ptr,
    chunks,
    heads,
    per_group,
    CHUNK: tl.constexpr,
    DIM: tl.constexpr,
    STATE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    blocks_n: tl.constexpr = STATE // BLOCK_N
    m = tl.program_id(0) // blocks_n * BLOCK_M
    n = tl.program_id(0) % blocks_n * BLOCK_N
    batch = tl.program_id(1) // chunks
    chunk = tl.program_id(1) % chunks
    head = tl.program_id(2)
    per_head = ((batch * heads + head) * chunks + chunk) * CHUNK
    sums_ptr += per_head
    dt_ptr += per_head
    last = tl.load(sums_ptr + CHUNK - 1) * LOG2_E
    never = tl.program_id(0) // tl.num_programs(0) == 1
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, CHUNK, BLOCK_K):
        rows = k + tl.arange(0, BLOCK_K)
        x = x_desc.load([batch, chunk * CHUNK + k, head, m]).reshape(BLOCK_K, BLOCK_M)
        b = b_desc.load([batch, chunk * CHUNK + k, head // per_group, n]).reshape(BLOCK_K, BLOCK_N)
        sums = tl.load(sums_ptr + rows) * LOG2_E
        dt = tl.load(dt_ptr + rows)
        weights = tl.exp2(last - sums) * dt
        acc = tl.dot((x.T * weights[None, :]).to(x.dtype), b, acc)
        # Makes Triton wait before the first factor changes: triton-lang/triton#9433.
        if never:
            acc = tl.zeros_like(acc)
    row = ((batch * chunks + chunk) * heads + head) * DIM + m
    states_desc.store([row, n], acc.to(states_desc.dtype))


def chunk_state(
    b: Tensor,
    x: Tensor,
    dt: Tensor,
    sums: Tensor,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    **options: int,
) -> Tensor:
    """Whole chunks only, of a multiple of the block sizes, as are `dim` and the state's size."""
    batch, heads, chunks, chunk = dt.shape
    groups, state, dim = b.shape[2], b.shape[3], x.shape[3]
    states = x.new_empty(batch, chunks, heads, dim, state)
    state_kernel[(dim // BLOCK_M * (state // BLOCK_N), batch * chunks, heads)](
        TensorDescriptor.from_tensor(b, [1, BLOCK_K, 1, BLOCK_N]),
        TensorDescriptor.from_tensor(x, [1, BLOCK_K, 1, BLOCK_M]),
        TensorDescriptor.from_tensor(states.view(-1, state), [BLOCK_M, BLOCK_N]),
        dt,
        sums,
        chunks,
        heads,
        heads // groups,
        CHUNK=chunk,
        DIM=dim,
        STATE=state,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        **options,
    )
    return states
