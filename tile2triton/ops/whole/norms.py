"""T.rms_norm and T.layer_norm of whole operands."""

from typing import Any

import numpy as np

from rewrites.operands.values import Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.ops.whole.reductions import (
    floats,
    make_mean,
    make_var,
    reference_mean,
    reference_var,
)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6, axis: Any = -1) -> Any:
    """x over the root of its mean square along the axes, times a weight."""


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: Any = -1
) -> Any:
    """x less its mean, over its deviation along the axes, times a weight, and a bias."""


def make_rms_norm(
    making: Making, x: Operand, weight: Any = None, eps: float = 1e-6, axis: Any = -1
) -> Whole:
    operand = floats(making, making.whole(x, "T.rms_norm"))
    square = making.pointwise("*", operand, operand)
    mean = making.hinted(make_mean(making, square, axis, True), "mean_square")
    scale = _inverse(making, mean, eps)
    return _weighted(making, making.pointwise("*", operand, scale), weight, None)


def make_layer_norm(
    making: Making,
    x: Operand,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    axis: Any = -1,
) -> Whole:
    operand = floats(making, making.whole(x, "T.layer_norm"))
    distance = making.pointwise("-", operand, make_mean(making, operand, axis, True))
    distance = making.hinted(distance, "centered")
    scale = _inverse(making, make_var(making, operand, axis, True), eps)
    return _weighted(making, making.pointwise("*", distance, scale), weight, bias)


def _inverse(making: Making, variance: Whole, eps: float) -> Whole:
    """1 over the root of a mean square, which `eps` keeps from 0."""
    root = making.pointwise("T.rsqrt", making.pointwise("+", variance, eps))
    return making.hinted(root, "inverse_deviation")


def _weighted(making: Making, normed: Whole, weight: Any, bias: Any) -> Whole:
    if weight is not None:
        normed = making.pointwise("*", normed, weight)
    return normed if bias is None else making.pointwise("+", normed, bias)


def reference_rms_norm(x: Any, weight: Any = None, eps: float = 1e-6, axis: Any = -1) -> Any:
    x = np.asarray(x, np.float64)
    normed = x / np.sqrt(reference_mean(x * x, axis, keepdims=True) + eps)
    return normed if weight is None else normed * weight


def reference_layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: Any = -1
) -> Any:
    x = np.asarray(x, np.float64)
    centered = x - reference_mean(x, axis, keepdims=True)
    normed = centered / np.sqrt(reference_var(x, axis, keepdims=True) + eps)
    normed = normed if weight is None else normed * weight
    return normed if bias is None else normed + bias


OPERATORS = (
    Operator(rms_norm, "whole", whole=WholeForm(rms_norm, make_rms_norm, reference_rms_norm)),
    Operator(
        layer_norm, "whole", whole=WholeForm(layer_norm, make_layer_norm, reference_layer_norm)
    ),
)
