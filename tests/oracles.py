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
