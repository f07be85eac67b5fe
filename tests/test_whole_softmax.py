"""Softmax of whole operands under scales of any sign, and programs of many steps."""

import math

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import attended, attention, check, normal


@tile2triton.kernel
def masked(x, mask, scale):
    return T.softmax(x, scale=scale, mask=mask)


@pytest.mark.parametrize("scale", [0.5, 0.0, -0.5, torch.tensor(-2.0)], ids=str)
def test_what_a_mask_hides_stays_hidden_under_any_scale(scale, device, poisoned):
    x, mask = normal(5, 40, dtype=torch.float32), torch.rand(5, 40) < 0.6
    mask[:, 3] = True
    expected = (x.double() * scale).masked_fill(~mask, -math.inf).softmax(-1)
    check(masked, [x, mask, scale], expected, device)


@tile2triton.kernel
def repelled(Q, K, V):
    S = T.gemm(Q, K, transpose_B=True)
    return T.gemm(T.softmax(S, scale=-0.25, mask=T.causal), V)


def test_attention_under_a_negative_scale(device):
    q, k, v = (normal(2, 70, 16, seed=seed) for seed in range(3))
    visible = torch.ones(70, 70, dtype=torch.bool).tril()
    scores = (q.double() @ k.double().mT * -0.25).masked_fill(~visible, -math.inf)
    check(repelled, [q, k, v], scores.softmax(-1) @ v.double(), device)
    check(attention, [q, k, v, "causal"], attended(q, k, v, visible), device)


@tile2triton.kernel
def waves(x, steps):
    for _ in range(steps):
        x = x * T.exp(-x) + x
    return x


@tile2triton.kernel
def softmaxes(x, steps):
    for _ in range(steps):
        x = T.softmax(x) * 3
    return x


@tile2triton.kernel
def squares(x, steps):
    for _ in range(steps):
        x = x * x
    total = T.sum(x)
    for _ in range(steps):
        total = total * T.exp(-total) + total
    return T.sum(x, axis=-1) + total


@pytest.mark.parametrize(
    ("kernel", "named"),
    [(waves, "T.exp("), (softmaxes, "T.exp2("), (squares, "T.exp(")],
    ids=["waves", "softmaxes", "squares"],
)
def test_a_program_is_as_long_as_its_steps(kernel, named):
    """What is used twice is computed once, so that twenty steps are no million."""
    text = kernel.compile(T.Tensor((3, 40), "float32"), 20).after("tile_operands")
    assert text.count(named) == 20


def test_many_steps_are_computed_in_order(device):
    x = normal(3, 40, dtype=torch.float32)
    expected = x.double()
    for _ in range(6):
        expected = expected.softmax(-1) * 3
    check(softmaxes, [x, 6], expected, device)


@tile2triton.kernel
def top(x, k):
    return T.topk(x, k)


def test_many_of_the_greatest(device):
    x = normal(2, 40, dtype=torch.float32)
    values, indices = x.double().topk(12)
    check(top, [x, 12], (values, indices.int()), device)
