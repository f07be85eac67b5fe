"""Hints of copies: TMA or pointers, words for caches, widths, asynchronous copies."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.hinted import doubled, outcome, outcomes, product, twice

EVICTIONS = {
    ("cuda:80", "evict_first"): ("native", 'eviction_policy="evict_first"'),
    ("cuda:90", "evict_last"): ("native", 'eviction_policy="evict_last"'),
    ("hip:gfx942", "evict_first"): ("native", 'cache_modifier=".cg"'),
    ("hip:gfx942", "evict_last"): ("none", ""),
    ("cuda:80", "evict_normal"): ("native", ""),
    ("cuda:80", "evict_never"): ("none", ""),
}


@pytest.mark.parametrize(("target", "policy"), EVICTIONS)
def test_eviction_policies_are_words_of_loads(target, policy):
    hints = {"eviction_policy": policy, "disable_tma": True}
    kernel, found = outcomes(product(hints), target)
    how, text = EVICTIONS[target, policy]
    (said,) = [value for key, value in found.items() if "eviction_policy" in key]
    assert said[0] == how
    assert text in kernel.triton_source
    assert text or "evict" not in kernel.triton_source.partition("# The constants")[0].replace(
        f"eviction_policy='{policy}'", ""
    )


def test_a_copy_by_tma_has_no_eviction_policy():
    hints = {"eviction_policy": "evict_first"}
    assert outcome(product(hints), "cuda:90", "eviction_policy")[0] == "none"
    assert outcome(product(hints), "cuda:80", "eviction_policy")[0] == "native"


@pytest.mark.parametrize("hints", [{"disable_tma": True}, {"prefer_instruction": "cp_async"}])
def test_copies_go_by_pointers_where_that_is_asked_for(hints):
    kernel, found = outcomes(product(hints), "cuda:90")
    assert "a = tl.load(" in kernel.triton_source
    assert "b = B_desc.load(" in kernel.triton_source
    (said,) = [value for key, value in found.items() if next(iter(hints)) in key]
    assert said[0] == "native"


@pytest.mark.parametrize("prefer", [None, "tma"])
@pytest.mark.parametrize(("rows", "columns"), [(96, 64), (100, 48)])
def test_hinted_copies_copy_the_same(device, prefer, rows, columns):
    a = torch.randn(rows, columns).half().to(device)
    torch.testing.assert_close(doubled(4, prefer, rows, columns)(a), a * 2)


def test_tma_moves_what_no_product_reads_where_it_is_preferred():
    plain = tile2triton.transpile(doubled, target="cuda:90").triton_source
    assert "TensorDescriptor" not in plain
    preferred = tile2triton.transpile(doubled, prefer="tma", target="cuda:90").triton_source
    assert "A_desc.load(" in preferred
    assert "B_desc.store(" in preferred
    old = tile2triton.transpile(doubled, prefer="tma", target="cuda:80")
    assert {one.how for one in old.lowered_facts.hint_report if "tma" in one.construct} == {"none"}


WIDTHS = {
    (4, "cuda:80"): ("native", True),
    (8, "cuda:80"): ("native", False),
    (3, "cuda:80"): ("none", False),
    (4, "hip:gfx950"): ("none", False),
}


@pytest.mark.parametrize(("width", "target"), WIDTHS)
def test_widths_bound_what_a_thread_moves_at_once(width, target):
    kernel = tile2triton.transpile(doubled, width=width, target=target)
    how, is_said = WIDTHS[width, target]
    hints = [one for one in kernel.lowered_facts.hint_report if "coalesced" in one.construct]
    assert [one.how for one in hints] == [how, how]
    # The load and the store, or none of them.
    assert kernel.triton_source.count("tl.max_contiguous(") == (2 if is_said else 0)


def test_columns_are_no_rows_of_memory():
    @tile2triton.kernel(out_idx=[1])
    def turned():
        @T.prim_func
        def main(A: T.Tensor((64, 4, 1), "float16"), B: T.Tensor((64, 4, 1), "float16")):
            with T.Kernel(1, threads=128):
                tile = T.alloc_shared((64, 4), "float16")
                T.copy(A[:, :, 0], tile, coalesced_width=2)
                T.copy(tile, B[:, :, 0])

        return main

    assert outcome(turned, "cuda:80", "coalesced_width")[0] == "none"


def test_hints_of_one_copy_product_or_loop_are_of_no_other(all_patches):
    kernel = tile2triton.transpile(twice, target="cuda:80")
    patches = {one.kind: one for one in kernel.lowered_facts.patches}
    anchors = {kind: one.anchor for kind, one in patches.items()}
    assert anchors == {
        "async_outside_loop": "a (1 of 3)",
        "pipeline_schedule": "a (2 of 3)",
        "gemm_warps": "c (2 of 3)",
    }
    stages = dict(patches["pipeline_schedule"].arguments)["stages"]
    assert stages == ("a (2 of 3)", 0, "b (2 of 3)", 0, "c (2 of 3)", 1)
    assert '"a (1 of 3)",' in kernel.triton_source


def test_hinted_copies_of_one_tile_compute_the_same(device):
    a, b = torch.randn(64, 160).half().to(device), torch.randn(160, 64).half().to(device)
    torch.testing.assert_close(twice()(a, b), a.float() @ b.float(), rtol=2e-3, atol=4e-2)


def test_an_image_is_read_with_an_eviction_policy():
    @tile2triton.kernel(out_idx=[1])
    def made():
        @T.prim_func
        def main(A: T.Tensor((1, 8, 8, 16), "float16"), B: T.Tensor((64, 144), "float16")):
            with T.Kernel(4, threads=128) as bx:
                tile = T.alloc_shared((16, 16), "float16")
                for k in T.serial(9):
                    T.im2col(A, tile, bx, k, 3, 1, 1, 1, eviction_policy="evict_first")
                    T.copy(tile, B[bx * 16, k * 16])

        return main

    kernel, found = outcomes(made, "cuda:90")
    assert [how for key, (how, _) in found.items() if "im2col" in key] == ["native"]
    assert kernel.triton_source.count('eviction_policy="evict_first"') == 1


def test_an_asynchronous_copy_is_one_in_loops_and_a_patch_outside(all_patches):
    def made(is_looped):
        @tile2triton.kernel(out_idx=[1])
        def kernel():
            @T.prim_func
            def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
                with T.Kernel(1, threads=32):
                    tile = T.alloc_shared((32,), "float32")
                    for k in T.Pipelined(2 if is_looped else 1, num_stages=2):
                        if is_looped:
                            T.async_copy(A[k * 32], tile)
                            T.ptx_wait_group(0)
                            T.copy(tile, B[k * 32])
                    if not is_looped:
                        T.async_copy(A[0], tile)
                        T.ptx_wait_group(0)
                        T.copy(tile, B[0])

            return main

        return kernel

    assert outcome(made(True), "cuda:80", "T.async_copy")[0] == "native"
    assert outcome(made(False), "cuda:80", "T.async_copy")[0] == "patch"
    assert outcome(made(False), "hip:gfx942", "T.async_copy")[0] == "none"


PREFERENCES = {
    # What a copy asks for on a chip with TMA, and a word of what is said of the preference.
    "magic": ({"prefer_instruction": "magic"}, "none", "none of tma, cp_async and sync"),
    "both": ({"prefer_instruction": "tma", "disable_tma": True}, "none", "`disable_tma=True`"),
    "tma": ({"prefer_instruction": "tma"}, "native", "a TMA descriptor moves it"),
}


@pytest.mark.parametrize("case", PREFERENCES)
def test_preferences_are_applied_where_they_are_known_and_not_forbidden(case):
    hints, how, words = PREFERENCES[case]
    said = outcome(product(hints), "cuda:90", "prefer_instruction")
    assert said[0] == how and words in said[1]
