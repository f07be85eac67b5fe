"""Hints in the machine code: what is there with them, and not without."""

from contextlib import nullcontext

import pytest

import tile2triton
import tile2triton.language as T
from tests.test_hints import CHAINS, LAYOUTS, chained, crossed, doubled, padded, product, twice
from tile2triton import compile_check, compile_pool
from tile2triton.compile_process import CompileProcess
from tile2triton.explaining.report import explained

pytestmark = pytest.mark.compile


@pytest.fixture(scope="module", autouse=True)
def one_compiler():
    """Importing Triton takes longer than compiling: one process serves all tests of this file."""
    with CompileProcess() as process, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_pool, "CompileProcess", lambda: nullcontext(process))
        yield


def compiled(made, target, **settings):
    """What is said of the kernel, and what the compiler made."""
    kernel = tile2triton.transpile(made, target=target, **settings)
    text, facts = kernel.emitted_for(target)
    reports = compile_check.check_all([(text, facts, target)], is_listed=True)
    (said,) = explained(text, facts, reports)
    assert not said.problem, said.problem
    return said, reports[0].listing


def moved(said, kind="load"):
    """How often each instruction moves tiles."""
    found: dict[str, int] = {}
    for move in said.tiles.moves:
        for name, count in move.instructions.items():
            if move.kind == kind:
                found[name] = found.get(name, 0) + count
    return found


@tile2triton.kernel(out_idx=[1])
def evicting(policy=None, rows=64, columns=64):
    @T.prim_func
    def main(A: T.Tensor((rows, columns), "float16"), B: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(rows, 16), threads=128) as bx:
            tile = T.alloc_fragment((16, columns), "float16")
            T.copy(A[bx * 16, 0], tile, eviction_policy=policy)
            for i, j in T.Parallel(16, columns):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[bx * 16, 0], eviction_policy=policy)

    return main


@pytest.mark.parametrize(
    ("target", "policy", "word"),
    [
        ("cuda:80", "evict_first", "evict_first"),
        ("cuda:90", "evict_last", "evict_last"),
        ("cuda:100", "evict_first", "evict_first"),
        ("hip:gfx942", "evict_first", " nt"),
        ("hip:gfx950", "evict_first", " nt"),
    ],
)
def test_eviction_policies_are_in_loads_and_stores(target, policy, word):
    for kind in ("load", "store"):
        with_hint = moved(compiled(evicting, target, policy=policy)[0], kind)
        assert with_hint and all(word in name for name in with_hint)
        assert not any(word in name for name in moved(compiled(evicting, target)[0], kind))


def test_a_policy_that_an_asynchronous_copy_drops_is_not_said_to_be_applied():
    said, _ = compiled(product({"eviction_policy": "evict_first"}), "cuda:80")
    (hint,) = [one for one in said.hints if "eviction" in one.construct]
    assert hint.how == "none"
    assert "cp.async" in hint.evidence["a"]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_widths_are_those_of_loads(target):
    assert set(moved(compiled(doubled, target)[0])) == {"ld.global.v4.b32"}
    assert set(moved(compiled(doubled, target, width=4)[0])) == {"ld.global.v2.b32"}


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_tma_is_avoided_and_preferred(target):
    assert set(moved(compiled(product(), target)[0])) == {"TMA load"}
    without = moved(compiled(product({"disable_tma": True}), target)[0])
    assert any(name.startswith("cp.async 16") for name in without)
    preferred, _ = compiled(doubled, target, prefer="tma")
    assert set(moved(preferred)) == {"TMA load"}
    assert set(moved(preferred, "store")) == {"TMA store"}


def test_stages_of_statements_are_copies_ahead():
    def depth(*stage):
        return compiled(product(stages=0, order=[1, 2, 0], stage=list(stage)), "cuda:80")[0]

    assert moved(depth(0, 0, 1))["cp.async 16 bytes"] < moved(depth(0, 0, 2))["cp.async 16 bytes"]


def wide(annotation=None):
    """A product whose result takes many registers."""

    def made(A, B):
        return T.gemm(A, B, transpose_B=False)

    scheduled = T.tile(m=128, n=128, k=64)(T.warps(4)(made))
    return tile2triton.kernel(annotation(scheduled) if annotation else scheduled)


SHAPES = {"A": T.Tensor((512, 256), "float16"), "B": T.Tensor((256, 512), "float16")}


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_registers_are_bounded(target):
    plain, _ = compiled(wide(), target, **SHAPES)
    bounded, _ = compiled(wide(T.registers(96)), target, **SHAPES)
    assert bounded.registers <= 96 < plain.registers


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_programs_form_clusters(target):
    for annotation, is_there in ((None, False), (T.ctas(2), True)):
        _, listing = compiled(wide(annotation), target, **SHAPES)
        assert (".reqnctapercluster 2" in listing["machine"]) == is_there


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_waves_bound_registers_on_amd(target):
    plain, _ = compiled(wide(), target, **SHAPES)
    bounded, _ = compiled(wide(T.waves_per_eu(4)), target, **SHAPES)
    assert bounded.registers <= 128 < plain.registers


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
@pytest.mark.parametrize("size", [16, 32])
def test_matrix_instructions_have_the_size_that_is_asked_for(target, size):
    said, _ = compiled(wide(T.matrix_instruction(size)), target, **SHAPES)
    (row,) = said.tiles.products
    assert all(f"_{size}x{size}x" in name for name in row.instructions)


@pytest.mark.parametrize(("target", "size"), [("hip:gfx942", 16), ("hip:gfx950", 16)])
def test_matrix_instructions_of_one_product_differ_from_those_of_others(target, size):
    plain, _ = compiled(chained, target, policy="Square")
    noted, _ = compiled(chained, target, policy="Square", notes={"matrix_instruction": size})
    (hint,) = [one for one in noted.hints if "annotations" in one.construct]
    assert hint.how == "patch", hint.detail
    sizes = [[set(row.instructions) for row in said.tiles.products] for said in (plain, noted)]
    assert sizes[0][1] == sizes[1][1]
    assert sizes[0][0] != sizes[1][0]
    assert all(f"_{size}x{size}x" in name for name in sizes[1][0])


def test_a_hint_of_one_copy_or_product_leaves_the_others_as_they_are():
    def rows(**settings):
        said, _ = compiled(twice, "cuda:80", **settings)
        loads = [row for row in said.tiles.moves if row.variable == "a"]
        return said, loads, said.tiles.products

    said, loads, products = rows()
    # Of the three loads of `a` the first is a patch's, the others are copied ahead by loops.
    assert [set(row.instructions) for row in loads] == [{"cp.async 16 bytes"}] * 3
    assert [row.warps for row in products] == [(2, 2), (4, 1), (2, 2)]
    assert {one.how for one in said.hints if "T.async_copy" in one.construct} == {"patch"}
    (policy,) = [one for one in said.hints if "policy" in one.construct]
    assert policy.evidence["c"].endswith("warps 4 by 1")
    _, _, products = rows(policy="Square")
    assert [row.warps for row in products] == [(2, 2)] * 3


def test_hopper_multiplies_by_mma_sync_where_it_is_asked_for():
    plain, _ = compiled(wide(), "cuda:90", **SHAPES)
    older, _ = compiled(wide(T.mma_version(2)), "cuda:90", **SHAPES)
    assert "wgmma" in plain.instructions and "mma.sync" not in plain.instructions
    assert "mma.sync" in older.instructions and "wgmma" not in older.instructions
    (said,) = [one for one in older.hints if one.construct == "T.mma_version(2)"]
    assert said.how == "patch"


def test_loads_pass_registers_by_where_it_is_asked_for():
    plain, _ = compiled(wide(), "hip:gfx942", **SHAPES)
    direct, _ = compiled(wide(T.direct_to_lds()), "hip:gfx942", **SHAPES)
    to_lds = {"buffer_load to lds", "global_load to lds"}
    assert not to_lds & plain.instructions.keys()
    assert to_lds & direct.instructions.keys()
    assert direct.instructions.get("ds_write", 0) < plain.instructions["ds_write"]


def test_operands_are_packed_on_gfx942():
    @tile2triton.kernel(out_idx=[2])
    def made(pack=1):
        @T.prim_func
        def main(
            A: T.Tensor((128, 128), "float16"),
            B: T.Tensor((128, 128), "float16"),
            C: T.Tensor((128, 128), "float32"),
        ):
            with T.Kernel(1, threads=256):
                a = T.alloc_shared((128, 64), "float16")
                b = T.alloc_shared((128, 64), "float16")
                c = T.alloc_fragment((128, 128), "float32")
                T.clear(c)
                for k in T.Pipelined(2, num_stages=2):
                    T.copy(A[0, k * 64], a)
                    T.copy(B[0, k * 64], b)
                    T.gemm(a, b, c, transpose_B=True, k_pack=pack)
                T.copy(c, C)

        return main

    for pack, width in ((1, 4), (2, 8)):
        _, listing = compiled(made, "hip:gfx942", pack=pack)
        assert f"kWidth = {width}" in listing["ttgir"]


@pytest.mark.parametrize(("target", "policy", "rows"), CHAINS)
def test_policies_that_are_called_native_are_what_triton_does(target, policy, rows):
    plain, _ = compiled(chained, target, policy="Square", rows=rows)
    hinted, _ = compiled(chained, target, policy=policy, rows=rows)
    hows = [one.how for one in hinted.hints if "policy" in one.construct]
    for how, before, after in zip(hows, plain.tiles.products, hinted.tiles.products, strict=True):
        wanted = max if policy == "FullRow" else min
        assert after.warps[0] == wanted(after.warps[0], before.warps[0])
        if how == "native":
            assert after.warps == before.warps


LAID_OUT = [
    ("cuda:80", crossed, ("shared linear",)),
    ("cuda:80", LAYOUTS["make_linear_layout"], ("not swizzled",)),
    ("cuda:90", LAYOUTS["make_half_bank_swizzled_layout"], ("swizzled by 64 bytes",)),
    ("hip:gfx942", padded, ("padded 64:+8",)),
    ("hip:gfx950", LAYOUTS["make_linear_layout"], ("not swizzled",)),
    # A pass behind the patch makes it rotate in Triton 3.9, which is then said.
    ("hip:gfx942", LAYOUTS["make_linear_layout"], ("not swizzled", "amd rotating shared")),
]


@pytest.mark.parametrize(("target", "layout", "words"), LAID_OUT)
def test_tiles_lie_as_annotations_say_or_it_is_said_that_they_do_not(target, layout, words):
    said, _ = compiled(product(layout=layout), target)
    (hint,) = [one for one in said.hints if "annotate_layout" in one.construct]
    lies = next(move.layout for move in said.tiles.moves if move.variable == "b")
    assert lies in words
    assert (hint.how == "patch") == (lies == words[0])


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize(("order", "stage"), [([1, 2, 0], [0, 1, 2]), ([0, 1, 2], [0, 0, 1])])
def test_schedules_of_loops_are_applied(target, order, stage):
    said, _ = compiled(product(stages=0, order=order, stage=stage), target)
    (hint,) = [one for one in said.hints if "stage=" in one.construct]
    assert hint.how == "patch", hint.detail
    assert "shared memory" in hint.evidence
