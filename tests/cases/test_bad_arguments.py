"""Arguments that do not fit: one clear error that names the parameter, and nothing is changed."""

import pytest
import torch

import tile2triton
from tests.cases.kernels.scaling import scale
from tile2triton.cli import main

KERNEL_ERRORS = (TypeError, ValueError, tile2triton.Error)


def good_arguments() -> list[torch.Tensor]:
    return [torch.randn(20, 8), torch.randn(20)]


@pytest.mark.parametrize(
    ("position", "bad", "words"),
    [
        (0, torch.zeros(20, 8, dtype=torch.float16), ("X", "float32", "float16")),
        (0, torch.zeros(20, 8, dtype=torch.int32), ("X", "float32", "int32")),
        (0, torch.zeros(20), ("X", "2", "1")),
        (0, torch.zeros(20, 8, 1), ("X", "2", "3")),
        (0, torch.zeros(20, 9), ("X", "8", "9")),
        (1, torch.zeros(21), ("factors", "20", "21")),
        (0, torch.zeros(8, 20).T, ("X", "contiguous")),
        (0, torch.zeros(20, 16)[:, ::2], ("X", "contiguous")),
        (0, torch.zeros(20, 8, device="meta"), ("X", "meta")),
        (1, torch.zeros(20, device="meta"), ("factors", "meta")),
        (0, None, ("X", "None")),
        (1, None, ("factors", "None")),
        (0, 3.0, ("X", "float")),
        (1, [1.0] * 20, ("factors", "list")),
    ],
)
def test_bad_argument_is_refused_by_its_name(position, bad, words):
    arguments = good_arguments()
    arguments[position] = bad
    before = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
    with pytest.raises(KERNEL_ERRORS) as raised:
        scale(8)(*arguments)
    message = str(raised.value)
    # One error: a line of the launcher, or one diagnostic with its hint.
    assert len(getattr(raised.value, "diagnostics", [raised.value])) == 1
    for word in words:
        assert word in message
    for argument, old in zip(arguments, before, strict=True):
        if isinstance(argument, torch.Tensor) and argument.device.type != "meta":
            torch.testing.assert_close(argument, old, rtol=0, atol=0)


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_wrong_number_of_arguments_is_refused(count):
    with pytest.raises(TypeError, match=r"argument"):
        scale(8)(*(good_arguments() * 2)[:count])


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_arguments_on_two_devices_are_refused():
    with pytest.raises(KERNEL_ERRORS, match="factors"):
        scale(8)(torch.zeros(20, 8, device="cuda"), torch.zeros(20))


@pytest.mark.parametrize("shape", [(0, 8)])
def test_empty_grid_launches_nothing_and_returns_the_empty_result(shape):
    result = scale(8)(torch.zeros(shape), torch.zeros(shape[0]))
    assert result.shape == shape
    assert result.dtype == torch.float32


def test_view_with_an_offset_is_accepted():
    X, factors = torch.randn(21, 8), torch.randn(21)
    torch.testing.assert_close(scale(8)(X[1:], factors[1:]), X[1:] * factors[1:, None])


def test_stride_of_a_dimension_of_size_one_does_not_matter():
    X = torch.randn(1, 16)[:, :8]
    factors = torch.ones(1)
    torch.testing.assert_close(scale(8)(X, factors), X)


@pytest.mark.compile
@pytest.mark.parametrize(("target", "depth"), [("cuda:90", 1024), ("hip:gfx942", 1024)])
def test_tiles_too_large_for_shared_memory_are_reported(target, depth, capsys):
    kernel = "tests/cases/kernels/scaling.py:too_large_for_shared_memory"
    assert main(["check", kernel, "--target", target, "--set", f"depth={depth}"]) == 1
    message = capsys.readouterr().err
    assert message.count("error[") == 1
    assert "T2T401" in message
    assert "shared memory" in message
    assert "num_stages" in message
