"""Hints where a kernel is unlike most: its only tile, operands that are cast, rows that jump."""

import pytest

import tile2triton
import tile2triton.language as T
from tests.compiled_hints import compiled, moved
from tests.hinted import product
from tile2triton import compile_check
from tile2triton.explaining.hints import judged_hints
from tile2triton.explaining.report import explained
from tile2triton.explaining.tiles import Tiles
from tile2triton.kernel_report import KernelReport
from tile2triton.patch_metadata import PatchFate, PatchMetadata

pytestmark = [pytest.mark.compile, pytest.mark.usefixtures("one_compiler")]


@tile2triton.kernel(out_idx=[2])
def unlooped(M=64, K=64, dtype="float16"):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype), B: T.Tensor((K, 64), dtype), C: T.Tensor((M, 64), "float32")
    ):
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), dtype)
            b = T.alloc_shared((64, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[bx * 64, 0], a, prefer_instruction="cp_async")
            T.copy(B[0, 0], b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C[bx * 64, 0])

    return main


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 16), ({"dtype": "float32"}, 16), ({"M": 50, "K": 40}, 16), ({"K": 42}, 4)],
)
def test_only_tile_of_a_kernel_is_copied_asynchronously(settings, size):
    said, _ = compiled(unlooped, "cuda:80", **settings)
    (hint,) = [one for one in said.hints if "prefer_instruction" in one.construct]
    assert hint.how == "patch", hint.detail
    assert any(name.startswith(f"cp.async {size} bytes") for name in moved(said))


def test_asynchronous_copies_of_less_than_four_bytes_are_refused():
    said, _ = compiled(unlooped, "cuda:80", K=63)
    (hint,) = [one for one in said.hints if "prefer_instruction" in one.construct]
    assert hint.how == "none" and "smaller than 4 bytes; calculated this as 2 bytes" in hint.detail


def test_warps_share_out_products_whose_operands_are_cast():
    # gfx942 multiplies these eight bits as sixteen.
    shares = {}
    for policy in ("Square", "FullRow"):
        made = product(policy=policy, dtype="float8_e4m3")
        said, _ = compiled(made, "hip:gfx942")
        (shares[policy],) = [row.warps for row in said.tiles.products]
    (hint,) = [one for one in said.hints if "policy" in one.construct]
    assert hint.how == "patch", hint.detail
    assert shares["FullRow"] == (2, 1) != shares["Square"]


def test_hints_of_kernels_that_fail_are_not_called_applied():
    # Ampere has no such elements.
    kernel = tile2triton.transpile(unlooped, target="cuda:80", dtype="float8_e4m3")
    text, facts = kernel.emitted_for("cuda:80")
    reports = compile_check.check_all([(text, facts, "cuda:80")], is_listed=True)
    (said,) = explained(text, facts, reports)
    assert "T2T405" in said.problem
    hows = {hint.how: hint.detail for hint in said.hints}
    assert hows == {"none": "the kernel fails on this target"}


def test_cached_kernel_whose_hint_stood_at_another_line_is_believed():
    _, facts = tile2triton.transpile(unlooped, target="cuda:80").emitted_for("cuda:80")
    (patch,), (launch,) = facts.patches, facts.launches
    fate = PatchFate(patch.kind, patch.anchor, {}, "line 1: before", False, "it was refused")
    report = KernelReport(launch.kernel, "cuda:80", None)
    said = judged_hints(facts, report, Tiles((), (), ()), PatchMetadata((fate,)))
    assert [(one.how, one.detail) for one in said if "prefer_instruction" in one.construct] == [
        ("none", "it was refused")
    ]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
@pytest.mark.parametrize("count", [24, 48])
def test_fewest_registers_that_can_be_written_fail_no_kernel(target, count):
    said, _ = compiled(product(statement=lambda: T.set_max_nreg(count, 1)), target)
    (hint,) = [one for one in said.hints if "max_nreg" in one.construct]
    assert hint.how == "native" or "registers a thread" in hint.detail
