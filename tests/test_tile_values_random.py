"""Random programs whose tiles are values: the same text means what it means to NumPy."""

import importlib.util
import random
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.both_meanings import run_kernel

ROWS, COLUMNS = 16, 8
KINDS = {"whole": (ROWS, COLUMNS), "row": (1, COLUMNS), "column": (ROWS, 1), "number": ()}
HEAD = """
import tile2triton
import tile2triton.language as T


def halves(x):
    return 0.5 * x - T.sigmoid(x)


@T.macro
def shifted(x, y):
    z = x - y * 0.5
    z[:, 2:] += 0.25
    return z + y


@tile2triton.kernel
def program(A, B, R, C):
    A: T.Tensor((16, 8), "float32")
    B: T.Tensor((16, 8), "float32")
    R: T.Tensor((8,), "float32")
    C: T.Tensor((16,), "float32")
    D = T.empty((16, 8), "float32")
    E = T.empty((16, 8), "float32")
    with T.Kernel(1, threads=64):
        x, y, r, c = T.copy(A[:, :]), T.copy(B[:, :]), T.copy(R[:]), T.copy(C[:])
        i, j = T.arange(16)[:, None], T.arange(8)
"""
TAIL = """
        D[:, :] = x
        T.copy(y, E)
    return D, E
"""


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(np.minimum(-x, 80)))


def shifted(x: Any, y: Any) -> Any:
    z = x - y * 0.5
    z[:, 2:] += 0.25
    return z + y


NUMPY = SimpleNamespace(
    copy=np.copy,
    arange=np.arange,
    sigmoid=sigmoid,
    max=np.maximum,
    min=np.minimum,
    where=np.where,
    reduce_sum=lambda x, dim: x.sum(dim),
    reduce_max=lambda x, dim: x.max(dim),
    transpose=np.transpose,
    zeros=lambda shape: np.zeros(shape, np.float32),
    full=lambda shape, value: np.full(shape, value, np.float32),
    serial=range,
)


class Writer:
    """Writes expressions of a shape that goes with the whole tile."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        # New names and what they hold.
        self.names: dict[str, str] = {}

    def leaf(self, kind: str) -> str:
        known = [name for name, its in self.names.items() if its == kind]
        given = {
            "whole": ["x", "y", "y[:, :]", "T.copy(y)"],
            "row": [
                "r",
                "r[None, :]",
                "x[3, :]",
                "y[5:6, :]",
                "j * 0.125",
                "T.reduce_max(y, dim=0)",
            ],
            "column": ["c[:, None]", "x[:, 2:3]", "i * 0.0625", "T.reduce_sum(x, dim=1)[:, None]"],
            "number": ["0.5", "-1.25", "2"],
        }[kind]
        return self.rng.choice([*known, *given])

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf(kind)
        # One operand has the shape, the others may be broadcast.
        smaller = {"whole": list(KINDS), "number": ["number"]}.get(kind, [kind, "number"])
        one = self.expression(kind, depth - 1)
        other = self.expression(self.rng.choice(smaller), depth - 1)
        if self.rng.random() < 0.5:
            one, other = other, one
        if kind == "number":
            return one
        form = self.rng.choice(
            ("({a} + {b})", "({a} - {b})", "({a} * {b}) * 0.5", "T.max({a}, {b})", "-({a} - {b})")
            + ("T.where({a} < {b}, {a}, {c})", "T.where(({a} > 0) & ({b} <= {c}), {c}, {b})")
            + ("T.sigmoid({a} + {b})", "halves({a} + {b})", "abs({a} - {b})")
        )
        return form.format(a=one, b=other, c=self.expression(kind, depth - 1))

    def statement(self, indent: str, is_in_loop: bool) -> list[str]:
        rng, target = self.rng, self.rng.choice("xy")
        value = self.expression("whole", 2)
        sign, moved = rng.choice(("+", "-")), ("4:12, 2:6", "8:, -4:")
        forms = [
            f"{target} {sign}= {self.expression(rng.choice(list(KINDS)), 2)}",
            f"{target} *= T.sigmoid({self.expression(rng.choice(('row', 'column')), 1)})",
            f"{target}[...] = {value}",
            f"{target}[4:12, :] = {self.expression('row', 2)}",
            f"{target}[:, 2:6] {sign}= {self.expression('column', 1)}",
            f"{target}[0:8, 1:5] = {rng.choice('xy')}[{rng.choice(moved)}] * 0.5",
            f"{target}[..., 1:] = {target}[..., :-1] - {target}[:, 0:1]",
            f"{target}[7, :] = {self.leaf('row')}",
        ]
        if not is_in_loop:
            forms.append(f"{target} = {value}")
            forms.append(f"x, y = {value}, {self.expression('whole', 1)}")
            forms.append(f"{target} = shifted({self.expression('whole', 1)}, {self.leaf('whole')})")
        chosen = rng.choice(forms)
        if rng.random() < 0.4:
            name, kind = f"t{len(self.names)}", rng.choice(("whole", "row", "column"))
            new = f"{indent}{name} = ({self.expression(kind, 2)}) + {self.fixed(kind)}"
            if not is_in_loop:
                self.names[name] = kind
            return [new, f"{indent}{chosen}"]
        return [f"{indent}{chosen}"]

    def fixed(self, kind: str) -> str:
        """Zeros, which give an expression its shape."""
        return f"T.zeros({KINDS[kind]})"

    def program(self) -> str:
        lines: list[str] = []
        for _ in range(4):
            lines += self.statement(" " * 8, is_in_loop=False)
        lines.append(" " * 8 + "for k in T.serial(3):")
        for _ in range(2):
            lines += self.statement(" " * 12, is_in_loop=True)
        lines += self.statement(" " * 8, is_in_loop=False)
        return "\n".join(lines)


def module_of(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_numpy(body: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    a, b, r, c = (array.copy() for array in arrays)
    names = {"T": NUMPY, "shifted": shifted, "x": a, "y": b, "r": r, "c": c}
    names["halves"] = lambda x: 0.5 * x - sigmoid(x)
    names["i"], names["j"] = np.arange(ROWS)[:, None], np.arange(COLUMNS)
    lines = [line.removeprefix(" " * 8) for line in body.splitlines()]
    exec("\n".join(lines), names)
    return [names["x"], names["y"]]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_program_means_what_it_means_to_numpy(seed: int, tmp_path: Path, device: str) -> None:
    body = Writer(seed).program()
    module = module_of(tmp_path / f"random_{seed}.py", HEAD + body + TAIL)
    generator = np.random.default_rng(seed)
    shapes = ((ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS,), (ROWS,))
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    tensors = [torch.from_numpy(array) for array in arrays]
    made = run_kernel(module.program, tensors, device, tolerance=1e-5)
    for found, wanted in zip(made, in_numpy(body, arrays), strict=True):
        expected = torch.from_numpy(np.asarray(wanted, np.float32))
        assert (found - expected).norm() <= 1e-4 * (1 + expected.norm()), body
