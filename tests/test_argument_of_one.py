"""Triton makes an integer argument that is 1 a Python number, whose `//` and `%` round down."""

import pytest
import torch

import tile2triton
import tile2triton.language as T


def quotients(dtype: str):
    @T.prim_func
    def quotients(Q: T.Tensor((4,), dtype), s: T.dtype(dtype)):
        with T.Kernel(1, threads=32):
            Q[0] = T.truncdiv(s, -5)
            Q[1] = T.truncmod(s, -5)
            Q[2] = s // -5
            Q[3] = s % -5

    return quotients


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("s", "wanted"), [(1, [0, 1, -1, -4]), (7, [-1, 2, -2, -3]), (-7, [1, -2, 1, -2])]
)
def test_quotients_of_an_argument_do_not_depend_on_its_being_one(device, dtype, s, wanted):
    kernel = tile2triton.compile(quotients(dtype))
    Q = torch.full((4,), -99, dtype=getattr(torch, dtype), device=device)
    kernel(Q, s)
    assert Q.tolist() == wanted


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_argument_that_is_divided_is_typed(dtype):
    text = tile2triton.compile(quotients(dtype)).triton_source
    assert f"s = tl.full((), s, tl.{dtype})" in text
