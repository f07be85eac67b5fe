"""Operands that wgmma does not read as they lie: turned round in registers without conflicts."""

import functools
import re
from typing import Any

import pytest

import tile2triton
import tile2triton.language as T
from tests.kernels.gemm import gemm
from tests.patched import assembly, patched, product, stock
from tile2triton import CompiledKernel, transpile
from tile2triton.layouts.predicted import predicted
from tile2triton.ttgir.stages import BlockedError

WANTED: tuple[str, str, dict[str, Any]] = ("turned_operand", "B_shared", {})
TYPES = [("float32", "float32", 32), ("float8_e4m3fn", "float32", 128), ("int8", "int32", 64)]


@functools.cache
def of_type(dtype: str, total: str, block_K: int, target: str = "cuda:90") -> CompiledKernel:
    sizes = dict.fromkeys("MNK", 1024)
    types = {"dtype": dtype, "out_dtype": total, "accum_dtype": total}
    return transpile(gemm, target=target, block_N=128, block_K=block_K, **types, **sizes)


@functools.cache
def by_pointers(dtype: str, total: str, block_K: int) -> CompiledKernel:
    """The same without TMA."""
    kernel = tile2triton.kernel(pass_configs={"tl.disable_tma_lower": True})(gemm.captured.function)
    tiles = {"block_N": 128, "block_K": block_K, **dict.fromkeys("MNK", 1024)}
    types = {"dtype": dtype, "out_dtype": total, "accum_dtype": total}
    return transpile(kernel, target="cuda:90", **tiles, **types)


@tile2triton.kernel
def from_columns(A, B, block=128, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((K, M), "float32")
    B: T.Tensor((N, K), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(N // block, M // block, threads=256) as (bx, by):
        A_shared = T.alloc_shared((block_K, block), "float32")
        B_shared = T.alloc_shared((block, block_K), "float32")
        C_local = T.alloc_fragment((block, block), "float32")
        T.clear(C_local)
        for k in T.Pipelined(K // block_K, num_stages=3):
            T.copy(A[k * block_K, by * block], A_shared)
            T.copy(B[bx * block, k * block_K], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_A=True, transpose_B=True)
        T.copy(C_local, C[by * block, bx * block])
    return C


def asked_for(kernel: CompiledKernel) -> list[tuple[str, str]]:
    """The tiles that the transpiler has turned by itself, as the emitted module asks for them."""
    return re.findall(r'\("(turned_operand)", "(\w+)", \{\}\)', kernel.triton_source)


def conflicts(kernel: CompiledKernel, *wanted: tuple[str, str, dict[str, Any]]) -> int:
    """Trips to the banks above the ideal of what moves an operand between two memories."""
    rows = predicted(assembly(kernel, *wanted)["ttgir"], kernel.target)
    names = ("ttg.local_load", "ttg.local_alloc", "ttg.async_copy_global_to_local")
    return sum(row.conflicts for row in rows if row.operation in names and row.trips != 1)


@pytest.mark.parametrize(("dtype", "total", "block_K"), TYPES)
def test_operands_along_columns_are_patched_without_a_word(
    dtype: str, total: str, block_K: int
) -> None:
    assert asked_for(of_type(dtype, total, block_K)) == [("turned_operand", "B_shared")]


def test_first_operands_along_columns_too() -> None:
    kernel = transpile(from_columns, target="cuda:90", M=1024, N=1024, K=1024)
    assert asked_for(kernel) == [("turned_operand", "A_shared")]


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({"dtype": "float16"}, "cuda:90"),
        ({"dtype": "float32", "transpose_B": True}, "cuda:90"),
        ({"dtype": "float32"}, "cuda:100"),
        ({"dtype": "float32"}, "cuda:80"),
        ({"dtype": "float32"}, "hip:gfx942"),
        # Products of few rows, or of two warps, are no wgmma.
        ({"dtype": "float32", "block_M": 32}, "cuda:90"),
        ({"dtype": "float32", "threads": 64}, "cuda:90"),
    ],
)
def test_other_products_are_left_alone(options: dict[str, Any], target: str) -> None:
    sizes = {**dict.fromkeys("MNK", 1024), "block_N": 128, "block_K": 32}
    kernel = transpile(gemm, target=target, out_dtype="float32", **sizes, **options)
    assert asked_for(kernel) == []
    assert "turned_operand" not in kernel.triton_source


def test_module_asks_without_a_hint_of_the_users() -> None:
    text = of_type("float32", "float32", 32).triton_source
    assert 'patch(gemm_kernel, ("turned_operand", "B_shared", {}))' in text
    assert "Patched where tile2triton is installed: turned_operand of B_shared." in text


@pytest.mark.compile
@pytest.mark.parametrize(("dtype", "total", "block_K"), TYPES)
def test_registers_meet_in_fewer_banks(dtype: str, total: str, block_K: int) -> None:
    kernel = of_type(dtype, total, block_K)
    before, after = conflicts(kernel), conflicts(kernel, WANTED)
    assert after * 5 < before


@pytest.mark.compile
@pytest.mark.parametrize(("dtype", "total", "block_K"), TYPES)
def test_what_pointers_load_is_copied_in_rows_and_turned_then(
    dtype: str, total: str, block_K: int
) -> None:
    """Elements of 8 bits are not copied ahead at all without it, others four bytes at once."""
    kernel = by_pointers(dtype, total, block_K)
    assert asked_for(kernel) == [("turned_operand", "B_shared")]
    before, after = stock(kernel), patched(kernel, WANTED)
    assert after["cp.async 16"] == 2 * before["cp.async 16"] == after["cp.async"]
    assert "ld.global" not in after
    assert conflicts(kernel, WANTED) * 5 < conflicts(kernel)


@pytest.mark.compile
def test_what_is_not_loaded_ahead_is_left_as_it_is() -> None:
    """Rows that are not aligned are loaded byte by byte."""
    sizes = {"M": 1024, "N": 1001, "K": 1024, "block_N": 128, "block_K": 128}
    types = {"dtype": "float8_e4m3fn", "out_dtype": "float32", "accum_dtype": "float32"}
    kernel = transpile(gemm, target="cuda:90", **sizes, **types)
    with pytest.raises(BlockedError, match="found 0 of 1 loads of `B_shared`"):
        patched(kernel, WANTED)


@pytest.mark.compile
def test_stores_are_wide() -> None:
    kernel = of_type("float8_e4m3fn", "float32", 128)
    stores = assembly(kernel)["ptx"].count("st.shared.b8")
    assert stores == 64
    assert "st.shared.b8" not in assembly(kernel, WANTED)["ptx"]


@pytest.mark.compile
def test_registers_may_be_given() -> None:
    # 4 by 1 elements a thread, 1 by 32 threads a warp.
    given = {
        "registers": (1, 0, 2, 0, 0, 32, 0, 64),
        "lanes": (0, 1, 0, 2, 0, 4, 0, 8, 0, 16),
        "warps": (4, 0, 8, 0, 16, 0),
    }
    kernel = of_type("float32", "float32", 32)
    ttgir = assembly(kernel, ("turned_operand", "B_shared", given))["ttgir"]
    assert "register = [[1, 0], [2, 0], [0, 32], [0, 64]]" in ttgir
    with pytest.raises(BlockedError, match="`warps` are rows and columns in a row, found None"):
        patched(kernel, ("turned_operand", "B_shared", {"registers": (), "lanes": ()}))


@pytest.mark.compile
def test_first_operand_is_turned_too() -> None:
    kernel = transpile(from_columns, target="cuda:90", M=1024, N=1024, K=1024)
    assert conflicts(kernel, ("turned_operand", "A_shared", {})) * 5 < conflicts(kernel)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("target", "reason"),
    [("cuda:80", "as they lie but on Hopper"), ("cuda:90", "found 0 of 1 loads of `B_shared`")],
)
def test_operands_that_are_not_turned_say_so(target: str, reason: str) -> None:
    with pytest.raises(BlockedError, match=reason):
        patched(product(target), WANTED)
