"""The benchmarks themselves: the hand-written Triton is right, a bad configuration is a row."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from benchmarks.count_lines import PAIRS, TILES, TRITON, count
from benchmarks.pool import Task, run_all

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.limit], ids=lambda pair: pair.name)
def test_a_tile_program_is_shorter_than_triton_by_hand(pair) -> None:
    tile = count(TILES / f"{pair.tile_file}.py", pair.tile_functions)
    hand = count(TRITON / f"{pair.hand_file}.py", pair.hand_functions)
    assert tile / hand <= pair.limit


def test_lines_without_code_are_not_counted(tmp_path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        '@jit\ndef f(\n    x,\n):\n    """Doc\n    string."""\n\n    # Why.\n    return x\n'
    )
    assert count(path, ("f",)) == 5


def test_hand_written_triton_is_right() -> None:
    """In a process of its own: what Triton compiles to is chosen when a kernel is defined."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.hand_written"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.compile
@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
def test_hand_written_triton_compiles_for_hopper() -> None:
    from benchmarks.compile_only import compile_only
    from benchmarks.triton_kernels import attention, gemm

    matrix = torch.empty((512, 512), dtype=torch.bfloat16)
    heads = torch.empty((1, 512, 4, 128), dtype=torch.bfloat16)
    with compile_only() as compiled:
        gemm.gemm_tma(matrix, matrix, True, **gemm.CONFIGS[0])
        gemm.gemm_pointers(matrix, matrix, False, **gemm.CONFIGS[0])
        attention.attention_tma(heads, heads, heads, True, "bshd", **attention.CONFIGS[0])
        attention.attention_rotated(
            heads, heads, heads, False, "bshd", **attention.ROTATED_CONFIGS[1]
        )
    assert len(compiled) == 4
    for kernel in compiled:
        assert "wgmma" in kernel.asm["ptx"]
        assert kernel.metadata.shared <= 227 * 1024


def fail() -> None:
    raise ValueError("no such tile\nand more")


def test_every_task_has_an_outcome_whatever_becomes_of_it() -> None:
    tasks = [
        Task("good", abs, (-3,), 30.0),
        Task("raises", fail, (), 30.0),
        Task("dies", os._exit, (7,), 30.0),
        Task("hangs", time.sleep, (100.0,), 1.0),
        Task("after", abs, (-4,), 30.0),
    ]
    outcomes = {outcome.key: outcome for outcome in run_all(tasks, processes=1)}
    assert outcomes["good"].value == 3
    assert outcomes["raises"].error == "ValueError: no such tile"
    assert outcomes["dies"].error == "the process died (7)"
    assert outcomes["hangs"].error == "no answer in 1 s"
    assert outcomes["after"].value == 4
