"""Errors of programs on whole operands stand at the user's lines, and each is said once."""

import ast
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.commands.kernels import compiled, settings_of


@tile2triton.kernel
def products(x, w):
    y = T.relu(x)
    return T.gemm(y, w, transpose_B=False)


@tile2triton.kernel
def changes(x, y):
    x[...] = T.relu(y)
    y[...] = T.relu(x) + 1


@tile2triton.kernel
def nothing(x):
    return T.relu(x), print


@tile2triton.kernel
def named(x: T.Tensor["N N"]):  # noqa: F722
    return T.relu(x)


def of_types(*dtypes: torch.dtype) -> list[torch.Tensor]:
    return [torch.ones(4, 4, dtype=dtype) for dtype in dtypes]


ERRORS: list[tuple[Any, list[Any], str, str]] = [
    (products, of_types(torch.int32, torch.int32), "T2T224", "T.gemm(y, w,"),
    (changes, of_types(torch.float32, torch.float32), "T2T861", "y[...] = T.relu(x) + 1"),
    (nothing, of_types(torch.float32), "T2T805", "print"),
    (named, [torch.ones(3, 4)], "T2T410", "kernel(*arguments)"),
    (named, [3], "T2T411", "kernel(*arguments)"),
    (named, [], "T2T411", "kernel(*arguments)"),
]


@pytest.mark.parametrize(("kernel", "arguments", "code", "text"), ERRORS)
def test_an_error_is_at_its_line(kernel: Any, arguments: Any, code: str, text: str) -> None:
    for _ in range(2):
        with pytest.raises(tile2triton.Error) as error:
            kernel(*arguments)
        (found,) = error.value.diagnostics  # type: ignore[attr-defined]
        assert (found.code, found.filename) == (code, __file__)
        assert linecache.getline(__file__, found.line)[found.column - 1 :].startswith(text)
        assert " at 0x" not in str(error.value)


def test_an_error_of_a_known_kernel_is_at_the_call() -> None:
    named(torch.ones(4, 4))
    with pytest.raises(tile2triton.Error) as error:
        named(torch.ones(3, 4))
    (found,) = error.value.diagnostics  # type: ignore[attr-defined]
    assert linecache.getline(__file__, found.line)[found.column - 1 :].startswith("named(")


@tile2triton.kernel
def attention(Q: T.Tensor["B H M D"], K: T.Tensor["B H N D"], V: T.Tensor["B H N 64"]):  # noqa: F722
    return T.gemm(T.softmax(T.gemm(Q, K, transpose_B=True), mask=T.causal), V)


def test_the_operands_that_a_command_proposes_are_taken() -> None:
    with pytest.raises(Exception, match="needs operands for Q, K, V") as error:
        compiled("attention", attention, {}, "cuda:90")
    proposed = [part.strip("'") for part in str(error.value).split() if "[" in part]
    kernel = compiled("attention", attention, settings_of(proposed), "cuda:90")
    assert "D = 64" in kernel.triton_source


def test_an_error_of_a_command_stands_at_no_line_of_python(tmp_path: Path) -> None:
    path = tmp_path / "named.py"
    path.write_text(
        "import tile2triton\nimport tile2triton.language as T\n@tile2triton.kernel\n"
        'def named(x: T.Tensor["N N"]):\n    return T.relu(x)\n'
    )
    command = [sys.executable, "-m", "tile2triton", "emit", str(path), "--set", "x=float16[3,4]"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "T2T410" in done.stderr
    assert "frozen" not in done.stderr


def test_a_tensor_that_is_written_wrong_is_no_text() -> None:
    with pytest.raises(Exception, match=r"`float16\[512,64` is no tensor: write float16\[512,64\]"):
        settings_of(["A=float16[512,64"])


@tile2triton.kernel
def normalized(X, w):
    return T.softmax(X, axis=-1) * w


def test_the_tile_program_is_a_module_to_go_on_with(tmp_path: Path) -> None:
    """The printed text, imported as it is, is a T.prim_func with the same results."""
    shapes = [(300, 20), (290, 20), (280, 20)]
    for shape in shapes:
        normalized(torch.randn(shape), torch.randn(20))
    kernel = normalized.compile(torch.randn(260, 20), torch.randn(20))
    text = kernel.after("tile_operands")
    path = tmp_path / "normalized.py"
    path.write_text(text)
    scope: dict[str, Any] = {}
    exec(compile(ast.parse(text), str(path), "exec"), scope)
    x, w = torch.randn(270, 20), torch.randn(20)
    again = tile2triton.compile(scope["normalized"], out_idx=[-1])
    assert torch.allclose(again(x, w), x.softmax(-1) * w, rtol=1e-5, atol=1e-6)
    assert "T.dynamic(" in text


@tile2triton.kernel
@T.tile(m=1, n=1, k=1)
def small(A, B):
    C = T.gemm(A, B)
    return T.relu(C)


def test_a_tile_that_is_too_small_is_refused_at_its_product() -> None:
    with pytest.raises(tile2triton.TileError) as error:
        small.compile(T.Tensor((128, 64), "float16"), T.Tensor((64, 128), "float16"))
    found = error.value.diagnostics[0]
    assert (found.code, found.filename) == ("T2T318", __file__)
    assert "T.gemm(A, B)" in linecache.getline(__file__, found.line)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('name = "own"\nwarps = "x"\n', "T2T870", 2),
        ("pipeline = 3\n[nothing]\nwarps = 4\n", "T2T874", 2),
        ("warps = 4\npipeline = = 3\n", "T2T875", 2),
    ],
)
def test_an_error_in_a_file_of_a_schedule_is_at_its_line(
    tmp_path: Path, text: str, code: str, line: int
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(tile2triton.TileError) as error:
        tile2triton.Schedule.read(path)
    (found,) = error.value.diagnostics
    assert (found.code, found.filename, found.line) == (code, str(path), line)


@tile2triton.kernel
@T.warps(4)
@T.tile(q=64)
def of_nothing(A, B):
    return T.gemm(A, B)


@tile2triton.kernel
@T.split("m", 2)
def of_rows(A, B):
    return T.gemm(A, B)


@tile2triton.kernel
@T.recompute()
def again(A, B):
    return T.gemm(A, B)


IN_VAIN = [(of_nothing, "T.tile(q=64)"), (of_rows, 'T.split("m", 2)'), (again, "T.recompute()")]


@pytest.mark.parametrize(("kernel", "text"), IN_VAIN)
def test_what_a_schedule_says_in_vain_is_refused_at_the_annotation(kernel: Any, text: str) -> None:
    with pytest.raises(tile2triton.TileError) as error:
        kernel.compile(T.Tensor((128, 64), "float16"), T.Tensor((64, 256), "float16"))
    found = error.value.diagnostics[0]
    assert linecache.getline(__file__, found.line)[found.column - 1 :].startswith(text)
