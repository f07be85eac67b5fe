"""Names that may be written and change nothing, and names that are other names' doubles."""

import re
from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T

HINTS = {
    "annotate_compile_flags": lambda tile: T.annotate_compile_flags(["-O3"]),
    "annotate_pass_configs": lambda tile: T.annotate_pass_configs({"tl.disable_tma_lower": True}),
    "annotate_l2_hit_ratio": lambda tile: T.annotate_l2_hit_ratio({tile: 0.5}),
    "annotate_restrict_buffers": lambda tile: T.annotate_restrict_buffers(tile),
    "annotate_min_blocks_per_sm": lambda tile: T.annotate_min_blocks_per_sm(2),
    "annotate_producer_reg_dealloc": lambda tile: T.annotate_producer_reg_dealloc(24),
    "annotate_consumer_reg_alloc": lambda tile: T.annotate_consumer_reg_alloc(240),
    "disable_warp_group_reg_alloc": lambda tile: T.disable_warp_group_reg_alloc(),
    "no_set_max_nreg": lambda tile: T.no_set_max_nreg(),
    "set_max_nreg": lambda tile: T.set_max_nreg(128, 0),
    "inc_max_nreg": lambda tile: T.inc_max_nreg(232),
    "dec_max_nreg": lambda tile: T.dec_max_nreg(24),
    "annotate_layout": lambda tile: T.annotate_layout({tile: T.Fragment(tile.shape, lambda i: i)}),
}


def doubled(hint: Any) -> Any:
    @T.prim_func
    def doubled(A: T.Tensor((40,), "float32"), B: T.Tensor((40,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((40,), "float32")
            hint(tile)
            T.copy(A, tile)
            for i in T.Parallel(40):
                B[i] = tile[i] * 2.0

    return tile2triton.compile(doubled)


@pytest.mark.parametrize("name", HINTS)
def test_hint_changes_the_launch_at_most(name: str) -> None:
    without = re.sub(r"\bmaxnreg=\d+", "", doubled(HINTS[name]).triton_source)
    plain = doubled(lambda tile: None).triton_source
    # One more argument may take the call to several lines.
    assert re.sub(r"[\s,]", "", without) == re.sub(r"[\s,]", "", plain)


ALIASES = {
    "Serial": "serial",
    "Unroll": "unroll",
    "cdiv": "ceildiv",
    "inline": "macro",
    "symbolic": "dynamic",
    "fabs": "abs",
    "Var": "Ref",
    "Cast": "cast",
    "double": "float64",
    "long": "int64",
    "short": "int16",
    "float8_e4m3": "float8_e4m3fn",
}


@pytest.mark.parametrize("name", ["Serial", "Unroll"])
def test_loop_with_a_capital_is_the_same_loop(name: str) -> None:
    def source(loop: Any) -> str:
        @T.prim_func
        def total(A: T.Tensor((40,), "float32"), B: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=128):
                x = T.alloc_var("float32")
                for i in loop(40):
                    x += A[i]
                B[0] = x

        return tile2triton.compile(total).triton_source

    assert source(getattr(T, name)) == source(getattr(T, ALIASES[name]))


@pytest.mark.parametrize("name", ["cdiv", "inline", "symbolic", "Var"])
def test_alias_is_its_other_name(name: str) -> None:
    ours, other = getattr(T, name), getattr(T, ALIASES[name])
    assert ours is other or getattr(ours, "__wrapped__", ours) is other.__wrapped__


@pytest.mark.parametrize("name", ["double", "long", "short", "float8_e4m3", "float8_e5m2fnuz"])
def test_type_by_another_name(name: str) -> None:
    assert getattr(T, name) == ALIASES.get(name, name)


@pytest.mark.parametrize(
    "annotation", [T.Buffer, T.SharedBuffer, T.FragmentBuffer, T.LocalBuffer, T.PrimExpr, T.Any]
)
def test_annotation_of_a_macro_decides_nothing(annotation: Any) -> None:
    @T.macro
    def scale(tile: annotation, factor: T.PrimExpr):
        for i in T.Parallel(40):
            tile[i] = tile[i] * factor

    @T.prim_func
    def scaled(A: T.Tensor((40,), "float32"), B: T.Tensor((40,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((40,), "float32")
            T.copy(A, tile)
            scale(tile, 3.0)
            T.copy(tile, B)

    a, b = torch.arange(40.0), torch.zeros(40)
    tile2triton.compile(scaled)(a, b)
    torch.testing.assert_close(b, a * 3)


def test_prim_func_is_of_its_type() -> None:
    @T.prim_func
    def empty(A: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            A[0] = T.max_value("int32")

    assert isinstance(empty, T.PrimFunc)


@pytest.mark.parametrize("value", [1.0, float("inf"), float("nan")])
def test_isfinite(value: float) -> None:
    @T.prim_func
    def finite(A: T.Tensor((3,), "float32"), B: T.Tensor((3,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(3):
                B[i] = T.if_then_else(T.isfinite(A[i]), 1, 0)

    b = torch.zeros(3, dtype=torch.int32)
    tile2triton.compile(finite)(torch.full((3,), value), b)
    assert b.tolist() == [int(torch.tensor(value).isfinite())] * 3
