"""Each program in programs/ holds a mistake; its text in expected/ is all that is said of it."""

import importlib
from pathlib import Path

import pytest
import torch

import tile2triton

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))


def message_of(program: str) -> str:
    """What a user reads, with paths from the root of the repository."""
    module = importlib.import_module(f"tests.errors.programs.{program}")
    with pytest.raises(tile2triton.Error) as raised:
        module.program().triton_source  # noqa: B018
    return str(raised.value).replace(f"{ROOT}/", "").rstrip() + "\n"


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    """Messages that differ where there is a GPU are those without one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_message_names_the_line_and_the_remedy(program, request):
    expected = HERE / "expected" / f"{program}.txt"
    message = message_of(program)
    if request.config.getoption("--update-golden"):
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(message)
    assert message == expected.read_text()
    assert f"tests/errors/programs/{program}.py:" in message


def test_one_mistake_is_one_error():
    several = {"two_mistakes", "gemm_on_tensors"}
    for path in (HERE / "expected").glob("*.txt"):
        assert (path.read_text().count("error[") == 1) == (path.stem not in several), path.stem


def test_every_program_has_its_text_and_every_text_its_program():
    assert sorted(path.stem for path in (HERE / "expected").glob("*.txt")) == PROGRAMS
