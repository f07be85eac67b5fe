"""fp8 numbers that the compiler proves equal to their neighbours: ptxas packs their pairs wrong."""

import re
from dataclasses import asdict
from typing import Any

import pytest
import torch

from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import compile_worker, pipeline
from tile2triton.compile_job import jobs
from tile2triton.emit import emit
from tile2triton.module_cache import write_module
from tile2triton.targets import target

DTYPES = {"float8_e4m3fn": "tl.float8e4nv", "float8_e5m2": "tl.float8e5"}

VALUES = {
    "of an index": "T.min(j, 4)",
    "of an index and a row": "a[i] * (j // 4)",
    "of a known condition": "T.if_then_else(i // 8 == j // 8, x[i, j], 0.0)",
    "of a row": "a[i]",
    "of a tile": "x[i, j] * a[i]",
    "of a condition that is not known": "T.if_then_else(x[i, j] > a[i], 2.0, 1.0)",
    "of a tile under a mask": "T.if_then_else(j < n, x[i, j], 0.0)",
}
GUARDED = ("of an index", "of an index and a row", "of a known condition", "of a row")


def program(value: str, dtype: str) -> str:
    return f"""
    def k(X: T.Tensor((33, 40), "float32"), n: T.int32, C: T.Tensor((33, 40), "{dtype}")):
        with T.Kernel(1, threads=128) as bx:
            x = T.alloc_fragment((33, 40), "float32")
            a = T.alloc_fragment((33,), "float32")
            y = T.alloc_fragment((33, 40), "{dtype}")
            T.copy(X, x)
            T.copy(X[0, 0], a)
            for i, j in T.Parallel(33, 40):
                y[i, j] = {value}
            T.copy(y, C)
    """


REPEATED = """
    def k(X: T.Tensor((33,), "float32"), C: T.Tensor((33, 40), "float8_e5m2")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((33,), "float32")
            y = T.alloc_fragment((33, 40), "float32")
            T.copy(X, a)
            T.fill(y, 1)
            for k in T.serial(20):
                for i, j in T.Parallel(33, 40):
                    y[i, j] += a[i]
            T.copy(y, C)
"""

PRODUCT = """
    def k(
        A: T.Tensor((64, 64), "float8_e5m2"),
        B: T.Tensor((64, 64), "float8_e5m2"),
        C: T.Tensor((64, 64), "float8_e5m2"),
    ):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float8_e5m2")
            b = T.alloc_shared((64, 64), "float8_e5m2")
            y = T.alloc_fragment((64, 64), "float32")
            z = T.alloc_fragment((64, 64), "float8_e5m2")
            T.clear(y)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A, a)
                T.copy(B, b)
                T.gemm(a, b, y)
            T.fill(z, 2)
            T.copy(y, C)
            T.copy(z, C)
"""


def compiled(text: str, target_name: str) -> tuple[str, list[str]]:
    """The emitted module, and what the pairs of fp8 numbers are that ptxas packs wrong."""
    made = parse_program(text, outputs=("C",))
    emitted = emit(pipeline.lower(made, target_name), made.facts)
    path = str(write_module(emitted, "guarded"))
    found: list[str] = []
    for job in jobs(path, made.facts, target(target_name)):
        ptx = compile_worker.compile_job(asdict(job))["ptx"]
        pairs = set(re.findall(r"cvt\.rn\.satfinite\.e[45]m[23]x2\.\w+\s+(%rs\d+)", ptx))
        assert pairs, "no fp8 number is made"
        packed = re.findall(r"\{(%rs\d+), (%rs\d+)\}", ptx)
        found += [low for low, high in packed if low == high and low in pairs]
    return emitted, found


@pytest.fixture
def with_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    def figures(assembly: Any) -> dict[str, Any]:
        return {"ptx": assembly["ptx"]}

    monkeypatch.setattr(compile_worker, "_nvidia_figures", figures)


@pytest.mark.compile
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_pair_is_packed_twice(kind: str, dtype: str, with_ptx: None) -> None:
    emitted, found = compiled(program(VALUES[kind], dtype), "cuda:90")
    assert found == []
    assert ("+ zero" in emitted) == (kind in GUARDED), emitted


@pytest.mark.compile
@pytest.mark.parametrize(("text", "is_guarded"), [(REPEATED, True), (PRODUCT, False)])
def test_loops_are_followed(text: str, is_guarded: bool, with_ptx: None) -> None:
    emitted, found = compiled(text, "cuda:90")
    assert found == []
    assert ("+ zero" in emitted) == is_guarded, emitted


def test_amd_needs_no_guard() -> None:
    made = parse_program(program(VALUES["of an index"], "float8_e5m2"), outputs=("C",))
    assert "zero" not in emit(pipeline.lower(made, "hip:gfx950"), made.facts)


@pytest.mark.parametrize("kind", GUARDED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_guarded_numbers_are_the_same(kind: str, dtype: str, device: str) -> None:
    x = (torch.randint(-8, 9, (33, 40)) / 2).float()
    agree(program(VALUES[kind], dtype), [x, 35], device)
