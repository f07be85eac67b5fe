"""What kernels in Gluon for AMD become: instructions of a turn, barriers, conflicts of banks."""

import re
from collections import Counter

import pytest
from triton.experimental.gluon import language as gl

from tests.kernels.gemm import gemm
from tests.proofs import AMD, proves
from tests.test_gluon_amd import NEW, OLD, attend, product
from tile2triton import CompiledKernel, compile_check, transpile
from tile2triton.kernel_report import KernelReport
from tile2triton.layouts.accesses import accesses
from tile2triton.layouts.issues import Issues
from tile2triton.ttgir_text.module import read_module

# Triton 3.6 has no stages: there both groups of warps go side by side.
HAS_STAGES = hasattr(gl.amd, "warp_pipeline_stage")


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
