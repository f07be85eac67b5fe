"""Kernels in Gluon for AMD: what they compute, and when their copies are there."""

import ast
from typing import Any

import pytest
import torch

import tile2triton
from tests import simulated
from tests.gluon_amd_programs import ahead_by_hand, counted, shifted_product, squared
from tests.kernels.attention_programs import sliding_window_attention
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.whole_operands import attention
from tests.kernels.whole_operands import gemm as whole_gemm
from tests.proofs import AMD
from tests.test_gluon import close, expected
from tile2triton import CompiledKernel, Schedule, transpile
from tile2triton.simulation.check import broken_protocols

OLD, NEW = AMD


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


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("target", [OLD, NEW])
def test_indices_follow_numbers_that_go_on(target: str, before: bool) -> None:
    a, b = torch.randn(256, 256).half(), torch.randn(256, 128).half()
    kernel = transpile(counted, a, b, before, target=target)
    wanted, number = torch.zeros(256, 128, dtype=torch.double), 0
    for at in range(0, 256, 64):
        number += 4 if before else 1
        wanted += a[:, at : at + 64].double() @ b[at : at + 64].double()
        wanted = torch.where(torch.arange(128) * 2 + number < 20, wanted * 0.5, wanted)
    assert close(simulated.run(kernel, a, b), wanted)


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


@pytest.mark.parametrize("target", [OLD, NEW])
def test_tiles_and_places_of_other_turns_stay_in_triton(target: str) -> None:
    a, b = torch.randn(128, 256).half(), torch.randn(256, 128).half()
    kernel = transpile(ahead_by_hand, a, b, target=target)
    assert "`a` is of another turn" in reason(kernel)
    assert close(kernel(a, b), a.double() @ b.double())
    kernel = transpile(ahead_by_hand, a, b, by_number=False, target=target)
    assert "addresses need `place`, which goes on in each turn" in reason(kernel)


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
