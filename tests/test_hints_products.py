"""Hints of products: how warps share them out, on which matrix instructions."""

import pytest
import torch

import tile2triton
from tests.hinted import CHAINS, PATCHES, chained, crossed, outcome, outcomes, product
from tile2triton import Schedule, pipeline


def check(made, device, M=128):
    """What the kernel computes, with hints, is the product."""
    a, b = torch.randn(M, 96).half().to(device), torch.randn(96, 64).half().to(device)
    kernel = tile2triton.transpile(made)
    torch.testing.assert_close(kernel(a, b), a.float() @ b.float(), rtol=2e-3, atol=2e-2)


def test_a_kernel_without_hints_says_nothing_of_copies_and_products():
    kernel, found = outcomes(product(), "cuda:80")
    assert all("T.copy" not in key for key in found)
    assert not kernel.lowered_facts.patches


POLICIES = {
    # target, threads, policy: how, without and with a patch.
    ("cuda:90", 128, "FullRow"): ("native", "native"),
    ("cuda:90", 128, "FullCol"): ("native", "native"),
    ("cuda:90", 256, "FullCol"): ("native", "native"),
    ("cuda:80", 128, "FullRow"): ("none", "patch"),
    ("cuda:80", 32, "FullRow"): ("native", "native"),
    ("cuda:100", 128, "FullRow"): ("none", "none"),
    ("hip:gfx942", 256, "FullCol"): ("none", "patch"),
    ("cuda:80", 128, "Square"): ("native", "native"),
}


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("target", "threads", "policy"), POLICIES)
def test_policies_are_patches_where_triton_does_otherwise(
    monkeypatch, target, threads, policy, is_there
):
    monkeypatch.setattr(pipeline, "patch_kinds", lambda: PATCHES if is_there else frozenset())
    kernel, found = outcomes(product(policy=policy, threads=threads), target)
    (said,) = [value for key, value in found.items() if "policy=" in key]
    assert said[0] == POLICIES[target, threads, policy][is_there]
    patches = [
        (one.kind, one.anchor, one.arguments)
        for one in kernel.lowered_facts.patches
        if one.construct
    ]
    wanted = [("gemm_warps", "c", (("policy", policy),))] if said[0] == "patch" else []
    assert patches == wanted


def test_a_policy_that_so_many_warps_cannot_follow_is_refused(all_patches):
    made = product(policy="FullRow", threads=512)
    # A matrix instruction of AMD's is 32 by 32, and one of NVIDIA's 16 by 8.
    refused = ("none", "8 warps cannot share out 64x64 in parts of at least 32x32")
    assert outcome(made, "hip:gfx942", "policy=") == refused
    assert outcome(made, "cuda:80", "policy=")[0] == "native"


def test_scores_of_attention_have_whole_rows_anyway(all_patches):
    from tests.kernels.flash_attention import flash_attention

    for target in ("cuda:80", "cuda:90"):
        sizes = {"batch": 1, "heads": 2, "seq_len": 256, "dim": 64, "is_causal": True}
        kernel = tile2triton.transpile(flash_attention, target=target, **sizes)
        report = kernel.lowered_facts.hint_report
        policies = [one for one in report if "policy" in one.construct]
        assert len(policies) == 2
        assert policies[0].how == "native"


@pytest.mark.parametrize(("target", "policy", "rows"), CHAINS)
def test_products_of_a_chain_share_rows_out_by_themselves(all_patches, target, policy, rows):
    kernel = tile2triton.transpile(chained, policy=policy, rows=rows, target=target)
    report = [one for one in kernel.lowered_facts.hint_report if "policy" in one.construct]
    assert tuple(one.how for one in report) == CHAINS[target, policy, rows]


SIZES = {
    # target, size: how the hint of the first product is applied, and a word of the reason.
    ("hip:gfx942", 16): ("patch", "`mfma_shape` of `s`: size=16"),
    ("hip:gfx950", 32): ("patch", "`mfma_shape` of `s`: size=32"),
    ("hip:gfx950", 8): ("none", "16 by 16 or 32 by 32, not 8"),
    ("hip:gfx942", "16"): ("none", "TileLang's passes"),
    ("cuda:90", 16): ("none", "sizes of their own"),
}


@pytest.mark.parametrize(("target", "size"), SIZES)
def test_sizes_of_matrix_instructions_are_those_of_one_product(all_patches, target, size):
    made = {"notes": {"matrix_instruction": size}, "policy": "Square"}
    kernel = tile2triton.transpile(chained, target=target, **made)
    (said,) = [one for one in kernel.lowered_facts.hint_report if "annotations" in one.construct]
    assert said.how == SIZES[target, size][0]
    assert SIZES[target, size][1] in said.detail


@pytest.mark.parametrize(("size", "how"), [(16, "native"), (32, "patch"), (64, "none")])
def test_sizes_of_the_only_product_are_options_of_the_launch(all_patches, size, how):
    """Where a schedule says 16 of the whole kernel, its product may differ."""
    made = product(annotations={"matrix_instruction": size, "note": 1})
    if size == 32:
        made = made.scheduled(Schedule(matrix_instruction=16))
    kernel, found = outcomes(made, "hip:gfx942")
    (said,) = [value for key, value in found.items() if "{'matrix_instruction'" in key]
    assert said[0] == how
    assert ("matrix_instr_nonkdim=16" in kernel.triton_source) == (size != 64)
    assert outcome(made, "hip:gfx942", "{'note'")[0] == "none"


def test_hinted_products_are_the_same_product(device):
    hints = {"eviction_policy": "evict_first", "coalesced_width": 4, "disable_tma": True}
    check(product(hints, policy="FullRow", layout=crossed), device)
    check(product(stages=0, order=[1, 2, 0], stage=[0, 0, 1]), device)
