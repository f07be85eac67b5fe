"""Layouts of shared tiles that are asked for: native, patches, or refused."""

import pytest

import tile2triton
import tile2triton.language as T
from tests.hinted import crossed, outcome, outcomes, padded, product
from tile2triton.tilelang.layouts import LAYOUTS

make_swizzled_layout = LAYOUTS["make_swizzled_layout"]


def usual(tile):
    return T.Layout((32, 64), lambda i, j: [i, j ^ (i % 8 * 8)])


def scattered(tile):
    return T.Layout((32, 64), lambda i, j: (i * 64 + j) * 5 % 2048)


ROWS = {
    (make_swizzled_layout, "cuda:80"): ("native", ""),
    (usual, "cuda:80"): ("native", ""),
    # Triton swizzles on AMD, but not so.
    (make_swizzled_layout, "hip:gfx942"): ("native", ""),
    (usual, "hip:gfx942"): ("none", ""),
    (padded, "cuda:80"): ("none", ""),
    (padded, "hip:gfx950"): ("patch", "padded"),
    (crossed, "cuda:80"): ("patch", "linear"),
    (crossed, "cuda:90"): ("none", ""),
    (scattered, "cuda:80"): ("none", ""),
    (LAYOUTS["make_linear_layout"], "cuda:80"): ("patch", "none"),
    (LAYOUTS["make_half_bank_swizzled_layout"], "cuda:90"): ("patch", "swizzled"),
}


@pytest.mark.parametrize(("layout", "target"), ROWS)
def test_layouts_of_shared_tiles_are_native_patches_or_refused(all_patches, layout, target):
    kernel, found = outcomes(product(layout=layout), target)
    (said,) = [value for key, value in found.items() if "annotate_layout" in key]
    how, kind = ROWS[layout, target]
    assert said[0] == how
    patches = [one for one in kernel.lowered_facts.patches if one.kind == "shared_layout"]
    assert [dict(one.arguments)["kind"] for one in patches] == ([kind] if kind else [])
    if kind == "padded":
        assert dict(patches[0].arguments) == {"kind": "padded", "interval": 64, "padding": 8}
    if kind == "linear":
        # Where each bit of a place in memory leads: 64 columns, then rows that change columns.
        offsets = dict(patches[0].arguments)["offsets"]
        assert offsets[:12] == (0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32)
        assert offsets[12:] == (1, 16, 2, 32, 4, 0, 8, 0, 16, 0)


def test_rows_are_not_permuted_in_more_bytes_than_they_have(all_patches):
    @tile2triton.kernel(out_idx=[1])
    def made(columns):
        @T.prim_func
        def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
            with T.Kernel(1, threads=128):
                a = T.alloc_shared((64, columns), "float16")
                c = T.alloc_fragment((64, 64), "float32")
                T.annotate_layout({a: LAYOUTS["make_half_bank_swizzled_layout"](a)})
                T.clear(c)
                for k in T.Pipelined(64 // columns, num_stages=2):
                    T.copy(A[0, k * columns], a)
                    T.gemm(a, a, c, transpose_B=True)
                T.copy(c, C)

        return main

    for columns, how in ((32, "patch"), (16, "none")):
        report = tile2triton.transpile(made, columns, target="cuda:80").lowered_facts.hint_report
        (said,) = [one for one in report if "annotate_layout" in one.construct]
        assert said.how == how
    assert said.detail == "its rows are 32 bytes long"


def test_a_tile_that_is_not_loaded_ahead_has_no_layout_to_patch(all_patches):
    assert outcome(product(layout=crossed, stages=0), "cuda:80", "annotate_layout")[0] == "none"


@pytest.mark.parametrize(
    ("layout", "target", "reason"),
    [
        (lambda i, j: i * 64 + (j ^ (i % 2)), "cuda:80", "groups of 2 are to stay together"),
        (lambda i, j: j * 32 + i, "cuda:80", "move 4 bytes of a row at once, best 16"),
        (lambda i, j: i * 69 + j, "hip:gfx942", "free behind a row: 8, not 5"),
    ],
)
def test_layouts_that_no_copy_can_write_are_refused(all_patches, layout, target, reason):
    made = product(layout=lambda tile: T.Layout((32, 64), layout))
    how, said = outcome(made, target, "annotate_layout")
    assert how == "none" and reason in said


def test_pairs_may_change_places(all_patches):
    made = product(layout=lambda tile: T.Layout((32, 64), lambda i, j: i * 64 + (j ^ i % 2 * 2)))
    assert outcome(made, "cuda:80", "annotate_layout")[0] == "patch"


@pytest.mark.parametrize("layout", ["rows", 3])
def test_what_is_no_layout_is_named(all_patches, layout):
    _, found = outcomes(product(layout=lambda tile: layout), "cuda:80")
    assert found[f"T.annotate_layout({{b: {layout!r}}})"] == (
        "none",
        f"{layout!r} is no layout of a shared tile that is known here",
    )
