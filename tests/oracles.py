"""What each kernel in `tests/kernels` should give: plain torch, in fp64 on the CPU."""

import math

import torch
from torch import Tensor


def exact(x: Tensor) -> Tensor:
    """The values of `x`, without rounding, where torch can compute with them."""
    return x.cpu().double()


def gemm(a: Tensor, b: Tensor, transpose_b: bool = False) -> Tensor:
    right = exact(b)
    return exact(a) @ (right.T if transpose_b else right)


def gemm_relu(a: Tensor, b: Tensor) -> Tensor:
    return gemm(a, b).clamp(min=0)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(exact(x), dim=-1)


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    rows = exact(x)
    return rows * (rows.square().mean(dim=-1, keepdim=True) + eps).rsqrt() * exact(weight)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    shape = (x.shape[-1],)
    return torch.nn.functional.layer_norm(exact(x), shape, exact(weight), exact(bias), eps)


def add(a: Tensor, b: Tensor) -> Tensor:
    return exact(a) + exact(b)


def add_broadcast(a: Tensor, row: Tensor, column: Tensor) -> Tensor:
    return exact(a) + exact(row)[None, :] + exact(column)[:, None]


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    y = exact(x) + exact(bias)
    return 0.5 * y * (1 + torch.erf(y / math.sqrt(2)))


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False, layout: str = "bshd"
) -> Tensor:
    """One head at a time would do as well; sizes in tests are small."""
    heads_first = [exact(x).transpose(1, 2) if layout == "bshd" else exact(x) for x in (q, k, v)]
    queries, keys, values = heads_first
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    output = torch.softmax(scores, dim=-1) @ values
    return output.transpose(1, 2) if layout == "bshd" else output


def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(batch, seq_len, heads, dim) each; the full matrix of scores, cut off above its diagonal."""
    queries, keys, values = (exact(x).transpose(1, 2) for x in (q, k, v))
    scores = (queries @ keys.transpose(-1, -2)).tril()
    return (scores @ values).transpose(1, 2)


def selective_scan(x: Tensor, delta: Tensor, rates: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """h_t = exp(delta_t rates) h_{t-1} + delta_t x_t b_t, y_t = c_t h_t, step by step."""
    x, delta, rates, b, c = (one.double() for one in (x, delta, rates, b, c))
    state = torch.zeros(x.shape[0], *rates.shape, dtype=torch.float64)
    rows = []
    for t in range(x.shape[1]):
        added = (delta[:, t] * x[:, t])[..., None] * b[:, t, None, :]
        state = torch.exp(delta[:, t, :, None] * rates) * state + added
        rows.append((state * c[:, t, None, :]).sum(-1))
    return torch.stack(rows, 1)


def chunk_scan(
    cb: Tensor, x: Tensor, dt: Tensor, sums: Tensor, c: Tensor, states: Tensor, d: Tensor
) -> Tensor:
    """Mamba-2: the state before each chunk decayed to its tokens, and the tokens among themselves.

    Shapes as in tests/kernels/chunk_scan.py; a last chunk may be cut off.
    """
    chunk, heads, seq_len = cb.shape[-1], x.shape[2], x.shape[1]
    x, c, states, cb = (exact(one) for one in (x, c, states, cb))
    per_group = heads // c.shape[2]
    output = torch.zeros_like(x)
    for t in range(seq_len):
        index, row = divmod(t, chunk)
        now = exact(sums)[:, :, index, row]
        read = c[:, t].repeat_interleave(per_group, 1)
        output[:, t] = exact(d)[:, None] * x[:, t]
        output[:, t] += now.exp()[..., None] * torch.einsum("bhn,bhpn->bhp", read, states[:, index])
        seen = slice(index * chunk, t + 1)
        decay = (now[..., None] - exact(sums)[:, :, index, : row + 1]).exp()
        weights = cb[:, index, :, row, : row + 1].repeat_interleave(per_group, 1) * decay
        weights = weights * exact(dt)[:, :, index, : row + 1]
        output[:, t] += torch.einsum("bhk,bkhp->bhp", weights, x[:, seen])
    return output


def chunk_state(b: Tensor, x: Tensor, dt: Tensor, sums: Tensor) -> Tensor:
    """Mamba-2: what each chunk adds to the state. Tokens past the end of the sequence are zero."""
    chunks, chunk = dt.shape[2:]
    missing = (0, 0, 0, 0, 0, chunks * chunk - x.shape[1])
    x, b = (torch.nn.functional.pad(exact(one), missing) for one in (x, b))
    x, b = (one.unflatten(1, (chunks, chunk)) for one in (x, b))
    b = b.repeat_interleave(x.shape[3] // b.shape[3], 3)
    weights = (exact(sums)[..., -1:] - exact(sums)).exp() * exact(dt)
    return torch.einsum("bhck,bckhp,bckhn->bchpn", weights, x, b)


def dequantized(w: Tensor, scales: Tensor) -> Tensor:
    """(N, K / 2) bytes of two numbers each, 8 for zero and the lower four bits first, to (N, K)."""
    numbers = torch.stack((w.cpu() & 15, w.cpu() >> 4), -1).flatten(1).double() - 8
    return numbers * exact(scales).repeat_interleave(numbers.shape[1] // scales.shape[1], 1)


def dequantized_gemm(a: Tensor, w: Tensor, scales: Tensor) -> Tensor:
    return exact(a) @ dequantized(w, scales).T


def block_scaled_gemm(a: Tensor, b: Tensor, a_scales: Tensor, b_scales: Tensor) -> Tensor:
    """A scale for each 128 elements of A's rows, (K / 128, M), and for each 128 x 128 of B's."""
    left = a.cpu().double() * exact(a_scales).T.repeat_interleave(128, 1)
    right = b.cpu().double() * exact(b_scales).repeat_interleave(128, 0)[
        : b.shape[0]
    ].repeat_interleave(128, 1)
    return left @ right.T


def gqa_decode(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One token's queries (batch, heads, dim), keys and values (batch, kv_len, kv_heads, dim)."""
    group = q.shape[1] // k.shape[2]
    keys, values = (exact(x).repeat_interleave(group, 2) for x in (k, v))
    scores = torch.einsum("bhd,bnhd->bhn", exact(q), keys) / math.sqrt(q.shape[-1])
    return torch.einsum("bhn,bnhd->bhd", scores.softmax(-1), values)


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, is_causal: bool
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """O, the log-sum-exp of the rows' scores, and dQ, dK and dV; (batch, heads, seq_len, dim)."""
    queries, keys, values = (exact(one).requires_grad_() for one in (q, k, v))
    scores = queries @ keys.mT / math.sqrt(q.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    output = torch.softmax(scores, dim=-1) @ values
    found = torch.autograd.grad(output, (queries, keys, values), exact(do))
    return output.detach(), scores.logsumexp(-1).detach(), found


def retention(q: Tensor, k: Tensor, v: Tensor, log2_decay: Tensor) -> Tensor:
    """(batch, seq_len, heads, dim) each, and the logarithm of each head's decay."""
    queries, keys, values = (exact(x).transpose(1, 2) for x in (q, k, v))
    steps = torch.arange(q.shape[1], dtype=torch.float64)
    decay = torch.exp2(exact(log2_decay)[:, None, None] * (steps[:, None] - steps)).tril()
    return (queries @ keys.mT * decay @ values).transpose(1, 2)


def gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, log2_decay: Tensor, beta: Tensor) -> Tensor:
    """(batch, seq_len, heads, dim) each, and numbers of tokens and heads; step by step."""
    q, k, v, rates, beta = (exact(one) for one in (q, k, v, log2_decay, beta))
    output = torch.zeros_like(v)
    state = torch.zeros(*q[:, 0].shape, v.shape[-1], dtype=torch.float64)
    for t in range(q.shape[1]):
        state = state * torch.exp2(rates[:, t, :, None, None])
        known = torch.einsum("bhk,bhkv->bhv", k[:, t], state)
        added = beta[:, t, :, None] * (v[:, t] - known)
        state = state + k[:, t, :, :, None] * added[:, :, None, :]
        output[:, t] = torch.einsum("bhk,bhkv->bhv", q[:, t], state)
    return output


def mla_decode(q: Tensor, q_rope: Tensor, kv: Tensor, k_rope: Tensor) -> Tensor:
    """One token's queries of many heads, (batch, heads, dim), for keys of one head."""
    query = torch.cat((exact(q), exact(q_rope)), -1)
    key = torch.cat((exact(kv), exact(k_rope)), -1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ exact(kv)


def row_sum(x: Tensor) -> Tensor:
    return exact(x).sum(-1)


def full_sum(x: Tensor) -> Tensor:
    return exact(x).sum().reshape(1)


def copy(x: Tensor) -> Tensor:
    return exact(x)


def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The first of equal numbers comes first."""
    order = torch.sort(exact(x), dim=-1, descending=True, stable=True)
    return order.values[:, :k], order.indices[:, :k]
