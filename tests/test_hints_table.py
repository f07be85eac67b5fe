"""The table of hints has a row for everything that is a hint."""

import inspect

import pytest

from tests import (  # noqa: F401 (they set down what they prove)
    test_gluon_amd_code,
    test_hints_compile,
    test_hints_compile_copies,
    test_hints_compile_products,
)
from tests.proofs import PROVED, ROWS, claimed, proved
from tile2triton.hints.launch_options import OPTIONS
from tile2triton.hints.patch_kinds import patch_kinds
from tile2triton.hints.table import GROUPS
from tile2triton.ops import OPERATORS
from tile2triton.ops.copy import copy
from tile2triton.ops.gemm import gemm
from tile2triton.ops.loops import Parallel, Pipelined
from tile2triton.schedule.hints import BY_NAME

WRITTEN = " ".join(row.written for row in ROWS) + " ".join(group.note for group in GROUPS)
BECOMES = " ".join(row.becomes for row in ROWS)
# What these operators need to know is no hint.
MEANT = {"A", "B", "C", "transpose_A", "transpose_B", "clear_accum", "mbar"}
MEANT |= {"src", "dst", "start", "stop", "extents"}


@pytest.mark.parametrize("name", sorted({o.name for o in OPERATORS.values() if o.kind == "hint"}))
def test_every_hint_that_is_a_statement_has_a_row(name):
    assert f"T.{name}" in WRITTEN


@pytest.mark.parametrize(
    "operator", [copy, gemm, Pipelined, Parallel], ids=lambda one: one.__name__
)
def test_every_option_that_is_a_hint_has_a_row(operator):
    for name in inspect.signature(operator).parameters.keys() - MEANT:
        assert f"{name}=" in WRITTEN


def test_every_option_of_a_launch_is_what_something_becomes():
    for name in OPTIONS:
        assert f"{name}" in BECOMES


def test_annotations_that_are_options_have_rows():
    names = (
        "subtile",
        "swap_ab",
        "rotate",
        "warp_specialize",
        "split_masks",
        "registers",
        "ctas",
        "waves_per_eu",
        "matrix_instruction",
    )
    for name in (*names, "mma_version", "direct_to_lds"):
        assert name in BY_NAME
        assert f"T.{name}(" in WRITTEN


def test_patches_of_hints_are_kinds_of_patches():
    of_hints = {"gemm_warps", "load_latency", "pipeline_schedule", "shared_layout"}
    of_hints |= {"mma_version", "direct_to_lds", "mfma_shape"}
    assert all(f"`{kind}`" in BECOMES for kind in of_hints)
    assert patch_kinds() & of_hints


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.written)
def test_every_row_is_proved_on_the_targets_that_it_names(row):
    assert claimed(row) <= proved(row)


def test_every_proof_is_of_a_row():
    assert all(any(part in row.written for row in ROWS) for part in PROVED)
