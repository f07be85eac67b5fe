"""Short programs that people meet in models: each is one kernel, and what torch computes."""

import math

import pytest
import torch
from torch.nn import functional

import tile2triton
import tile2triton.language as T
from tests.kernels import attention_programs, gemm_programs, row_programs, token_programs
from tests.test_whole_operands import check, normal
from tile2triton.diagnostics import TileError

# What programs mean is not for Triton's version to say.
pytestmark = pytest.mark.slow

# float16 goes the ways of bfloat16, and is in `test_whole_operands`.
DTYPES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)


def queries(dtype, m=150, n=150, heads=2):
    return [normal(2, heads, size, 32, dtype=dtype, seed=at) for at, size in enumerate((m, n, n))]


def attended(q, k, v, change=lambda s: s):
    scores = change(q.double() @ k.double().mT * q.shape[-1] ** -0.5)
    return scores.softmax(-1) @ v.double()


@DTYPES
def test_attention_with_a_bias(dtype, device):
    q, k, v = queries(dtype)
    bias = normal(2, 150, 150, dtype=dtype)
    expected = attended(q, k, v, lambda s: s + bias.double())
    check(attention_programs.biased_attention, [q, k, v, bias], expected, device)


@DTYPES
def test_alibi(dtype, device):
    q, k, v = queries(dtype)
    slopes = torch.tensor([0.25, 0.0625])
    i, j = torch.arange(150)[:, None], torch.arange(150)
    bias = (slopes[:, None, None] * (j - i)).masked_fill(j > i, -math.inf)
    expected = attended(q, k, v, lambda s: s + bias)
    check(attention_programs.alibi_attention, [q, k, v, slopes], expected, device)


@DTYPES
def test_sliding_window(dtype, device):
    q, k, v = queries(dtype)
    i, j = torch.arange(150)[:, None], torch.arange(150)
    hidden = (j > i) | (j <= i - 40)
    expected = attended(q, k, v, lambda s: s.masked_fill(hidden, -math.inf))
    check(attention_programs.sliding_window_attention, [q, k, v, 40], expected, device)


@DTYPES
def test_capped_scores(dtype, device):
    q, k, v = queries(dtype, 50, 128)
    expected = attended(q, k, v, lambda s: torch.tanh(s / 2.0) * 2.0)
    check(attention_programs.capped_attention, [q, k, v, 2.0], expected, device)


@DTYPES
def test_sinks(dtype, device):
    q, k, v = queries(dtype)
    sinks = normal(2, dtype=dtype) * 3
    scores = q.double() @ k.double().mT * 32**-0.5
    more = torch.cat([scores, sinks.double()[:, None, None].expand(2, 2, 150, 1)], -1)
    expected = more.softmax(-1)[..., :-1] @ v.double()
    check(attention_programs.attention_with_sinks, [q, k, v, sinks], expected, device)


@DTYPES
def test_prefix(dtype, device):
    q, k, v = queries(dtype)
    prefix = torch.tensor([10, 100])
    i, j = torch.arange(150)[:, None], torch.arange(150)
    hidden = (j > i) & (j >= prefix[:, None, None, None])
    expected = attended(q, k, v, lambda s: s.masked_fill(hidden, -math.inf))
    check(attention_programs.prefix_attention, [q, k, v, prefix], expected, device)


@DTYPES
def test_attention_and_its_logarithms(dtype, device):
    q, k, v = queries(dtype, 70, 100)
    lse = (q.double() @ k.double().mT * 32**-0.5).logsumexp(-1)
    expected = (attended(q, k, v), lse)
    check(attention_programs.attention_with_lse, [q, k, v], expected, device)


@DTYPES
def test_cross_attention(dtype, device):
    q, k, v = queries(dtype, 40, 150)
    mask = normal(2, 150) > 0
    hidden = ~mask[:, None, None]
    expected = attended(q, k, v, lambda s: s.masked_fill(hidden, -math.inf))
    check(attention_programs.cross_attention, [q, k, v, mask], expected, device)


@DTYPES
def test_gated_units(dtype, device):
    x, w, v, b, c = (
        normal(70, 96, dtype=dtype),
        normal(96, 50, dtype=dtype),
        normal(96, 50, dtype=dtype, seed=1),
        normal(50, dtype=dtype),
        normal(50, dtype=dtype, seed=1),
    )
    left, right = x.double() @ w.double(), x.double() @ v.double()
    check(gemm_programs.swiglu, [x, w, v], functional.silu(left) * right, device)
    gate = functional.gelu(left + b.double(), approximate="tanh")
    check(gemm_programs.geglu, [x, w, v, b, c], gate * (right + c.double()), device)


@DTYPES
@pytest.mark.parametrize(("m", "k", "n"), [(64, 64, 128), (70, 50, 33)])
def test_products_with_epilogues(m, k, n, dtype, device):
    x, w, b = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype), normal(n, dtype=dtype)
    y, g = normal(n, k, dtype=dtype, seed=1), normal(k, dtype=dtype)
    product = x.double() @ w.double().mT
    check(gemm_programs.linear_gelu, [x, w, b], functional.gelu(product + b.double()), device)
    normed = functional.rms_norm(x.double(), (k,), g.double(), 1e-6)
    check(gemm_programs.norm_linear, [x, g, w], normed @ w.double().mT, device)
    pairs = functional.cosine_similarity(x.double()[:, None], y.double(), dim=-1)
    check(gemm_programs.cosine_pairs, [x, y], pairs, device)
    distances = torch.cdist(x.double(), y.double()) ** 2
    check(gemm_programs.squared_distances, [x, y], distances, device)


def test_two_accumulators_share_the_registers():
    wide = T.Tensor((1024, 4096), "float16")
    kernel = gemm_programs.swiglu.compile(T.Tensor((4096, 1024), "float16"), wide, wide)
    assert "block_M = 128\nblock_N = 128\n" in kernel.triton_source


@DTYPES
def test_batches_and_residuals(dtype, device):
    a, b = normal(3, 40, 50, dtype=dtype), normal(3, 50, 33, dtype=dtype)
    alpha, residual = normal(3, dtype=dtype), normal(3, 40, 33, dtype=dtype)
    expected = alpha.double()[:, None, None] * (a.double() @ b.double()) + residual.double()
    check(gemm_programs.scaled_batches, [a, b, alpha, residual], expected, device)
    x, w, c = normal(40, 64, dtype=dtype), normal(64, 64, dtype=dtype), normal(64, dtype=dtype)
    expected = x.double() + (x.double() @ w.double() + c.double()).relu()
    check(gemm_programs.residual_block, [x, w, c], expected, device)


# Rows that a tile holds, ragged, and rows that a loop runs over; the long ones in one type.
ROWS = pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((5, 256), torch.bfloat16),
        ((3, 300), torch.float32),
        ((2, 20000), torch.float16),
    ],
    ids=str,
)


@ROWS
def test_norms(shape, dtype, device):
    x, r = (normal(*shape, dtype=dtype, seed=seed) + 3 for seed in range(2))
    w, b = normal(shape[-1], dtype=dtype), normal(shape[-1], dtype=dtype, seed=1)
    size = (shape[-1],)
    normed = functional.layer_norm(x.double(), size, w.double(), b.double())
    check(row_programs.layer_norm, [x, w, b], normed, device)
    summed = x.double() + r.double()
    normed = functional.rms_norm(summed, size, w.double(), 1e-6)
    check(row_programs.rms_norm_residual, [x, r, w], (normed, summed), device)
    normed = functional.rms_norm(x.double(), (x.shape[-1],), w.double(), 1e-6)
    check(row_programs.rms_norm, [x, w], normed, device)
    check(row_programs.bias_gelu, [x, w], functional.gelu(x.double() + w.double()), device)
    check(row_programs.row_sum, [x], x.double().sum(-1), device)
    check(row_programs.full_sum, [x.reshape(-1)], x.double().sum(), device)
    check(row_programs.l2_normalize, [x], functional.normalize(x.double(), dim=-1), device)
    expected = x.double().mean(-1), x.double().var(-1, correction=0)
    check(row_programs.moments, [x], expected, device)


@ROWS
def test_losses(shape, dtype, device):
    x, y = (normal(*shape, dtype=dtype, seed=seed) for seed in range(2))
    target = torch.arange(shape[0]) * 37 % shape[1]
    expected = functional.cross_entropy(x.double(), target, reduction="none")
    check(row_programs.cross_entropy, [x, target], expected, device)
    check(row_programs.log_softmax, [x], x.double().log_softmax(-1), device)
    p, q = x.double().log_softmax(-1), y.double().log_softmax(-1)
    check(row_programs.kl_divergence, [x, y], (p.exp() * (p - q)).sum(-1), device)
    expected = functional.cosine_similarity(x.double(), y.double(), dim=-1)
    check(row_programs.cosine_rows, [x, y], expected, device)


@DTYPES
def test_groups_columns_and_middles(dtype, device):
    x = normal(2, 12, 50, dtype=dtype)
    w, b = normal(12, dtype=dtype), normal(12, dtype=dtype, seed=1)
    expected = functional.group_norm(x.double(), 3, w.double(), b.double())
    check(row_programs.group_norm, [x, w, b, 3], expected, device)
    # As many groups as there are channels in each.
    x, w, b = x[:, :9].contiguous(), w[:9], b[:9]
    expected = functional.group_norm(x.double(), 3, w.double(), b.double())
    check(row_programs.group_norm, [x, w, b, 3], expected, device)
    x = normal(2, 12, 50, dtype=dtype)
    check(row_programs.softmax_over_heads, [x], x.double().softmax(1), device)
    long = normal(3000, 70, dtype=dtype)
    check(row_programs.column_sums, [long], long.double().sum(0), device)


@DTYPES
def test_quantized_rows(dtype, device):
    x = normal(5, 300, dtype=dtype)
    scale = x.double().abs().amax(-1, keepdim=True) / 127
    made, scales = row_programs.quantize_rows(x.to(device))
    assert made.dtype == torch.int8
    error = made.cpu().double() * scale - x.double()
    assert (error.abs() <= scale * 0.51).all()
    assert torch.allclose(scales.cpu().double(), scale[:, 0], rtol=4e-3)
    meant, _ = row_programs.quantize_rows.reference(x)
    assert (made.cpu().int() - torch.tensor(meant).int()).abs().max() <= 1


@DTYPES
def test_tokens(dtype, device):
    table = normal(50, 40, dtype=dtype)
    tokens = torch.arange(21).reshape(3, 7) * 31 % 50
    expected = table.double()[tokens] * 8.0
    check(token_programs.embedding, [table, tokens, 8.0], expected, device)
    x, mask = normal(3, 50, 40, dtype=dtype), normal(3, 50) > 0.5
    count = mask.sum(1, keepdim=True).clamp(min=1)
    expected = (x.double() * mask[..., None]).sum(1) / count
    check(token_programs.mean_pool, [x, mask], expected, device)
    angles = torch.arange(50)[:, None] * 100 ** -(torch.arange(20) / 20)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    a, b = x.double().chunk(2, -1)
    c, s = cos.double(), sin.double()
    expected = torch.cat([a * c - b * s, b * c + a * s], -1)
    check(token_programs.rotary, [x, cos, sin], expected, device)
    images = normal(2, 3, 8, 12, dtype=dtype)
    check(token_programs.max_pool, [images], functional.max_pool2d(images.double(), 2), device)


@tile2triton.kernel
def norm_of_images(X):
    return T.layer_norm(X, axis=(-2, -1)), T.mean(X, axis=(-2, -1))


@pytest.mark.parametrize("shape", [(2, 40, 70), (2, 100, 1000)], ids=str)
def test_sums_over_several_axes(shape, device, poisoned):
    x = normal(*shape)
    wide = x.double()
    normed = functional.layer_norm(wide, shape[1:])
    check(norm_of_images, [x], (normed, wide.mean((1, 2))), device)


def test_sums_over_long_axes_of_what_is_stored_say_that_two_kernels_do_it():
    @tile2triton.kernel
    def shares(X):
        return X / T.sum(X)

    with pytest.raises(TileError) as caught:
        shares.compile(T.Tensor((20000, 20000), "float16"))
    assert caught.value.diagnostics[0].code == "T2T838"


@ROWS
def test_choices(shape, dtype, device):
    x = normal(*shape, dtype=dtype)
    # Equal elements: the first counts.
    x[0, 7] = x[0, 3] = 100
    check(token_programs.greedy, [x], x.double().argmax(-1), device)
    expected = x.double().sort(dim=-1, descending=True, stable=True)
    check(token_programs.top_k, [x, 3], tuple(one[:, :3] for one in expected), device)


@tile2triton.kernel
def two_bases(X):
    """Both sums are rescaled when the one maximum grows."""
    return T.log_sum_exp(X), T.log_sum_exp(X * 2)


@tile2triton.kernel
def part_sums(X, n):
    return T.sum(X[:, :n], axis=-1), T.sum(T.exp((X[:, n:] - 1) * 0.5), axis=-1)


@tile2triton.kernel
def joined(X, Y):
    both = T.concat((X, Y * 2)) + 1
    return both, T.sum(both, axis=-1), T.reshape(X, (-1,)), X.T


def test_rules_for_loops_hold_where_they_meet(device, poisoned):
    x = normal(3, 20000, dtype=torch.float32) * 3
    x[0, -1] = 50
    wide = x.double()
    check(two_bases, [x], (wide.logsumexp(-1), (wide * 2).logsumexp(-1)), device)
    assert two_bases.compile(x).after("tile_operands").count("T.Pipelined") == 2
    # The mean is large beside the deviation.
    far = x * 0.01 + 1000
    expected = far.double().mean(-1), far.double().var(-1, correction=0)
    made = row_programs.moments(far.to(device))
    for one, wanted in zip(made, expected, strict=True):
        assert torch.allclose(one.cpu().double(), wanted, rtol=1e-4)


def test_parts_of_rows_end_where_they_are_said_to(device, poisoned):
    x = normal(2, 40000, dtype=torch.float32)
    n = 19000
    expected = x[:, :n].double().sum(-1), ((x[:, n:].double() - 1) * 0.5).exp().sum(-1)
    check(part_sums, [x, n], expected, device)
    for size in (10, 32):
        a, b = normal(5, size), normal(5, size, seed=1)
        both = torch.cat([a.double(), b.double() * 2], -1) + 1
        check(joined, [a, b], (both, both.sum(-1), a.double().reshape(-1), a.double().T), device)


@DTYPES
def test_routing(dtype, device):
    x = normal(20, 12, dtype=dtype)
    weights, experts = x.double().softmax(-1).topk(2)
    expected = weights / weights.sum(-1, keepdim=True), experts
    check(token_programs.moe_gate, [x, 2], expected, device)
