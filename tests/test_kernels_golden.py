"""The Triton of the main kernels as text: what changes in it must be read and approved."""

import ast
import importlib.util
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.decode_attention import decode_attention
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.gemm_relu import gemm_relu
from tests.kernels.linear_attention import linear_attention
from tests.kernels.norm import rms_norm
from tests.kernels.softmax import softmax
from tests.kernels.split_k_gemm import split_k_gemm
from tests.kernels.values.retention import retention
from tile2triton import Schedule, transpile

HERE = Path(__file__).parent / "golden"
CUBE = {"M": 8192, "N": 8192, "K": 8192}
SQUARE = {"M": 8192, "N": 8192}
HEADS = {"batch": 4, "heads": 16, "seq_len": 4096, "dim": 128}


@dataclass(frozen=True)
class Golden:
    name: str
    kernel: Any
    sizes: dict[str, int]
    settings: dict[str, Any] = field(default_factory=dict)
    target: str = "cuda:90"

    def __str__(self) -> str:
        return self.name

    def text(self) -> str:
        kernel = transpile(self.kernel, **self.sizes, **self.settings, target=self.target)
        return kernel.triton_source


ALL = (
    Golden("gemm_relu", gemm_relu, CUBE),
    Golden("gemm_ragged", gemm, {"M": 1000, "N": 1000, "K": 1000}),
    Golden(
        "gemm_gfx942",
        gemm,
        CUBE,
        {"block_N": 128, "block_K": 32, "num_stages": 2},
        target="hip:gfx942",
    ),
    Golden("attention_causal", flash_attention, HEADS, {"is_causal": True}),
    Golden("attention_full", flash_attention, HEADS),
    Golden("attention_ragged", flash_attention, {**HEADS, "seq_len": 1000}, {"layout": "bhsd"}),
    Golden(
        "decode_split",
        decode_attention.scheduled(Schedule(split=8)),
        {"batch": 16, "heads": 32, "dim": 128, "kv_len": 8192, "kv_heads": 8},
    ),
    Golden(
        "attention_gluon",
        flash_attention.scheduled(Schedule(warp_specialize=2)),
        HEADS,
        {"is_causal": True, "block_M": 64, "block_N": 128, "threads": 128},
    ),
    Golden(
        "gemm_gluon_persistent",
        gemm.scheduled(Schedule(warp_specialize=2, persistent=True, subtile=2)),
        CUBE,
        {"block_M": 64, "block_N": 256, "num_stages": 4, "threads": 128, "transpose_B": True},
    ),
    Golden(
        "attention_gluon_gfx942",
        flash_attention.scheduled(Schedule(warp_specialize=2)),
        HEADS,
        {"block_N": 64, "threads": 512},
        target="hip:gfx942",
    ),
    Golden(
        "gemm_gluon_gfx950",
        gemm.scheduled(Schedule(warp_specialize=2)),
        CUBE,
        {"block_M": 256, "block_K": 32, "num_stages": 4, "threads": 512, "transpose_B": True},
        target="hip:gfx950",
    ),
    Golden("softmax", softmax, SQUARE),
    Golden("softmax_ragged", softmax, {"M": 1000, "N": 1000}, {"block_M": 4}),
    Golden("rms_norm", rms_norm, SQUARE),
    Golden("split_k_gemm", split_k_gemm, {"M": 512, "N": 512, "K": 65536}),
    Golden(
        "linear_attention",
        linear_attention,
        {"batch": 4, "seq_len": 4096, "heads": 16, "dim_K": 128, "dim_V": 128},
    ),
    Golden(
        "retention_values",
        retention,
        {"batch": 4, "seq_len": 1000, "heads": 16, "dim_K": 128, "dim_V": 96},
    ),
)


@pytest.mark.parametrize("golden", ALL, ids=str)
def test_text_is_as_approved(golden: Golden, request: pytest.FixtureRequest) -> None:
    expected = HERE / f"{golden.name}.py"
    text = golden.text()
    if request.config.getoption("--update-golden"):
        expected.write_text(text)
    assert text == expected.read_text(), "if it should differ: pytest --update-golden"


def _may_fail_to_import(statement: ast.stmt) -> bool:
    """Whether it is a `try` whose import may fail, with nothing behind but that."""
    match statement:
        case ast.Try(
            body=[ast.ImportFrom(module="tile2triton.ttgir")],
            handlers=[ast.ExceptHandler(type=ast.Name(id="ImportError"), body=[ast.Pass()])],
        ):
            return True
    return False


@pytest.mark.parametrize("golden", ALL, ids=str)
def test_text_stands_alone(golden: Golden) -> None:
    imported = set()
    tree = ast.parse(golden.text())
    # What asks for patches does without them where tile2triton is not installed.
    tree.body = [one for one in tree.body if not _may_fail_to_import(one)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    assert imported <= {"torch", "triton"}


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize("golden", ALL, ids=str)
def test_text_is_formatted_as_ruff_would(golden: Golden) -> None:
    command = ["ruff", "format", "--isolated", "--diff", "--stdin-filename", "golden.py", "-"]
    run = subprocess.run(
        [sys.executable, "-m", *command],
        input=golden.text(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_there_is_no_golden_file_without_a_kernel() -> None:
    assert sorted(path.stem for path in HERE.glob("*.py")) == sorted(g.name for g in ALL)
