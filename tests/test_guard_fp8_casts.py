"""fp8 numbers are made where ptxas does not lose them."""

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

DTYPES = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}

VALUES = {
    "of an index": "T.min(j, 4)",
    "of an index and a row": "a[i] * (j // 4)",
    "of a row": "a[i]",
    "of a tile": "x[i, j] * a[i]",
    "of a tile under a mask": "T.if_then_else(j < n, x[i, j], 0.0)",
    "of a number": "1.5",
}


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


# The programs whose numbers were wrong on the GPU, where pairs are used twice.
CHOSEN = """
    def k(X: T.Tensor((33, 40), "float32"), n: T.int32, C: T.Tensor((33, 40), "{dtype}")):
        with T.Kernel(1, threads=128) as bx:
            y = T.alloc_fragment((33, 40), "{dtype}")
            for i, j in T.Parallel(33, 40):
                y[i, j] = j
            for i, j in T.Parallel(33, 40):
                if j + y[i, j] > 2:
                    y[i, j] = y[i, j] * 3
            T.copy(y, C)
"""
TURNED = """
    def k(X: T.Tensor((40, 33), "float32"), n: T.int32, C: T.Tensor((33, 40), "{dtype}")):
        with T.Kernel(1, threads=128) as bx:
            x = T.alloc_fragment((40, 33), "{dtype}")
            y = T.alloc_shared((33, 40), "{dtype}")
            T.copy(X, x)
            T.transpose(x, y)
            for i, j in T.Parallel(33, 40):
                if x[j, i] > 0:
                    y[i, j] = T.min(x[j, i], n)
            T.copy(y, C)
"""
KEPT = """
    def k(X: T.Tensor((33, 40), "float32"), n: T.int32, C: T.Tensor((33, 40), "{dtype}")):
        with T.Kernel(1, threads=128) as bx:
            x = T.alloc_fragment((33, 40), "float32")
            y = T.alloc_fragment((33, 40), "{dtype}")
            T.copy(X, x)
            T.fill(y, 2)
            for k in T.serial(2):
                for i, j in T.Parallel(33, 40):
                    if x[i, 39 - j] > 0:
                        y[i, j] = 1
                    else:
                        y[i, j] = y[i, j] + x[i, j]
            T.copy(y, C)
"""
PROGRAMS = {"chosen": CHOSEN, "turned": TURNED, "kept": KEPT}


def text_of(kind: str, dtype: str) -> str:
    return PROGRAMS[kind].format(dtype=dtype) if kind in PROGRAMS else program(VALUES[kind], dtype)


def ptx(text: str, target_name: str) -> str:
    made = parse_program(text, outputs=("C",))
    emitted = emit(pipeline.lower(made, target_name), made.facts)
    path = str(write_module(emitted, "guarded"))
    return "".join(
        compile_worker.compile_job(asdict(job))["ptx"]
        for job in jobs(path, made.facts, target(target_name))
    )


@pytest.fixture
def with_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    def figures(assembly: Any) -> dict[str, Any]:
        return {"ptx": assembly["ptx"]}

    monkeypatch.setattr(compile_worker, "_nvidia_figures", figures)


@pytest.mark.compile
@pytest.mark.parametrize("kind", [*VALUES, *PROGRAMS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_are_made_where_nothing_else_uses_them(kind: str, dtype: str, with_ptx: None) -> None:
    code = ptx(text_of(kind, dtype), "cuda:90")
    made = set(re.findall(r"cvt\.rn\.satfinite\.e[45]m[23]x2\.f32\s+(\S+),", code))
    assert {"low", "high"} <= made
    for pair in made - {"low", "high"}:
        # What is made wide again at once.
        assert re.findall(rf"(\S+) .*{pair}\b", code)[1:] == [f"cvt.rn.f16x2.{DTYPES[dtype]}x2"]


@pytest.mark.parametrize("name", ["hip:gfx950", "cuda:80"])
def test_other_targets_have_plain_casts(name: str) -> None:
    made = parse_program(program(VALUES["of an index"], "float8_e5m2"), outputs=("C",))
    assert "zero" not in emit(pipeline.lower(made, name), made.facts)


@pytest.mark.parametrize("kind", [*VALUES, *PROGRAMS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_guarded_numbers_are_the_same(kind: str, dtype: str, device: str) -> None:
    shape = (40, 33) if kind == "turned" else (33, 40)
    x = (torch.randint(-8, 9, shape) / 2).float()
    text = text_of(kind, dtype)
    agree(text, [x, 35 if kind in VALUES else 1], device)
