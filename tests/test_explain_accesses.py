"""What `tile2triton explain` says of shared memory, and of patches that no hint asked for."""

import re

import pytest

from tile2triton.cli import main
from tile2triton.explaining.accesses import Access

PLACE = "tests/kernels/gemm.py:gemm"
SETS = ("M=256", "N=256", "K=256", "block_N=128", "block_K=32", "transpose_B=True")

pytestmark = [pytest.mark.compile, pytest.mark.slow]


def told(capsys: pytest.CaptureFixture[str], target: str, *more: str) -> dict[str, list[str]]:
    """The lines of each part of the report, by its title."""
    sets = [word for one in (*SETS, *more) for word in ("--set", one)]
    assert main(["explain", PLACE, "--target", target, *sets]) == 0
    parts = re.split(r"\n\n  (?=\w)", capsys.readouterr().out)
    return {part.splitlines()[0]: part.splitlines()[1:] for part in parts[1:]}


def wavefronts(lines: list[str], buffer: str, operation: str) -> int:
    (line,) = [line for line in lines if line.split()[:2] == [buffer, operation]]
    found = re.search(r"(\d+) wavefronts", line)
    assert found is not None
    return int(found[1])


def test_conflicts_stand_beside_those_without_patches(capsys: pytest.CaptureFixture[str]) -> None:
    parts = told(capsys, "hip:gfx942")
    now = wavefronts(parts["shared memory, simulated for one program"], "B_shared", "local_load")
    before = wavefronts(parts["shared memory without patches"], "B_shared", "local_load")
    assert before >= 8 * now
    patch, outcome = parts["patches without a hint"]
    assert patch.strip() == "inferred_layouts of the kernel"
    assert outcome.strip().startswith("applied: ")


def test_kernels_without_patches_have_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    parts = told(capsys, "cuda:80")
    lines = parts["shared memory, simulated for one program"]
    assert any("ldmatrix" in line and "without conflicts" in line for line in lines)
    assert "shared memory without patches" not in parts
    assert "patches without a hint" not in parts


def test_access_says_how_much_longer_it_takes() -> None:
    access = Access("x", "local_load", "ld.shared.b32", 4, wavefronts=12, ideal=8)
    assert access.said == "12 wavefronts, 1.5 times the best"
    assert Access("x", "local_load", "", 0, 0, 0, "no layout").said == "not simulated: no layout"
