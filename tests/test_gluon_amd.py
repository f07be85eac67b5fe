"""Kernels in Gluon for AMD: what they compute, when copies are there, and the code they become."""

import ast
import re
from collections import Counter
from typing import Any

import pytest
import torch
from triton.experimental.gluon import language as gl

import tile2triton
import tile2triton.language as T
from tests import simulated
from tests.kernels.attention_programs import sliding_window_attention
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.whole_operands import attention
from tests.kernels.whole_operands import gemm as whole_gemm
from tests.proofs import AMD, proves
from tests.test_gluon import close, expected
from tile2triton import CompiledKernel, Schedule, compile_check, transpile
from tile2triton.kernel_report import KernelReport
from tile2triton.layouts.accesses import accesses
from tile2triton.layouts.issues import Issues
from tile2triton.simulation.check import broken_protocols
from tile2triton.ttgir_text.module import read_module

OLD, NEW = AMD
# Triton 3.6 has no stages: there both groups of warps go side by side.
HAS_STAGES = hasattr(gl.amd, "warp_pipeline_stage")


def specialised(groups: int = 2, **given: Any) -> Schedule:
    return Schedule(warp_specialize=groups, **given)


def product(target: str, groups: int = 2, **given: Any) -> CompiledKernel:
    sizes = {"M": 200, "N": 264, "K": 136, "block_M": 128, "block_N": 128, "block_K": 32}
    options = {**sizes, "threads": 256 * groups, **given}
    return transpile(gemm.scheduled(specialised(groups)), target=target, **options)


def attend(
    target: str, seq_len: int, is_causal: bool, groups: int = 2, dim: int = 64, **given: Any
) -> CompiledKernel:
    kernel = flash_attention.scheduled(specialised(groups))
    options = {"block_M": 128, "block_N": 64, "threads": 256 * groups, **given}
    return transpile(kernel, 1, 1, seq_len, dim, is_causal, layout="bhsd", target=target, **options)


@pytest.mark.parametrize("target", [OLD, NEW])
@pytest.mark.parametrize(
    ("M", "K", "stages", "swapped", "in_stages", "groups"),
    [
        (200, 136, 2, False, True, 2),
        (128, 320, 3, True, True, 2),
        (129, 40, 4, False, False, 2),
        (1, 32, 3, True, True, 2),
        (256, 360, 4, False, True, 2),
        (140, 96, 2, True, False, 1),
    ],
)
def test_products(
    M: int, K: int, stages: int, swapped: bool, in_stages: bool, groups: int, target: str
) -> None:
    kernel = product(target, groups, M=M, K=K, num_stages=stages, transpose_B=swapped)
    a = torch.randn(M, K, dtype=torch.float16)
    b = torch.randn(*((264, K) if swapped else (K, 264)), dtype=torch.float16)
    found = simulated.run(kernel, a, b, in_stages=in_stages)
    assert close(found, a.double() @ (b.double().T if swapped else b.double()))


@pytest.mark.parametrize("target", [OLD, NEW])
@pytest.mark.parametrize(
    ("seq_len", "is_causal", "stages", "in_stages"),
    [
        (330, False, 2, True),
        (330, True, 3, True),
        (128, True, 2, False),
        (40, True, 2, True),
        (513, True, 4, True),
    ],
)
def test_attention(
    seq_len: int, is_causal: bool, stages: int, in_stages: bool, target: str
) -> None:
    """Loops of no turn, of one and of many, one behind the other over the same rings."""
    kernel = attend(target, seq_len, is_causal, num_stages=stages)
    inputs = [torch.randn(1, 1, seq_len, 64, dtype=torch.float16) for _ in range(3)]
    found = simulated.run(kernel, *inputs, in_stages=in_stages)
    assert close(found, expected(*inputs, is_causal))


@pytest.mark.parametrize("target", [OLD, NEW])
def test_programs_on_whole_operands(target: str) -> None:
    schedule = specialised(tile={"m": 128, "n": 64}, warps=16, pipeline=2)
    inputs = [torch.randn(1, 1, 320, 64, dtype=torch.float16) for _ in range(3)]
    kernel = transpile(attention.scheduled(schedule), *inputs, "causal", target=target)
    assert close(simulated.run(kernel, *inputs), expected(*inputs, True))
    # Nothing of it was run on a chip, so that it is so where it is asked for only.
    assert "gluon.jit" not in transpile(attention, *inputs, "causal", target=target).triton_source


@tile2triton.kernel
@T.warp_specialize(2)
def shifted_product(A, B, bias):
    """tanh(Aᵀ B + bias), from a loop that starts behind the first rows."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((K, M), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    bias: T.Tensor((N,), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=512) as (bx, by):
        a = T.alloc_shared((32, 128), "bfloat16")
        b = T.alloc_shared((32, 128), "bfloat16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.Pipelined(1, T.ceildiv(K, 32), num_stages=3):
            T.copy(A[k * 32, by * 128], a)
            T.copy(B[k * 32, bx * 128], b)
            T.gemm(a, b, c, transpose_A=True)
        for i, j in T.Parallel(128, 128):
            c[i, j] = T.tanh(c[i, j] * 0.1 + bias[bx * 128 + j])
        T.copy(c, C[by * 128, bx * 128])
    return C


@pytest.mark.parametrize("target", [OLD, NEW])
def test_first_factors_are_transposed_and_results_go_on_in_registers(target: str) -> None:
    a, b = (torch.randn(168, one).bfloat16() for one in (136, 200))
    bias = torch.randn(200)
    kernel = transpile(shifted_product, a, b, bias, target=target)
    wanted = torch.tanh(a[32:].double().T @ b[32:].double() * 0.1 + bias)
    assert close(simulated.run(kernel, a, b, bias), wanted)


@pytest.mark.parametrize("target", [OLD, NEW])
def test_loops_that_start_anywhere(target: str) -> None:
    """A loop over masked blocks before and behind another, over the same rings."""
    schedule = specialised(tile={"m": 128, "n": 64}, warps=16, pipeline=3)
    inputs = [torch.randn(1, 1, 500, 64, dtype=torch.float16) for _ in range(3)]
    kernel = transpile(sliding_window_attention.scheduled(schedule), *inputs, 200, target=target)
    i = torch.arange(500)
    mask = (i[None] <= i[:, None]) & (i[None] > i[:, None] - 200)
    q, k, v = (one.double() for one in inputs)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    for in_stages in (True, False):
        assert close(simulated.run(kernel, *inputs, in_stages=in_stages), wanted)


@pytest.mark.parametrize("target", [OLD, NEW])
def test_rows_whose_number_the_launch_knows(target: str) -> None:
    """Offsets of 32 bits are from a program's first row on."""
    schedule = specialised(tile={"m": 128, "n": 128, "k": 32}, warps=16, pipeline=3)
    a, b = torch.randn(200, 96).half(), torch.randn(96, 264).half()
    kernel = transpile(whole_gemm.scheduled(schedule), a, b, target=target)
    assert "A + (by * block_M).to(gl.int64) * K" in kernel.triton_source
    assert close(simulated.run(kernel, a, b), a.double() @ b.double())


@pytest.mark.parametrize("rows", [16, 32])
def test_instructions_are_as_large_as_is_said(rows: int) -> None:
    schedule = specialised(matrix_instruction=rows)
    sizes = dict.fromkeys(("M", "N", "K"), 256)
    kernel = transpile(gemm.scheduled(schedule), threads=512, target=NEW, **sizes)
    assert f"AMDMFMALayout(4, [{rows}, {rows}, {512 // rows}]" in kernel.triton_source


BROKEN = {
    # A wait that leaves the copies of the next turn under way.
    "early": (NEW, "wait_group(stages - 2)", "wait_group(stages - 1)", "before it is loaded"),
    # It ends the copies of one group of warps, and the other one reads them in the same stage.
    "late": (
        NEW,
        "        cdna4.async_copy.wait_group(stages - 2)\n        with warp_stage('products'",
        "        with warp_stage('products'",
        "before it is loaded",
    ),
    "slot": (NEW, "(k + (stages - 1)) % stages", "k % stages", "while it is read"),
    "end": (NEW, "    cdna4.async_copy.wait_group(0)\n", "", "copies are under way"),
    # Stored where this turn reads, or the one after the next.
    "stored": (OLD, "(k + (stages - 1)) % stages", "k % stages", "before it is loaded"),
    "ahead": (OLD, ".index(i).store(", ".index(0).store(", "before it is loaded"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_faults_of_copies_are_found(fault: str) -> None:
    target, taken, put, said = BROKEN[fault]
    tree, facts = product(target, K=1024, num_stages=4).lowered_for(target)
    assert broken_protocols(tree, facts) == {}
    text = ast.unparse(ast.fix_missing_locations(tree))
    assert taken in text
    found = broken_protocols(ast.parse(text.replace(taken, put)), facts)
    assert said in found["gemm_kernel"]


def test_rows_behind_the_end_of_a_tensor_are_found() -> None:
    kernel = product(NEW, transpose_B=True)
    tree, facts = kernel.lowered_for(NEW)
    text = ast.unparse(ast.fix_missing_locations(tree)).replace("(offs_m_lanes[:, None] < M) &", "")
    kernel.lowered_for = lambda target: (ast.parse(text), facts)  # type: ignore[method-assign]
    with pytest.raises(tile2triton.simulation.ProtocolError, match="accessed outside"):
        simulated.run(kernel, torch.randn(200, 136).half(), torch.randn(264, 136).half())


def reason(kernel: CompiledKernel) -> str:
    """Why a kernel is left in Triton."""
    (hint,) = (one for one in kernel.lowered_facts.hint_report if "specialize" in one.construct)
    assert hint.how == "none" and "gluon.jit" not in kernel.triton_source
    return hint.detail


@tile2triton.kernel
@T.warp_specialize(1)
def squared(A, B):
    """2 A (A B)."""
    A: T.Tensor((128, 128), "float16")
    B: T.Tensor((128, 128), "float16")
    C = T.empty((128, 128), "float32")
    with T.Kernel(1, threads=256):
        a = T.alloc_shared((128, 128), "float16")
        b = T.alloc_shared((128, 128), "float16")
        square = T.alloc_fragment((128, 128), "float32")
        half = T.alloc_fragment((128, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.copy(A, a)
        T.clear(c)
        for _ in T.serial(2):
            T.copy(B, b)
            T.gemm(a, b, square, clear_accum=True)
            T.copy(square, half)
            T.gemm(a, half, c)
        T.copy(c, C)
    return C


def test_what_has_no_form_stays_in_triton() -> None:
    assert "makes threads=512, not 256" in reason(product(NEW, threads=256))
    assert "3 groups of warps" in reason(product(NEW, 3, threads=512))
    assert "elements of 8 bits" in reason(product(NEW, dtype="float8_e4m3fn", block_K=64))
    assert "no multiples of 16 bytes" in reason(product(OLD, N=263))
    assert "no multiples of 16 bytes" in reason(product(NEW, K=132))
    assert "of which there are 65536" in reason(product(OLD, block_K=128))
    assert "2 GiB, in which rows move" in reason(product(NEW, N=1 << 20, K=1 << 12))
    assert "no part each" in reason(product(NEW, block_M=16, block_N=64, block_K=256))
    wide = torch.empty(128, 128, dtype=torch.float16)
    assert "`half` is multiplied, which the loop does not load" in reason(
        transpile(squared, wide, wide, target=NEW)
    )
    # What stays in Triton is what it would be without the annotation.
    sizes = {"M": 256, "N": 256, "K": 256, "threads": 256}
    plain = transpile(gemm, target=NEW, **sizes)
    asked = transpile(gemm.scheduled(specialised()), target=NEW, **sizes)
    assert asked.triton_source == plain.triton_source


def test_tensors_on_the_cpu_run_plain_triton() -> None:
    inputs = [torch.randn(1, 1, 100, 64, dtype=torch.float16) for _ in range(3)]
    kernel = attend(NEW, 100, True)
    assert "warp_stage" in kernel.triton_source
    assert close(kernel(*inputs), expected(*inputs, True))


def compiled(*kernels: CompiledKernel) -> list[KernelReport]:
    jobs = [(one.triton_source, one.lowered_facts, one.target) for one in kernels]
    reports = compile_check.check_all(jobs, is_listed=True)
    assert all(one.problem is None and one.spills == 0 for one in reports)
    return reports


def loops(report: KernelReport) -> list[list[str]]:
    """The instructions of each loop with matrix instructions that others are not in."""
    text = report.listing["machine"]
    labels = {one[1]: one.start() for one in re.finditer(r"^(\.LBB\d+_\d+):", text, re.MULTILINE)}
    jumps = [
        (labels[one[1]], one.start()) for one in re.finditer(r"s_c?branch\w* (\.LBB\w+)", text)
    ]
    back = [(start, stop) for start, stop in jumps if start < stop and "v_mfma" in text[start:stop]]
    return [
        re.findall(r"^\s+([a-z]\w+.*)$", text[start:stop], re.MULTILINE)
        for start, stop in back
        if not any(start <= a and b <= stop and (a, b) != (start, stop) for a, b in back)
    ]


def counts(body: list[str]) -> dict[str, int]:
    """How often instructions that matter stand in a loop."""
    kinds = {
        "mfma": r"v_mfma",
        "lds": r"buffer_load_dwordx4 .* lds",
        "load": r"buffer_load_dwordx4 (?!.* lds)",
        "read_b128": r"ds_read_b128",
        "read_turned": r"ds_read_b64_tr_b16",
        "write_b128": r"ds_write_b128",
        "narrow": r"ds_read_u|ds_write_b16|ds_write_b8|buffer_load_(?:dword |ushort)",
        "barrier": r"s_barrier",
        "priority": r"s_setprio",
    }
    found = Counter(kind for one in body for kind, text in kinds.items() if re.match(text, one))
    return dict(found)


def conflicts(report: KernelReport) -> set[tuple[int, int]]:
    """For each access to shared memory: wavefronts, and those without conflicts."""
    found: set[tuple[int, int]] = set()
    for access in accesses(read_module(report.listing["ttgir"]), report.target):
        assert isinstance(access.made, Issues), access.reason
        found.add((access.made.simulated, access.made.ideal))
    return found


def without_conflicts(report: KernelReport) -> bool:
    found = conflicts(report)
    return bool(found) and all(one == ideal for one, ideal in found)


LARGE = {"M": 4096, "N": 4096, "K": 4096, "block_M": 256, "block_N": 256, "block_K": 32}


@pytest.mark.compile
def test_code_of_products_has_two_stages_a_turn() -> None:
    """16 bytes a copy, a load, and a read; all copies past registers on gfx950, none on gfx942."""
    stages = {"barrier": 2, "priority": 2} if HAS_STAGES else {"barrier": 1}
    newer, turned, older = compiled(
        product(NEW, **LARGE, num_stages=4, transpose_B=True),
        product(NEW, **LARGE, num_stages=4),
        product(OLD, **LARGE, num_stages=3, transpose_B=True),
    )
    twin = transpile(gemm, **LARGE, threads=512, num_stages=4, transpose_B=True, target=NEW)
    (plain,) = compile_check.check_all([(twin.triton_source, twin.lowered_facts, NEW)])
    (body,) = loops(newer)
    assert counts(body) == {"mfma": 32, "lds": 4, "read_b128": 12, **stages}
    # Two turns of copies stay under way, of four for each lane.
    assert re.findall(r"vmcnt\(\d+\)", "\n".join(body)) == ["vmcnt(8)"]
    (body,) = loops(turned)
    assert counts(body) == {"mfma": 32, "lds": 4, "read_b128": 8, "read_turned": 8, **stages}
    (body,) = loops(older)
    if not HAS_STAGES:
        # One between what a turn stores and the next one reads, and one the other way.
        stages["barrier"] = 2
    assert counts(body) == {"mfma": 64, "load": 4, "read_b128": 12, "write_b128": 4, **stages}
    assert without_conflicts(newer) and without_conflicts(turned) and without_conflicts(older)
    # Plain Triton reads factors several times, and leaves the order to the compiler.
    assert "s_setprio" not in plain.instructions and plain.instructions["ds_read"] > 12


@pytest.mark.compile
@pytest.mark.skipif(not HAS_STAGES, reason="Triton 3.6 has no stages")
@proves("`T.warp_specialize(2)`", on=AMD)
def test_code_of_attention_has_four_stages_a_turn(target: str) -> None:
    """Warps multiply while others compute; what is read has come before the slot is given back."""
    (report,) = compiled(attend(target, 4096, True, dim=128))
    assert without_conflicts(report)
    both = loops(report)
    assert len(both) == 2
    for body in both:
        found = counts(body)
        assert found["barrier"] == found["priority"] == 4
        assert found["mfma"] == (32 if target == NEW else 64)
        assert found.get("lds", 0) + found.get("load", 0) == 4 and "narrow" not in found
        groups: list[list[str]] = [[]]
        for one in body:
            groups.append([]) if one.startswith("s_barrier") else groups[-1].append(one)
        memory, products, vectors, sums = groups[:4]
        assert any("ds_read" in one for one in memory) and any("ds_read" in one for one in vectors)
        assert any("v_exp" in one for one in vectors)
        assert not any("v_mfma" in one for one in (*memory, *vectors))
        assert all(any("v_mfma" in one for one in stage) for stage in (products, sums))
        # The second factor is there, or the wait before the last stage says so.
        assert [one for one in vectors if "lgkmcnt(0)" in one]


@pytest.mark.compile
def test_code_of_one_group_has_one_barrier_a_turn() -> None:
    (report,) = compiled(product(NEW, 1, M=4096, N=4096, K=4096, num_stages=3))
    (body,) = loops(report)
    found = counts(body)
    assert found["barrier"] == 1 and "priority" not in found and without_conflicts(report)
