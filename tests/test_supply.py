"""Inputs that are made up for a kernel: shapes, types, and what they hold."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from rewrites.dtypes import BY_NAME
from tile2triton.frontend.dtypes import DType
from tile2triton.supply import (
    Parameter,
    SupplyError,
    TensorSupplyType,
    filled,
    parameters,
    supply,
)


@tile2triton.kernel(out_idx=[-1])
def add(n, block):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(
        A: T.Tensor((m, n), "float16"),
        S: T.Tensor((T.ceildiv(n, block),), "int32"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block), m, threads=128) as (bx, row):
            for j in T.Parallel(block):
                C[row, bx * block + j] = A[row, bx * block + j] + S[bx]

    return kernel


@tile2triton.kernel
def scale(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), factor: T.float32):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                A[i] = A[i] * factor

    return kernel


def test_parameters_are_what_a_call_takes():
    a, s = parameters(add(100, 32).program.facts)
    assert (a.name, a.shape, a.dtype) == ("A", ("m", 100), "float16")
    assert (s.name, s.shape, s.dtype) == ("S", (4,), "int32")
    assert a.torch_dtype() == torch.float16


def test_sizes_of_the_launch_are_given_by_name():
    a, s = supply(parameters(add(100, 32).program.facts), device="cpu", sizes={"m": 3})
    assert (a.shape, a.dtype) == ((3, 100), torch.float16)
    assert (s.shape, s.dtype) == ((4,), torch.int32)
    with pytest.raises(SupplyError, match=r"T2T541.*`m` of `A`"):
        supply(parameters(add(100, 32).program.facts), device="cpu")


def test_numbers_are_not_made_up():
    with pytest.raises(ValueError, match=r"T2T540.*`factor`[\s\S]*set_autotune_inputs"):
        supply(parameters(scale(64).program.facts), device="cpu")


@pytest.mark.parametrize("kind", TensorSupplyType)
@pytest.mark.parametrize("dtype", BY_NAME)
def test_every_kind_fills_every_type(kind, dtype):
    found = filled((16, 17), dtype, kind, "cpu")
    assert (found.shape, found.dtype) == ((16, 17), DType(dtype).as_torch())
    values = found.to(torch.float64)
    assert bool(torch.isfinite(values).all())
    if kind is TensorSupplyType.Zero:
        assert bool((values == 0).all())
    if kind is TensorSupplyType.One:
        assert bool((values == 1).all())
    if kind is TensorSupplyType.Integer:
        assert bool((values == values.round()).all())
        assert len(values.unique()) > 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_are_uniform_unless_told_otherwise(dtype):
    found = filled((1000,), dtype, TensorSupplyType.Auto, "cpu").to(torch.float64)
    assert found.min() < -0.9
    assert found.max() > 0.9
    assert found.abs().max() <= 1.0
    assert len(found.unique()) > 50


@pytest.mark.parametrize("shape", [(1,), (0,), (2, 3, 4)])
def test_shapes_of_any_rank_are_filled(shape):
    one = Parameter("A", shape, DType("float32"))
    assert supply([one], TensorSupplyType.Randn, "cpu")[0].shape == shape
