"""Compiling for targets that are not there: figures, limits, and compilers that fail."""

import ast
import dataclasses

import pytest

from rewrites.facts import Descriptor, Facts, Launch, Tensor
from tile2triton import worker_process
from tile2triton.compile_check import check, compile_module
from tile2triton.compile_job import jobs
from tile2triton.kernel_report import KernelReport
from tile2triton.targets import TARGETS, target

pytestmark = pytest.mark.compile

HEADER = """
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

"""
POINTERS = (
    HEADER
    + """
@triton.jit
def matmul_kernel(A, B, C, M, N, K, block_M: tl.constexpr, block_N: tl.constexpr,
                  block_K: tl.constexpr):
    m = tl.program_id(0) * block_M + tl.arange(0, block_M)
    n = tl.program_id(1) * block_N + tl.arange(0, block_N)
    acc = tl.zeros((block_M, block_N), tl.float32)
    for k0 in range(0, K, block_K):
        k = k0 + tl.arange(0, block_K)
        a = tl.load(A + m[:, None] * K + k[None, :])
        b = tl.load(B + k[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(C.dtype.element_ty))
"""
)
DESCRIPTORS = (
    HEADER
    + """
@triton.jit
def matmul_kernel(A_desc, B_desc, C, M, N, K, block_M: tl.constexpr, block_N: tl.constexpr,
                  block_K: tl.constexpr):
    m = tl.program_id(0) * block_M
    n = tl.program_id(1) * block_N
    acc = tl.zeros((block_M, block_N), tl.float32)
    for k in range(0, K, block_K):
        acc = tl.dot(A_desc.load([m, k]), B_desc.load([k, n]), acc)
    c = C + (m + tl.arange(0, block_M))[:, None] * N + (n + tl.arange(0, block_N))[None, :]
    tl.store(c, acc.to(C.dtype.element_ty))
"""
)
BROKEN = HEADER + "\n@triton.jit\ndef matmul_kernel(A):\n    tl.store(A, tl.arange(0, 3))\n"


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path))


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def gemm(
    block: int = 64, stages: int = 3, dtype: str = "float16", arguments: str = "A B C"
) -> Facts:
    """The facts of a GEMM of run-time sizes."""
    shape = (tree("M"), tree("K"))
    launch = Launch(
        "matmul_kernel",
        arguments=(*arguments.split(), "M", "N", "K"),
        constants=("block_M", "block_N", "block_K"),
        num_warps=4,
        num_stages=stages,
        descriptors=tuple(
            Descriptor(
                f"{name}_desc", name, (0, 1), (tree(f"block_{rows}"), tree(f"block_{columns}"))
            )
            for name, rows, columns in (("A", "M", "K"), ("B", "K", "N"))
        ),
    )
    return Facts(
        name="matmul",
        constants={"block_M": block, "block_N": block, "block_K": block},
        dims={"M": ("A", 0), "N": ("B", 1), "K": ("A", 1)},
        scalars=dict.fromkeys("MNK", "int32"),
        tensors={name: Tensor(name, shape, dtype) for name in "ABC"},
        launches=[launch],
    )


@pytest.mark.cold
def test_every_target_compiles_and_reports_what_it_takes():
    seen: list[KernelReport] = []
    reports = check(POINTERS, gemm(), progress=seen.append)
    assert [report.target for report in reports] == [row.name for row in TARGETS]
    assert {report.target for report in seen} == {row.name for row in TARGETS}
    multiply = ("mma.sync", "wgmma", "tcgen05.mma", "mfma", "mfma")
    for report in reports:
        assert report.ok, report.problem.render()
        assert report.kernel == "matmul_kernel"
        assert 16 <= report.registers <= 512
        assert report.spills == 0
        assert 0 < report.shared_memory <= report.shared_limit
        assert (report.num_warps, report.num_stages) == (4, 3)
    for report, instruction in zip(reports, multiply, strict=True):
        assert report.instructions[instruction] > 0
    assert reports[1].instructions["cp.async"] > 0


def test_descriptors_become_tma_where_there_is_tma():
    facts = gemm(arguments="A_desc B_desc C")
    hopper, amd = check(DESCRIPTORS, facts, ("cuda:90", "hip:gfx942"))
    assert hopper.ok, hopper.problem.render()
    assert hopper.instructions["TMA load"] > 0
    assert amd.ok, amd.problem.render()
    assert "TMA load" not in amd.instructions


def test_a_tile_too_large_says_the_limit_the_need_and_what_to_reduce():
    (report,) = compile_module(POINTERS, "matmul", "hip:gfx942", gemm(128, stages=4))
    assert not report.ok
    message = report.problem.render()
    assert report.problem.code == "T2T401"
    assert "65,536" in message
    assert f"{report.shared_memory:,} bytes" in message
    assert "block_M = 128" in message
    assert "num_stages" in message


def test_a_float8_that_the_target_lacks_is_named():
    (report,) = check(POINTERS, gemm(dtype="float8_e4m3fn"), ("cuda:80",))
    assert report.problem.code == "T2T405"
    assert "float8_e4m3fn" in report.problem.message
    assert "float8_e5m2" in report.problem.hint


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_other_operand_types(dtype):
    (report,) = check(POINTERS, gemm(dtype=dtype), ("cuda:90",))
    assert report.ok, report.problem.render()
    assert report.instructions["wgmma"] > 0


def test_a_kernel_that_does_not_compile_is_reported_and_others_go_on():
    facts = gemm()
    alone = dataclasses.replace(facts.launches[0], arguments=("A",), constants=(), descriptors=())
    facts.launches = [alone]
    reports = check(BROKEN, facts, ("cuda:80", "cuda:90"))
    assert [report.problem.code for report in reports] == ["T2T404", "T2T404"]
    assert "power of 2" in reports[0].problem.render()


def test_a_compiler_that_dies_is_reported_and_others_go_on():
    dying = POINTERS.replace("import torch\n", "import os\n", 1) + (
        "\n\ntry:\n"
        "    os.close(os.open(__file__ + '.once', os.O_CREAT | os.O_EXCL))\n"
        "except FileExistsError:\n"
        "    pass\n"
        "else:\n"
        "    os.abort()\n"
    )
    facts = gemm()
    reports = check(dying, facts, ("cuda:80", "cuda:90"))
    failed = [report for report in reports if not report.ok]
    assert len(failed) == 1
    assert "ended abruptly" in failed[0].problem.render()


def test_a_compiler_that_hangs_is_stopped():
    hanging = "import time\ntime.sleep(100)\n"
    (report,) = check(hanging, gemm(), ("cuda:90",), seconds=2)
    assert "took longer than 2 s" in report.problem.render()


def test_nothing_to_compile_starts_nothing(monkeypatch):
    monkeypatch.setattr(worker_process, "Family", None)
    facts = gemm()
    facts.launches = []
    assert check(POINTERS, facts) == []


def test_an_unknown_target_is_an_error():
    with pytest.raises(ValueError, match=r"'cuda:75'; known are cuda:80, cuda:90"):
        check(POINTERS, gemm(), ("cuda:75",))


def test_types_are_those_of_a_launch():
    facts = gemm(arguments="A_desc B C scale count flag")
    facts.scalars.update(scale="float16", count="int64", flag="bool")
    facts.tensors["B"] = Tensor("B", (), "bfloat16")
    facts.tensors["C"] = Tensor("C", (), "float8_e5m2")
    (job,) = jobs("path", facts, target("hip:gfx950"))
    assert job.types == (
        *("tensordesc<fp16[64, 64]>", "*bf16", "*fp8e5", "fp16", "i64", "i1"),
        *("i32", "i32", "i32"),
    )
    assert [name for name, _ in job.attributes[1]] == ["tt.divisibility", "tt.pointer_range"]
    assert job.attributes[3] == []
    assert list(job.constants.items()) == [("block_M", 64), ("block_N", 64), ("block_K", 64)]
