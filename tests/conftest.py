"""Options and fixtures that all tests share: golden files, devices, poisoned memory."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest
import torch

from tests.hinted import PATCHES
from tests.warm_process import WarmFamily
from tile2triton import compile_pool
from tile2triton.compile_process import CompileProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the expected texts from what the code gives; read the diff before you commit",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a `device` runs in Triton's interpreter, and on a GPU where there is one."""
    if "device" in metafunc.fixturenames:
        devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        marks = {"cpu": (), "cuda": (pytest.mark.cuda,)}
        metafunc.parametrize("device", [pytest.param(d, marks=marks[d]) for d in devices])


@pytest.fixture(autouse=True)
def warm_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers and scripts under check start at once, but for tests that are marked `cold`."""
    if "cold" not in request.keywords:
        monkeypatch.setattr("tile2triton.worker_process.Family", WarmFamily)
        monkeypatch.setattr("tile2triton.checking.supervise.Family", WarmFamily)


@pytest.fixture(scope="module")
def one_compiler() -> Iterator[None]:
    """Importing Triton takes longer than compiling: one process serves all tests of a file."""
    with CompileProcess() as process, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_pool, "CompileProcess", lambda: nullcontext(process))
        yield


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh tensors hold NaN, or -1 where they are of integers: a kernel must write them all."""
    for owner, name in ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
        monkeypatch.setattr(owner, name, filled_with_ones(getattr(owner, name)))


def filled_with_ones(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """All bits set: a NaN in every float format of IEEE's kind, fp8 included."""

    def allocate_filled(*arguments: object, **options: object) -> torch.Tensor:
        tensor = allocate(*arguments, **options)
        tensor.untyped_storage().fill_(0xFF)
        return tensor

    return allocate_filled


@pytest.fixture
def all_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever hints ask for, there is a patch for it."""
    monkeypatch.setattr("tile2triton.pipeline.patch_kinds", lambda: PATCHES)
