"""Persistent programs in Gluon: the producer goes on to the next tile while one is stored."""

import ast
from typing import Any

import pytest
import torch

from tests import simulated
from tests.kernels.gemm import gemm
from tests.kernels.values.block_scaled_gemm import GROUP, block_scaled_gemm
from tests.kernels.whole_operands import attention
from tests.kernels.whole_operands import gemm as whole_gemm
from tests.test_gluon import close, reason, specialised
from tile2triton import CompiledKernel, compile_check, transpile
from tile2triton.simulation.check import broken_protocols

# What they compute asks nothing of Triton's version.
pytestmark = pytest.mark.slow

TARGET = "cuda:90"
FP8 = torch.float8_e4m3fn
LARGE = {"M": 8192, "N": 8192, "K": 8192, "block_N": 256, "num_stages": 4, "transpose_B": True}


def product(consumers: int = 2, parts: int = 1, programs: Any = 3, **given: Any) -> CompiledKernel:
    schedule = specialised(consumers, persistent=programs, subtile=parts)
    options = {"block_M": 64, "block_N": 128, "threads": 128, "target": TARGET, **given}
    kernel = transpile(gemm.scheduled(schedule), **options)
    assert "for tile in range(" in kernel.triton_source
    assert "gluon.jit" in kernel.triton_source
    return kernel


CASES = [
    # Rows, columns, what is summed, consumers, stages, programs, parts.
    (200, 104, 72, 2, 2, 3, 1),
    (256, 256, 320, 2, 3, 1, 2),
    (200, 104, 72, 3, 2, 132, 1),
    (64, 192, 512, 1, 4, 2, 2),
    (640, 264, 24, 2, 4, 4, 4),
]


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(("M", "N", "K", "consumers", "stages", "programs", "parts"), CASES)
def test_products(
    M: int, N: int, K: int, consumers: int, stages: int, programs: int, parts: int, is_eager: bool
) -> None:
    """More tiles than programs and fewer; loops of one turn and of more than there are slots."""
    sizes = {"M": M, "N": N, "K": K, "block_K": 32, "num_stages": stages}
    kernel = product(consumers, parts, programs, **sizes)
    a, b = torch.randn(M, K, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16)
    assert close(simulated.run(kernel, a, b, is_eager=is_eager), a.double() @ b.double())


def scaled_inputs(M: int, N: int, K: int, device: str = "cpu") -> tuple[torch.Tensor, ...]:
    a, b = (torch.randn(rows, K, device=device).to(FP8) for rows in (M, N))
    a_scales = torch.rand(K // GROUP, M, device=device) + 0.5
    return a, b, a_scales, torch.rand(-(-N // GROUP), K // GROUP, device=device) + 0.5


def scaled_reference(inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    a, b, a_scales, b_scales = inputs
    left = a.double() * a_scales.double().T.repeat_interleave(GROUP, 1)
    columns = b_scales.double().repeat_interleave(GROUP, 0)[: len(b)]
    return left @ (b.double() * columns.repeat_interleave(GROUP, 1)).T


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("more", [{}, {"persistent": 2}])
def test_products_of_8_bits_with_scales(more: dict[str, int], is_eager: bool) -> None:
    inputs = scaled_inputs(200, 264, 384)
    schedule = specialised(**more)
    options = {"block_M": 64, "threads": 128, "out_dtype": "float32", "target": TARGET}
    kernel = transpile(block_scaled_gemm.scheduled(schedule), *inputs, **options)
    assert "gluon.jit" in kernel.triton_source
    assert close(simulated.run(kernel, *inputs, is_eager=is_eager), scaled_reference(inputs))


@pytest.mark.parametrize(("dtype", "said"), [("float8_e4m3fn", "does not lie along"), ("int8", "")])
def test_products_of_8_bits_that_wgmma_does_not_read(dtype: str, said: str) -> None:
    sizes = {"M": 256, "N": 256, "K": 256, "block_M": 64, "block_N": 128, "threads": 128}
    types = {"dtype": dtype, "accum_dtype": "int32" if dtype == "int8" else "float32"}
    kernel = transpile(gemm.scheduled(specialised()), target=TARGET, **sizes, **types)
    assert said in reason(kernel)


BROKEN = {
    # What is stored is overwritten while TMA reads it.
    "overwritten": ("        tma.store_wait(0)\n", ""),
    # Shared memory goes before TMA has read it.
    "ends early": ("\n    tma.store_wait(0)\n", "\n    pass\n"),
    # Turns begin anew with each tile, as the producer's do not.
    "turns": ("        pid_x = tile", "        A_shared_turn = 0\n        pid_x = tile"),
    # Each tile's first turn gives back what the last one of the tile before has given back.
    "returned twice": ("pred=k > 0", "pred=A_shared_turn >= 2"),
    # The producer takes other tiles than consumers do.
    "tiles": (
        "    turn = 0\n    for tile in range(gl.program_id(0)",
        "    turn = 0\n    for tile in range(1 + gl.program_id(0)",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_faults_of_protocols_are_found(fault: str) -> None:
    kernel = product(programs=1, M=256, N=256, K=256, num_stages=3)
    tree, facts = kernel.lowered_for(TARGET)
    assert broken_protocols(tree, facts) == {}
    taken, put = BROKEN[fault]
    text = ast.unparse(ast.fix_missing_locations(tree))
    assert taken in text
    found = broken_protocols(ast.parse(text.replace(taken, put)), facts)
    assert found.keys() == {"gemm_kernel"}


def test_programs_that_stay_persistent_in_triton() -> None:
    """What has no form in Gluon is what it would be without consumers."""
    schedule = specialised(persistent=True)
    sizes = {"M": 256, "N": 256, "K": 256, "threads": 64, "target": TARGET}
    kernel = transpile(gemm.scheduled(schedule), **sizes)
    assert "four warps" in reason(kernel) and "for tile in tl.range(" in kernel.triton_source


@pytest.mark.compile
@pytest.mark.parametrize("parts", [2, 4])
def test_four_stages_fit_beside_parts_of_a_tile(parts: int) -> None:
    """The halves of a tile stay in the registers they are in."""
    made = product(parts=parts, programs=True, **LARGE)
    (report,) = compile_check.check_all([(made.triton_source, made.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0
    # One loop of four instructions for each consumer.
    assert report.instructions["wgmma"] == 2 * 4
    assert report.instructions["TMA store"] == 2 * parts


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("M", "N", "K", "parts", "programs"),
    [
        (4096, 4096, 512, 2, True),
        (1000, 264, 80, 4, 3),
        (200, 104, 8, 1, 1),
        (2000, 3000, 4096, 2, 132),
    ],
)
def test_products_on_cuda(M: int, N: int, K: int, parts: int, programs: Any, swapped: bool) -> None:
    """A hundred runs with the same bits."""
    kernel = product(2, parts, programs, M=M, N=N, K=K, transpose_B=swapped, num_stages=4)
    a = torch.randn(M, K, dtype=torch.float16, device="cuda")
    b = torch.randn(*((N, K) if swapped else (K, N)), dtype=torch.float16, device="cuda")
    found = kernel(a, b)
    assert close(found.double(), a.double() @ (b.double().T if swapped else b.double()))
    assert all(torch.equal(found, kernel(a, b)) for _ in range(100))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("more", [{}, {"persistent": True}])
@pytest.mark.parametrize(("M", "N", "K"), [(4096, 4096, 1024), (1000, 264, 384), (64, 128, 128)])
def test_products_of_8_bits_on_cuda(M: int, N: int, K: int, more: dict[str, Any]) -> None:
    inputs = scaled_inputs(M, N, K, "cuda")
    options = {"block_M": 64, "threads": 128, "num_stages": 4, "out_dtype": "float32"}
    kernel = transpile(block_scaled_gemm.scheduled(specialised(**more)), *inputs, **options)
    found = kernel(*inputs)
    assert close(found.double(), scaled_reference(inputs))
    assert all(torch.equal(found, kernel(*inputs)) for _ in range(100))


@pytest.mark.parametrize("rows", [64, 200, 330])
def test_programs_on_whole_operands_do_the_work_of_several(rows: int) -> None:
    """How many tiles there are the launch knows."""
    schedule = specialised(
        persistent=2, tile={"m": 64, "n": 64, "k": 32}, warps=4, pipeline=2, subtile=2
    )
    a, b = torch.randn(rows, 96, dtype=torch.float16), torch.randn(96, 136, dtype=torch.float16)
    kernel = transpile(whole_gemm.scheduled(schedule), a, b, target=TARGET)
    assert "gl.num_programs(0)" in kernel.triton_source
    assert close(simulated.run(kernel, a, b), a.double() @ b.double())


def test_attention_on_whole_operands_stays_persistent_in_triton() -> None:
    schedule = specialised(persistent=True, tile={"m": 64, "n": 64}, warps=4, pipeline=2)
    inputs = [torch.empty(1, 2, 320, 32, dtype=torch.float16)] * 3
    kernel = transpile(attention.scheduled(schedule), *inputs, target=TARGET)
    assert "`Q_shared` is loaded once for each tile of a program" in reason(kernel)
    assert "for tile in tl.range(" in kernel.triton_source
