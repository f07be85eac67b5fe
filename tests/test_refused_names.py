"""Names of TileLang that are refused: importing them works, using them gives the reason."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.diagnostics_catalogue import CATALOGUE
from tile2triton.frontend.foreign_dtypes import NAMES
from tile2triton.frontend.refused_names import RefusedName
from tile2triton.ops import OPERATORS
from tile2triton.ops.refused import GROUPS, REFUSED


def test_no_name_is_refused_that_the_language_has():
    assert not REFUSED.keys() & OPERATORS.keys()
    assert all(isinstance(vars(T)[name], RefusedName) for name in REFUSED)
    assert len(T.__all__) == len(set(T.__all__))


def test_no_name_is_refused_twice():
    names = [name for _, group in GROUPS for name in group.split()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("refusal", [refusal for refusal, _ in GROUPS], ids=lambda one: one.code)
def test_every_reason_is_catalogued_and_says_what_to_write(refusal):
    assert refusal.code in CATALOGUE
    assert refusal.reason
    assert refusal.instead


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_name_can_be_imported_and_its_use_says_why(name):
    found = getattr(T, name)
    with pytest.raises(tile2triton.Error, match=REFUSED[name].code) as raised:
        found(1, 2)
    assert f"T.{name} " in str(raised.value)


def test_member_of_a_refused_name_is_refused_when_it_is_used():
    with pytest.raises(tile2triton.Error, match=r"T\.CallEffectKind\.Pure builds"):
        T.CallEffectKind.Pure()


def test_unknown_name_stays_unknown():
    with pytest.raises(AttributeError, match="T2T110"):
        T.shfl_synk  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_type_without_tiles_can_be_named_but_no_tensor_is_of_it(name):
    dtype = getattr(T, name)
    assert dtype == name
    assert dtype.bits == T.dtype(name).bits
    assert dtype.bytes * 8 >= dtype.bits
    with pytest.raises(tile2triton.Error, match="T2T605"):
        T.Tensor((4,), dtype)
    with pytest.raises(tile2triton.Error, match="T2T605"):
        dtype(1)


def test_vector_type_has_the_bits_of_all_its_lanes():
    assert T.float32x4.bits == 128
    assert T.float8_e4m3x2.bytes == 2
    assert T.int4.bits == 4
    assert T.float4_e2m1fnx2.bits == 8


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [("int4", "int8"), ("float16", "float16"), ("float8_e4m3", "float8_e4m3fn")],
)
def test_types_give_the_torch_type_that_stores_them(dtype, stored):
    assert T.dtype(dtype).as_torch() == getattr(torch, stored)


def test_type_that_torch_lacks_says_so():
    with pytest.raises(tile2triton.Error, match="T2T611"):
        T.float6_e2m3fn.as_torch()


def test_types_of_python_are_types_of_elements():
    assert (T.dtype(float), T.dtype(int), T.dtype(bool)) == ("float32", "int32", "bool")
    assert T.dtype(torch.bfloat16) == T.bfloat16
    assert T.float16 == torch.float16
    assert T.float16 != torch.float32
