"""Every kernel compiles and fits for the five targets, and uses what the target is bought for."""

import copy
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import triton

from rewrites.facts import Facts, Program
from tests import test_kernels_attention, test_kernels_elementwise, test_kernels_gemm
from tests import test_kernels_rows as rows
from tests.kernel_case import Case
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tile2triton import CompiledKernel, compile_check, compile_pool, targets, transpile
from tile2triton.compile_process import CompileProcess
from tile2triton.emit import emit
from tile2triton.kernel_report import KernelReport
from tile2triton.pipeline import lower

pytestmark = pytest.mark.compile

TARGETS = tuple(row.name for row in targets.TARGETS)
GEMM_CASES = {case.name: case for case in test_kernels_gemm.CASES}
ROW_CASES = {case.name: case for case in rows.CASES}
ELEMENTWISE_CASES = {case.name: case for case in test_kernels_elementwise.CASES}
ATTENTION_CASES = {case.name: case for case in test_kernels_attention.CASES}
CASES = (
    *(
        GEMM_CASES[f"{dtype}-{form}"]
        for dtype in ("float16", "bfloat16", "float32", "int8", "float8_e4m3fn", "float8_e5m2")
        for form in ("nn-dividing", "nt-ragged")
    ),
    *(GEMM_CASES[name] for name in ("relu-dividing", "split-3-ragged")),
    *(
        ROW_CASES[name]
        for name in (
            "softmax-bfloat16-ragged",
            "online-float16-ragged",
            "rms_norm-bfloat16-dividing",
            "layer_norm-float16-ragged",
        )
    ),
    *(
        ELEMENTWISE_CASES[name]
        for name in ("broadcast-float16-ragged", "gelu-bfloat16-dividing", "add-float32-321")
    ),
    *(
        ATTENTION_CASES[name]
        for name in (
            "float16-bshd-64-full-32x32",
            "float16-bhsd-75-causal-32x32",
            "bfloat16-bshd-75-causal-32x32",
            "linear-bfloat16-43",
        )
    ),
)


@pytest.fixture(scope="module", autouse=True)
def one_compiler() -> Iterator[None]:
    """Importing Triton takes longer than compiling: one process serves all tests of this file."""
    with CompileProcess() as process, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_pool, "CompileProcess", lambda: nullcontext(process))
        yield


def reports(kernel: CompiledKernel) -> list[KernelReport]:
    facts = Facts(**{name: copy.copy(value) for name, value in vars(kernel.program.facts).items()})
    tree = lower(Program(kernel.program.tree, facts), kernel.target)
    return compile_check.check(emit(tree, facts), facts, (kernel.target,))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernel_compiles_and_fits(case: Case, target: str) -> None:
    if "float8" in case.dtype and case.dtype not in targets.target(target).float8:
        pytest.skip(f"{target} has no {case.dtype}")
    if (case.dtype, target) == ("float8_e5m2", "cuda:80") and triton.__version__ < "3.7":
        pytest.skip("Triton 3.6 converts fp8 from sm_89 on only")
    for report in reports(case.transpiled(target)):
        assert report.ok, report.problem.render()


# The tiles that kernels have by default are for Hopper; AMD's chips have less shared memory.
MATRIX_UNITS = {
    "cuda:80": "mma.sync",
    "cuda:90": "wgmma",
    "cuda:100": "tcgen05.mma",
    "hip:gfx942": "mfma",
    "hip:gfx950": "mfma",
}
SMALL = {"block_M": 128, "block_N": 128, "block_K": 32, "num_stages": 2}


@pytest.mark.parametrize("target", TARGETS)
def test_gemm_runs_on_the_matrix_units(target: str) -> None:
    sizes = {"M": 4096, "N": 4096, "K": 4096}
    tile = {} if target.startswith("cuda") else SMALL
    (report,) = reports(transpile(gemm, target=target, **sizes, **tile))
    assert report.ok, report.problem.render()
    assert report.instructions.get(MATRIX_UNITS[target], 0) > 0
    assert report.spills == 0


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
def test_attention_loads_with_tma(target: str, is_causal: bool) -> None:
    kernel = transpile(flash_attention, 1, 16, 4096, 128, is_causal, target=target)
    (report,) = reports(kernel)
    assert report.ok, report.problem.render()
    assert report.instructions.get("TMA load", 0) > 0
    assert report.instructions.get(MATRIX_UNITS[target], 0) > 0
    assert report.spills == 0
