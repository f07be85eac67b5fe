"""How warps share a product out that wgmma does not multiply as it is written."""

import pytest

import tile2triton
import tile2triton.language as T
from tests.hinted import PATCHES
from tile2triton import Schedule, pipeline


@tile2triton.kernel(out_idx=[2])
def plain(policy="FullRow", dtype="float16", total="float32", rows=128, threads=128, B_rows=64):
    """A product of one turn, of B as it lies."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, 64), dtype),
        B: T.Tensor((B_rows, 64), dtype),
        C: T.Tensor((rows, B_rows), total),
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((rows, 64), dtype)
            b = T.alloc_shared((B_rows, 64), dtype)
            c = T.alloc_fragment((rows, B_rows), total)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, policy=policy, clear_accum=True)
            T.copy(c, C)

    return main


WITHOUT_WGMMA = {
    ("cuda:90", "float16"): "native",
    ("cuda:90", "float64"): "patch",
    ("cuda:100", "float16"): "none",
    ("cuda:100", "float64"): "none",
}


@pytest.mark.parametrize(("target", "dtype"), WITHOUT_WGMMA)
def test_warps_share_out_what_wgmma_does_not_multiply_by_patch(all_patches, target, dtype):
    total = "float64" if dtype == "float64" else "float32"
    kernel = tile2triton.transpile(plain, target=target, dtype=dtype, total=total)
    (said,) = [one for one in kernel.lowered_facts.hint_report if "policy" in one.construct]
    assert said.how == WITHOUT_WGMMA[target, dtype]
    assert ("tcgen05" in said.detail) == ((target, dtype) == ("cuda:100", "float16"))


def test_warps_share_out_by_patch_where_a_schedule_takes_mma_sync(all_patches, monkeypatch):
    monkeypatch.setattr(pipeline, "patch_kinds", lambda: PATCHES | {"mma_version"})
    made = plain.scheduled(Schedule(mma_version=2))
    kernel = tile2triton.transpile(made, target="cuda:90")
    kinds = [one.kind for one in kernel.lowered_facts.patches]
    assert kinds == ["mma_version", "gemm_warps"]


@tile2triton.kernel(out_idx=[3])
def two_widths(policy="FullRow", is_changed=False, rows=128, threads=256):
    """The first product is turned round on Hopper: its second factor has shorter rows."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, 32), "float16"),
        B: T.Tensor((64, 32), "float16"),
        W: T.Tensor((64, 64), "float16"),
        D: T.Tensor((rows, 64), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((rows, 32), "float16")
            b = T.alloc_shared((64, 32), "float16")
            w = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((rows, 64), "float32")
            h = T.alloc_fragment((rows, 64), "float16")
            d = T.alloc_fragment((rows, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True, policy=policy)
            if is_changed:
                for i, j in T.Parallel(rows, 64):
                    c[i, j] = c[i, j] + 1.0
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, h)
            T.copy(W, w)
            T.gemm(h, w, d, transpose_B=True, clear_accum=True, policy=policy)
            T.copy(d, D)

    return main


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize(("policy", "of_transpose"), [("FullRow", "FullCol"), ("Square", "")])
def test_policies_of_transposes_are_exchanged(all_patches, policy, of_transpose, is_changed):
    """A sum that nothing else reads is kept as a transpose; others are turned back each time."""
    sizes = {"policy": policy, "is_changed": is_changed}
    kernel = tile2triton.transpile(two_widths, target="cuda:90", **sizes)
    assert "Turned round" in kernel.triton_source
    assert ("c_transposed" in kernel.triton_source) != is_changed
    written = f"T.gemm(a, b, c, policy={policy!r})"
    (said,) = [one for one in kernel.lowered_facts.hint_report if one.construct == written]
    patches = [one for one in kernel.lowered_facts.patches if one.construct == written]
    assert [dict(one.arguments)["policy"] for one in patches] == [of_transpose] * bool(of_transpose)
    assert said.how == ("patch" if of_transpose else "native")


def test_hopper_multiplies_float64_by_mma_sync_anyway(monkeypatch):
    monkeypatch.setattr(pipeline, "patch_kinds", lambda: PATCHES | {"mma_version"})
    made = plain.scheduled(Schedule(mma_version=2))
    kernel = tile2triton.transpile(made, target="cuda:90", dtype="float64", total="float64")
    report = kernel.lowered_facts.hint_report
    (said,) = [one for one in report if "mma_version" in one.construct]
    assert (said.how, said.detail) == ("none", "wgmma multiplies no float64")
