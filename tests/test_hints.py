"""What becomes of the hints of a tile program: once for each, on each target, with its reason."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton import Schedule, pipeline
from tile2triton.tilelang.layouts import LAYOUTS

PATCHES = frozenset(
    {
        "gemm_warps",
        "load_latency",
        "pipeline_schedule",
        "shared_layout",
        "async_outside_loop",
        "mfma_shape",
    }
)
make_swizzled_layout = LAYOUTS["make_swizzled_layout"]


@pytest.fixture
def all_patches(monkeypatch):
    monkeypatch.setattr(pipeline, "patch_kinds", lambda: PATCHES)


def product(
    hints=None,
    policy="Square",
    layout=None,
    threads=128,
    M=128,
    stages=2,
    annotations=None,
    statement=None,
    dtype="float16",
    **loop,
):
    """A matrix product whose kernel has these hints."""
    copies = hints or {}

    @tile2triton.kernel(out_idx=[2])
    def made(N=64, K=96, tile=32):
        @T.prim_func
        def main(
            A: T.Tensor((M, K), dtype),
            B: T.Tensor((K, N), dtype),
            C: T.Tensor((M, N), "float32"),
        ):
            with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=threads) as (bx, by):
                a = T.alloc_shared((64, tile), dtype)
                b = T.alloc_shared((tile, 64), dtype)
                c = T.alloc_fragment((64, 64), "float32")
                if layout is not None:
                    T.annotate_layout({b: layout(b)})
                if statement is not None:
                    statement()
                T.clear(c)
                for k in T.Pipelined(T.ceildiv(K, tile), num_stages=stages, **loop):
                    T.copy(A[by * 64, k * tile], a, **copies)
                    T.copy(B[k * tile, bx * 64], b)
                    T.gemm(a, b, c, policy=policy, annotations=annotations)
                T.copy(c, C[by * 64, bx * 64])

        return main

    return made


def outcomes(made, target):
    """How each hint is applied and its words, by a part of how it is written."""
    kernel = tile2triton.transpile(made, target=target)
    facts = kernel.lowered_facts
    keys = [(one.construct, one.line) for one in facts.hint_report]
    assert len(keys) == len(set(keys))
    assert {one.target for one in facts.hint_report} == {target}
    return kernel, {one.construct: (one.how, one.detail) for one in facts.hint_report}


def outcome(made, target, part):
    _, found = outcomes(made, target)
    (match,) = [value for key, value in found.items() if part in key]
    return match


def check(made, device, M=128):
    """What the kernel computes, with hints, is the product."""
    a, b = torch.randn(M, 96).half().to(device), torch.randn(96, 64).half().to(device)
    kernel = tile2triton.transpile(made)
    torch.testing.assert_close(kernel(a, b), a.float() @ b.float(), rtol=2e-3, atol=2e-2)


def test_a_kernel_without_hints_says_nothing_of_copies_and_products():
    kernel, found = outcomes(product(), "cuda:80")
    assert all("T.copy" not in key for key in found)
    assert not kernel.lowered_facts.patches


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


@tile2triton.kernel(out_idx=[1])
def doubled(width=None, prefer=None, rows=100, columns=64):
    @T.prim_func
    def main(A: T.Tensor((rows, columns), "float16"), B: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(rows, 16), threads=128) as bx:
            tile = T.alloc_shared((16, columns), "float16")
            T.copy(A[bx * 16, 0], tile, coalesced_width=width, prefer_instruction=prefer)
            for i, j in T.Parallel(16, columns):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[bx * 16, 0], coalesced_width=width, prefer_instruction=prefer)

    return main


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


def test_scores_of_attention_have_whole_rows_anyway(all_patches):
    from tests.kernels.flash_attention import flash_attention

    for target in ("cuda:80", "cuda:90"):
        sizes = {"batch": 1, "heads": 2, "seq_len": 256, "dim": 64, "is_causal": True}
        kernel = tile2triton.transpile(flash_attention, target=target, **sizes)
        report = kernel.lowered_facts.hint_report
        policies = [one for one in report if "policy" in one.construct]
        assert len(policies) == 2
        assert policies[0].how == "native"


@tile2triton.kernel(out_idx=[2])
def chained(policy="FullCol", rows=64, width=128, depth=64, threads=256, notes=None):
    """Scores and what they weight, on few rows, as decoding has it."""

    @T.prim_func
    def main(
        Q: T.Tensor((rows, width), "float16"),
        K: T.Tensor((2 * depth, width), "float16"),
        C: T.Tensor((rows, width), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            q = T.alloc_shared((rows, width), "float16")
            k = T.alloc_shared((depth, width), "float16")
            s = T.alloc_fragment((rows, depth), "float32")
            p = T.alloc_fragment((rows, depth), "float16")
            o = T.alloc_fragment((rows, width), "float32")
            T.copy(Q, q)
            T.clear(o)
            for i in T.Pipelined(2, num_stages=2):
                T.copy(K[i * depth, 0], k)
                T.gemm(
                    q, k, s, transpose_B=True, clear_accum=True, policy=policy, annotations=notes
                )
                for x, y in T.Parallel(rows, depth):
                    p[x, y] = s[x, y] * 0.125
                T.gemm(p, k, o, policy=policy)
            T.copy(o, C)

    return main


CHAINS = {
    # Under wgmma, what is multiplied again has whole rows; the other has as many as there are.
    ("cuda:90", "FullCol", 64): ("patch", "native"),
    ("cuda:90", "FullRow", 128): ("native", "native"),
    # Under mma.sync, a chain has one layout, of any of its products.
    ("cuda:80", "FullCol", 64): ("patch", "patch"),
    ("cuda:80", "FullRow", 128): ("native", "native"),
    ("hip:gfx942", "FullRow", 128): ("native", "native"),
    ("hip:gfx950", "FullCol", 64): ("patch", "patch"),
}


@pytest.mark.parametrize(("target", "policy", "rows"), CHAINS)
def test_products_of_a_chain_share_rows_out_by_themselves(all_patches, target, policy, rows):
    kernel = tile2triton.transpile(chained, policy=policy, rows=rows, target=target)
    report = [one for one in kernel.lowered_facts.hint_report if "policy" in one.construct]
    assert tuple(one.how for one in report) == CHAINS[target, policy, rows]


@tile2triton.kernel(out_idx=[2])
def twice(policy="FullRow", order=(0, 1, 2), stage=(0, 0, 1)):
    """A tile that is loaded three times, and has another hint each time, or none."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 160), "float16"),
        B: T.Tensor((160, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.async_copy(A[0, 128], a)
            T.ptx_wait_group(0)
            T.copy(B[128, 0], b)
            T.gemm(a, b, c)
            for k in T.Pipelined(2, order=list(order), stage=list(stage)):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c, policy=policy)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, 64 + k * 32], a)
                T.copy(B[64 + k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return main


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


LOOPS = {
    # order, stage: what becomes of them with patches, and without any on AMD.
    ((1, 2, 0), (0, 0, 1)): ("native", "native", 2),
    ((1, 2, 0), (0, 0, 2)): ("native", "native", 3),
    ((1, 2, 0), (0, 1, 2)): ("patch", "none", 3),
    ((0, 1, 2), (0, 0, 1)): ("patch", "none", 2),
    ((0, 1), (0, 1)): ("none", "none", 2),
}


# num_stages, order, stage: what becomes of the schedule on sm_80, and its patches.
BESIDE_STAGES = {
    (2, (1, 2, 0), (0, 0, 1)): ("native", 0),
    (4, (1, 2, 0), (0, 0, 1)): ("patch", 2),
    (4, (1, 2, 0), (0, 2, 3)): ("patch", 1),
    (1, (1, 2, 0), (0, 0, 3)): ("none", 0),
    (2, (1, 2, 0), (0, 0, 3)): ("none", 0),
    (3, (1, 2, 0), (0, 0, 0)): ("patch", 2),
}


@pytest.mark.parametrize(("stages", "order", "stage"), BESIDE_STAGES)
def test_stages_of_statements_are_compared_with_those_of_the_loop(
    all_patches, stages, order, stage
):
    made = product(stages=stages, order=list(order), stage=list(stage))
    kernel, found = outcomes(made, "cuda:80")
    (said,) = [value for key, value in found.items() if "stage=" in key]
    assert (said[0], len(kernel.lowered_facts.patches)) == BESIDE_STAGES[stages, order, stage]
    assert said[0] != "native" or f"num_stages={stages})" in kernel.triton_source


@pytest.mark.parametrize(("order", "stage"), LOOPS)
def test_stages_of_statements_are_stages_of_the_loop_or_patches(all_patches, order, stage):
    made = product(stages=0, order=list(order), stage=list(stage))
    on_nvidia, on_amd, count = LOOPS[order, stage]
    kernel, found = outcomes(made, "cuda:80")
    (said,) = [value for key, value in found.items() if "stage=" in key]
    assert said[0] == on_nvidia
    assert f"num_stages={count})" in kernel.triton_source
    assert outcome(made, "hip:gfx942", "stage=")[0] == on_amd
    kinds = [(one.kind, one.anchor, one.arguments) for one in kernel.lowered_facts.patches]
    if stage == (0, 1, 2):
        assert kinds == [("load_latency", "b", (("stages", 2),))]
    elif on_nvidia == "patch":
        stages, orders = ("a", 0, "b", 0, "c", 1), ("a", 0, "b", 1, "c", 2)
        assert kinds == [("pipeline_schedule", "a", (("stages", stages), ("orders", orders)))]


def padded(tile):
    return T.Layout((32, 64), lambda i, j: i * 72 + j)


def usual(tile):
    return T.Layout((32, 64), lambda i, j: [i, j ^ (i % 8 * 8)])


def crossed(tile):
    return T.Layout((32, 64), lambda i, j: [i, j ^ (i % 4 * 16)])


def scattered(tile):
    return T.Layout((32, 64), lambda i, j: (i * 64 + j) * 5 % 2048)


ROWS = {
    (make_swizzled_layout, "cuda:80"): ("native", ""),
    (usual, "cuda:80"): ("native", ""),
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


def test_a_layout_that_is_asked_for_is_not_overruled_by_inference(all_patches):
    kinds = {
        layout: {
            one.kind
            for one in tile2triton.transpile(
                product(layout=layout), target="hip:gfx950"
            ).lowered_facts.patches
        }
        for layout in (None, padded)
    }
    assert kinds[padded] == {"shared_layout"}
    assert "shared_layout" not in kinds[None]


def test_a_tile_that_is_not_loaded_ahead_has_no_layout_to_patch(all_patches):
    assert outcome(product(layout=crossed, stages=0), "cuda:80", "annotate_layout")[0] == "none"


def test_schedules_of_tcgen05_are_tritons(all_patches):
    made = product(stages=0, order=[0, 1, 2], stage=[0, 0, 1])
    assert outcome(made, "cuda:100", "stage=")[0] == "none"


def registers(statement, threads=128):
    @tile2triton.kernel(out_idx=[1])
    def made():
        @T.prim_func
        def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(2, threads=threads) as bx:
                tile = T.alloc_fragment((32,), "float32")
                statement()
                T.copy(A[bx * 32], tile)
                T.copy(tile, B[bx * 32])

        return main

    return made


STATEMENTS = {
    "limit": (lambda: T.set_max_nreg(168, 1), "cuda:90", "native", "maxnreg=168"),
    "limit on AMD": (lambda: T.set_max_nreg(168, 1), "hip:gfx942", "none", ""),
    "loads": (lambda: T.annotate_producer_reg_dealloc(24), "cuda:90", "none", ""),
    "computes": (lambda: T.annotate_consumer_reg_alloc(240), "cuda:90", "native", ""),
    "keeps": (lambda: T.no_set_max_nreg(), "cuda:90", "native", ""),
    "programs": (lambda: T.annotate_min_blocks_per_sm(4), "cuda:90", "native", "maxnreg=128"),
    "few programs": (lambda: T.annotate_min_blocks_per_sm(1), "cuda:90", "native", ""),
    "programs on AMD": (
        lambda: T.annotate_min_blocks_per_sm(4),
        "hip:gfx942",
        "native",
        "waves_per_eu=2",
    ),
    "flags": (lambda: T.annotate_compile_flags(["-O3"]), "cuda:90", "none", ""),
}


@pytest.mark.parametrize("case", STATEMENTS)
def test_statements_are_options_of_the_launch_or_refused(case):
    statement, target, how, text = STATEMENTS[case]
    kernel, found = outcomes(registers(statement), target)
    ((said, detail),) = [value for key, value in found.items() if "T.Kernel" not in key]
    assert said == how, detail
    launch = kernel.triton_source.partition("[grid](")[2].partition(")")[0]
    options = ("maxnreg", "waves_per_eu")
    assert text in launch
    assert bool(text) == any(option in launch for option in options)


def test_clusters_and_atomics_by_tma_are_not_applied():
    @tile2triton.kernel
    def made():
        @T.prim_func
        def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.ClusterKernel(2, cluster_dims=2, threads=128) as bx:
                tile = T.alloc_shared((32,), "float32")
                T.use_swizzle(4, enable=False)
                T.copy(A[bx * 32], tile)
                T.atomic_add(B[bx * 32], tile, use_tma=True)

        return main

    _, found = outcomes(made, "cuda:90")
    assert {key: how for key, (how, _) in found.items()} == {
        "T.ClusterKernel(…, cluster_dims=2)": "none",
        "T.Kernel(…, threads=128)": "native",
        "T.use_swizzle(4, enable=False)": "native",
        "T.atomic_add(B[bx * 32], tile, use_tma=True)": "none",
    }


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


def test_registers_of_roles_bound_nothing():
    @tile2triton.kernel(out_idx=[1])
    def made():
        @T.prim_func
        def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(2, threads=256) as bx:
                tile = T.alloc_shared((32,), "float32")
                full = T.alloc_barrier(arrive_count=128)
                with T.ws(1):
                    T.dec_max_nreg(24)
                    T.copy(A[bx * 32], tile)
                    T.barrier_arrive(full)
                with T.ws(0):
                    T.inc_max_nreg(240)
                    T.barrier_wait(full, 0)
                    T.copy(tile, B[bx * 32])

        return main

    kernel, found = outcomes(made, "cuda:90")
    assert found["T.dec_max_nreg(24)"][0] == "none"
    assert found["T.inc_max_nreg(240)"][0] == "native"
    assert "maxnreg" not in kernel.triton_source


@tile2triton.kernel
@T.registers(128)
@T.ctas(2)
@T.waves_per_eu(3)
@T.matrix_instruction(16)
def relu_of_product(A, B):
    return T.relu(T.gemm(A, B, transpose_B=False))


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("cuda:80", ["maxnreg=128"]),
        ("cuda:90", ["maxnreg=128", "num_ctas=2"]),
        ("hip:gfx942", ["waves_per_eu=3", "matrix_instr_nonkdim=16"]),
    ],
)
def test_annotations_are_options_where_the_target_has_them(target, options):
    shapes = {"A": T.Tensor((64, 64), "float16"), "B": T.Tensor((64, 64), "float16")}
    kernel = tile2triton.transpile(relu_of_product, target=target, **shapes)
    launch = kernel.triton_source.partition("[grid](")[2].partition(")")[0]
    for option in ("maxnreg=128", "num_ctas=2", "waves_per_eu=3", "matrix_instr_nonkdim=16"):
        assert (option in launch) == (option in options)
    assert [one.how for one in kernel.lowered_facts.hint_report].count("native") == len(options)
    assert len(kernel.lowered_facts.hint_report) == 4


@tile2triton.kernel
@T.mma_version(2)
@T.direct_to_lds()
def plain_product(A, B):
    return T.gemm(A, B, transpose_B=False)


@tile2triton.kernel
@T.mma_version(2)
@T.direct_to_lds()
def doubled_elements(A, B):
    return A + B


@pytest.mark.parametrize(
    ("target", "kind", "refusals"),
    [
        ("cuda:90", "mma_version", ["asynchronous copies by themselves"]),
        ("hip:gfx942", "direct_to_lds", ["only Hopper has matrix instructions of two kinds"]),
        ("cuda:80", "", ["asynchronous copies by themselves", "only Hopper has"]),
    ],
)
def test_annotations_are_patches_where_the_target_takes_them(target, kind, refusals):
    shapes = {"A": T.Tensor((256, 256), "float16"), "B": T.Tensor((256, 256), "float16")}
    facts = tile2triton.transpile(plain_product, target=target, **shapes).lowered_facts
    assert [one.kind for one in facts.patches if one.construct] == [kind] * bool(kind)
    refused = [one.detail for one in facts.hint_report if one.how == "none"]
    assert len(refused) == len(refusals)
    assert all(any(word in detail for detail in refused) for word in refusals)


@pytest.mark.parametrize(
    ("target", "reason"),
    [("cuda:90", "no matrix products"), ("hip:gfx942", "no load of the kernel runs ahead")],
)
def test_annotations_say_what_a_kernel_lacks_for_them(target, reason):
    shapes = {"A": T.Tensor((256, 256), "float16"), "B": T.Tensor((256, 256), "float16")}
    facts = tile2triton.transpile(doubled_elements, target=target, **shapes).lowered_facts
    assert facts.patches == []
    assert any(reason in one.detail for one in facts.hint_report if one.how == "none")


@pytest.mark.parametrize(
    ("annotate", "words"),
    [(lambda: T.mma_version(3), "version 2, mma.sync, not 3"), (lambda: T.mma_version("2"), "'2'")],
)
def test_other_versions_of_matrix_instructions_are_refused(annotate, words):
    with pytest.raises(tile2triton.TileError, match=words):
        tile2triton.kernel(annotate()(lambda A, B: T.gemm(A, B)))


CONFIGS = {
    ("cuda:90", "tl.disable_wgmma"): ("patch", "`mma_version` of the kernel"),
    ("cuda:80", "tl.disable_wgmma"): ("native", "no wgmma"),
    ("hip:gfx942", "tl.disable_wgmma"): ("native", "no wgmma"),
    ("cuda:90", "tl.disable_tma_lower"): ("native", "pointers move tiles"),
    ("cuda:80", "tl.disable_tma_lower"): ("native", "no TMA"),
}


@pytest.mark.parametrize("is_option", [True, False])
@pytest.mark.parametrize(("target", "config"), CONFIGS)
def test_pass_configs_keep_off_wgmma_and_tma(target, config, is_option):
    def made(A, B):
        M, N, K = T.const("M, N, K")
        A: T.Tensor((M, K), "float16")
        B: T.Tensor((K, N), "float16")
        C = T.empty((M, N), "float32")
        if not is_option:
            T.annotate_pass_configs({config: True})
        with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(K // 64, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])
        return C

    configs = {config: True, "tl.enable_fast_math": True} if is_option else None
    kernel = tile2triton.kernel(pass_configs=configs)(made)
    facts = tile2triton.transpile(kernel, target=target, M=128, N=128, K=128).lowered_facts
    (said,) = [one for one in facts.hint_report if config in one.construct]
    assert said.how == CONFIGS[target, config][0]
    assert CONFIGS[target, config][1] in said.detail
    asked = [(one.kind, one.arguments) for one in facts.patches if one.construct]
    assert asked == [("mma_version", (("version", 2),))] * (said.how == "patch")
    assert bool(facts.descriptors) == (target == "cuda:90" and "wgmma" in config)


def test_the_rest_of_a_schedule_is_in_the_report():
    scheduled = product().scheduled(Schedule(warps=8, pipeline=3, registers=128))
    kernel, found = outcomes(scheduled, "cuda:80")
    assert found["threads=256 of the schedule"][0] == "native"
    assert found["num_stages=3 of the schedule"][0] == "native"
    assert found["T.registers(128)"][0] == "native"
    assert "num_warps=8" in kernel.triton_source


def test_options_of_a_schedule_are_read_from_files(tmp_path):
    path = Schedule(registers=96, ctas=2).write(tmp_path / "few.toml")
    assert Schedule.read(path).for_target("cuda:90").options == {"maxnreg": 96, "num_ctas": 2}


def test_hinted_products_are_the_same_product(device):
    hints = {"eviction_policy": "evict_first", "coalesced_width": 4, "disable_tma": True}
    check(product(hints, policy="FullRow", layout=crossed), device)
    check(product(stages=0, order=[1, 2, 0], stage=[0, 0, 1]), device)


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
