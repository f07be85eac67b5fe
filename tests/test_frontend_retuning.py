"""An emitted file whose constants are edited by hand is right, or says which condition fails."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernels.flash_attention import flash_attention
from tests.kernels.norm import rms_norm
from tile2triton.runtime import load

SIZES = (1, 1, 96, 32)
BLOCKS = {"block_M": 32, "block_N": 32, "threads": 128}


def assertions_of(kernel: tile2triton.CompiledKernel) -> list[str]:
    lines = [line.strip() for line in kernel.triton_source.splitlines()]
    call = "tl.static_assert("
    return [line[len(call) : -1] for line in lines if line.startswith(call)]


def edited(kernel: tile2triton.CompiledKernel, old: str, new: str) -> Callable[..., Any]:
    """The launcher of the kernel's text with one line replaced."""
    text = kernel.triton_source
    assert text.count(f"\n{old}\n") == 1, old
    return load(text.replace(f"\n{old}\n", f"\n{new}\n"), kernel.name)


def scaled(body: Callable[..., Any]) -> Any:
    """A factory of `C = A * body(block, width)`, with `body` run natively while it is traced."""

    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64, deep=False):
        @T.prim_func
        def scale(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(T.ceildiv(width, block), threads=128) as bx:
                a = T.alloc_fragment((block,), "float32")
                T.copy(A[bx * block], a)
                for i in T.Parallel(block):
                    a[i] = a[i] * body(block, width, deep)
                T.copy(a, C[bx * block])

        return scale

    return factory


def decided(body: Callable[..., Any], deep: bool = False) -> list[str]:
    """What is asserted of a kernel beside what its copies need."""
    kernel = scaled(body)(256, deep=deep)
    return [text for text in assertions_of(kernel) if text != "width % block == 0"]


def attention_inputs() -> list[torch.Tensor]:
    batch, heads, seq_len, dim = SIZES
    generator = torch.Generator().manual_seed(0)
    shape = (batch, seq_len, heads, dim)
    return [torch.randn(shape, generator=generator).half() for _ in range(3)]


@pytest.mark.parametrize(
    ("old", "new"), [("block_N = 32", "block_N = 64"), ("dim = 32", "dim = 64")]
)
def test_attention_whose_masked_loop_was_left_out_fails_loudly(old: str, new: str) -> None:
    kernel = flash_attention(*SIZES, **BLOCKS)
    assert "seq_len % block_N == 0" in assertions_of(kernel)
    with pytest.raises((RuntimeError, ValueError)) as raised:
        edited(kernel, old, new)(*attention_inputs())
    expected = "tl.static_assert(seq_len % block_N == 0)" if "block" in old else "must be of shape"
    assert expected in str(raised.value)


def test_a_scale_from_an_edited_size_fails_loudly() -> None:
    kernel = flash_attention(*SIZES, **BLOCKS)
    inputs = [torch.cat([x, x], dim=-1).contiguous() for x in attention_inputs()]
    with pytest.raises(RuntimeError, match=r"static_assert\(dim == 32\)"):
        edited(kernel, "dim = 32", "dim = 64")(*inputs)


@pytest.mark.parametrize("new", ["block_N = 16", "block_N = 32"])
def test_attention_with_another_fitting_block_is_right(new: str) -> None:
    kernel = flash_attention(*SIZES, **BLOCKS)
    inputs = attention_inputs()
    output = edited(kernel, "block_N = 32", new)(*inputs)
    expected = oracles.flash_attention(*inputs)
    assert (output.double() - expected).norm() / expected.norm() < 8e-4


def test_a_flag_that_decides_alone_asserts_nothing() -> None:
    kernel = flash_attention(*SIZES, is_causal=True, **BLOCKS)
    assert "seq_len % block_N" not in " ".join(assertions_of(kernel))


def test_the_header_does_not_repeat_what_is_asserted() -> None:
    header = flash_attention(*SIZES, **BLOCKS).triton_source.split('"""')[1]
    assert "is_causal=False" in header
    assert "block_N" not in header


def test_a_tile_that_became_a_scalar_stays_one_row() -> None:
    X, W = torch.randn(4, 64).half(), torch.randn(64).half()
    kernel = tile2triton.transpile(rms_norm, X, W)
    assert "block_M == 1" in assertions_of(kernel)
    with pytest.raises(RuntimeError, match=r"static_assert\(block_M == 1\)"):
        edited(kernel, "block_M = 1", "block_M = 2")(X, W)


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        (lambda block, width, deep: 2.0 if block > 32 else 1.0, ["block > 32"]),
        (lambda block, width, deep: 2.0 if width <= block else 1.0, ["width > block"]),
        (lambda block, width, deep: 2.0 if deep or block > 32 else 1.0, ["block > 32"]),
        (
            lambda block, width, deep: 2.0 if block & (block - 1) else 1.0,
            ["block & block - 1 == 0"],
        ),
        (lambda block, width, deep: {32: 1.0, 64: 2.0}[block], ["block == 64"]),
        (lambda block, width, deep: 2.0 if block in (32, 64) else 1.0, ["block == 64"]),
        (lambda block, width, deep: width**0.5, ["width == 256"]),
        (lambda block, width, deep: float(max(block, width // 8)), ["block == 64"]),
        (
            lambda block, width, deep: 1.0 if T.ceildiv(width, block) > 2 else 2.0,
            ["(width + block - 1) // block > 2"],
        ),
        (lambda block, width, deep: 3.0, []),
        (lambda block, width, deep: width // block, []),
    ],
)
def test_what_native_code_decides_is_asserted(body: Any, conditions: list[str]) -> None:
    found = decided(body)
    assert found[-len(conditions) :] == conditions if conditions else found == []


def test_a_decisive_operand_is_asserted_alone() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64, deep=True):
        @T.prim_func
        def scale(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(T.ceildiv(width, block), threads=128) as bx:
                for i in T.Parallel(block):
                    if block > 128 or deep:
                        C[bx * block + i] = A[bx * block + i]
                    if deep and 16 < block <= width:
                        C[bx * block + i] = 2 * A[bx * block + i]
                    if block > 128 and block > 256:
                        C[bx * block + i] = 3 * A[bx * block + i]

        return scale

    found = [text for text in assertions_of(factory(256)) if text != "width % block == 0"]
    assert found == ["block > 16", "block <= width", "block <= 128"]


def test_unrolled_loops_assert_how_often_they_run() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64):
        @T.prim_func
        def scale(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(T.ceildiv(width, block), threads=128) as bx:
                assert width >= block
                for factor in [number + 1 for number in range(block // 32)]:
                    for i in T.Parallel(block):
                        C[bx * block + i] = factor * A[bx * block + i]

        return scale

    kernel = factory(256)
    assert {"width >= block", "block // 32 == 2"} <= set(assertions_of(kernel))
    A = torch.arange(256.0)
    with pytest.raises(RuntimeError, match=r"static_assert\(block // 32 == 2\)"):
        edited(kernel, "block = 64", "block = 32")(A)


def test_what_the_factory_computes_follows_an_edit() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64):
        programs = width // block

        @T.prim_func
        def copy(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(programs, threads=128) as bx:
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i]

        return copy

    A = torch.arange(256.0)
    assert torch.equal(edited(factory(256), "block = 64", "block = 32")(A), A)


def test_what_the_factory_decides_is_asserted() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64):
        factor = 2.0 if block > 32 else 1.0

        @T.prim_func
        def scale(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(T.ceildiv(width, block), threads=128) as bx:
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i] * factor

        return scale

    assert "block > 32" in assertions_of(factory(256))


def test_a_static_assertion_that_fails_is_reported() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(width, block=64):
        @T.prim_func
        def copy(A: T.Tensor((width,), "float32"), C: T.Tensor((width,), "float32")):
            with T.Kernel(T.ceildiv(width, block), threads=128) as bx:
                T.static_assert(width % block == 0)
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i]

        return copy

    assert "width % block == 0" in assertions_of(factory(256))
    with pytest.raises(tile2triton.TileError, match="T2T295"):
        factory(250)


def test_a_static_assertion_of_a_run_time_size_is_an_error() -> None:
    @tile2triton.kernel(out_idx=[1])
    def factory(block=64):
        n = T.dynamic("n")

        @T.prim_func
        def copy(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                T.static_assert(n % block == 0)
                for i in T.Parallel(block):
                    C[bx * block + i] = A[bx * block + i]

        return copy

    with pytest.raises(tile2triton.TileError, match=r"T\.assume\(n % block == 0\)"):
        factory()
