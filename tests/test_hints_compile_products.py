"""Hints of products, loops and layouts in the machine code: what is there with them only."""

import functools
import re

import pytest
import triton

import tile2triton
import tile2triton.language as T
from tests.compiled_hints import compiled, given_to_triton, how, instructions
from tests.hinted import CHAINS, chained, crossed, padded, product
from tests.proofs import ALL, AMD, NVIDIA, proves
from tile2triton import Schedule
from tile2triton.tilelang.layouts import LAYOUTS

pytestmark = [pytest.mark.compile, pytest.mark.usefixtures("one_compiler")]


@functools.cache
def stock(target):
    """A product whose loop has two stages, without hints of its own."""
    return compiled(product(), target)


@proves("`policy=FullRow`, `FullCol`", on=CHAINS, names="target, policy, rows")
def test_warps_share_products_out_as_policies_say(target, policy, rows):
    """Those that are called native, Triton shares out so anyway."""
    plain, _ = compiled(chained, target, policy="Square", rows=rows)
    hinted, _ = compiled(chained, target, policy=policy, rows=rows)
    hows = [one.how for one in hinted.hints if "policy" in one.construct]
    for word, before, after in zip(hows, plain.tiles.products, hinted.tiles.products, strict=True):
        wanted = max if policy == "FullRow" else min
        assert after.warps[0] == wanted(after.warps[0], before.warps[0])
        assert after.warps == before.warps or word == "patch"


SHARES = {"cuda:80": (4, 1), **dict.fromkeys(AMD, (2, 1))}


@proves("`policy=FullRow`, `FullCol`", on=SHARES)
def test_policies_change_what_warps_read(target):
    """A product of as many rows as columns takes as many instructions, but others."""
    plain, hinted = stock(target), compiled(product(policy="FullRow"), target)
    assert hinted[0].tiles.products[0].warps == SHARES[target] != plain[0].tiles.products[0].warps
    assert instructions(hinted[1]) != instructions(plain[1])


@proves("`policy=FullRow`, `FullCol`", on=("cuda:100",))
def test_policies_leave_kernels_of_tcgen05_as_they_are(target):
    """What Triton is given is the same, so that nothing in the machine code can show them."""
    plain = given_to_triton(product(), target)
    assert given_to_triton(product(policy="FullRow"), target) == plain
    assert given_to_triton(product(policy="FullCol"), target) == plain


@proves("`policy=T.GemmWarpPolicy.Square`", on=ALL)
def test_the_default_policy_leaves_the_kernel_as_it_is(target):
    assert given_to_triton(product(policy="Square"), target) == given_to_triton(
        product(policy=None), target
    )


@proves("`annotations={", on=AMD)
def test_matrix_instructions_of_one_product_differ_from_those_of_others(target):
    small = {"policy": "Square", "width": 64, "threads": 128}
    plain, _ = compiled(chained, target, **small)
    noted, _ = compiled(chained, target, **small, notes={"matrix_instruction": 16})
    assert how(noted, "annotations") == "patch"
    sizes = [[set(row.instructions) for row in said.tiles.products] for said in (plain, noted)]
    assert sizes[0][1] == sizes[1][1]
    assert sizes[0][0] != sizes[1][0]
    assert all("_16x16x" in name for name in sizes[1][0])


@tile2triton.kernel(out_idx=[2])
def packed(pack):
    @T.prim_func
    def main(
        A: T.Tensor((64, 128), "float16"),
        B: T.Tensor((64, 128), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[0, k * 64], b)
                T.gemm(a, b, c, transpose_B=True, k_pack=pack)
            T.copy(c, C)

    return main


@proves("`k_pack=2`", on=("hip:gfx942",))
def test_operands_are_packed(target):
    """Twice as much is read from LDS at once."""
    reads = []
    for pack, width in ((1, 4), (2, 8)):
        _, listing = compiled(packed, target, pack=pack)
        assert f"kWidth = {width}" in listing["ttgir"]
        reads.append(listing["machine"].count("ds_read_b128"))
    assert reads[0] < reads[1], reads


@tile2triton.kernel(out_idx=[2])
def widened():
    """The second factor is computed: int8 elements as float16 ones."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 128), "float16"),
        B: T.Tensor((64, 128), "int8"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            small = T.alloc_shared((64, 64), "int8")
            b = T.alloc_fragment((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[0, k * 64], small)
                T.copy(small, b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    return main


@proves("`T.swap_ab()`", on=("cuda:90",))
def test_what_is_computed_stays_in_registers(target):
    """wgmma reads the first factor from them: nothing is stored for it to shared memory."""
    plain, _ = compiled(widened, target)
    swapped, _ = compiled(widened.scheduled(Schedule(swap_ab=True)), target)
    assert swapped.shared_memory + 64 * 64 * 2 <= plain.shared_memory


@tile2triton.kernel(out_idx=[3])
def softened():
    """Of two products in a row the second one takes exponentials of the first."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "float16"),
        K: T.Tensor((512, 64), "float16"),
        V: T.Tensor((512, 64), "float16"),
        Out: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            q = T.alloc_shared((64, 64), "float16")
            k = T.alloc_shared((64, 64), "float16")
            v = T.alloc_shared((64, 64), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            w = T.alloc_fragment((64, 64), "float16")
            o = T.alloc_fragment((64, 64), "float32")
            T.copy(Q, q)
            T.clear(o)
            for n in T.Pipelined(8, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.copy(V[n * 64, 0], v)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    s[i, j] = T.exp2(s[i, j])
                T.copy(s, w)
                T.gemm(w, v, o)
            T.copy(o, Out)

    return main


@proves("`T.rotate()`", on=("cuda:80", "cuda:90", *AMD))
def test_nothing_is_computed_between_the_products_of_a_turn(target):
    """The exponential of a loop stands behind both of its products, and not between them."""

    def between(kernel):
        _, listing = compiled(kernel, target)
        loop = listing["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
        first, *middle, last = re.split(r"tt\.dot |warp_group_dot ", loop)
        assert len(middle) == 1 and "math.exp2" in first + middle[0] + last
        return "math.exp2" in middle[0]

    assert between(softened)
    assert not between(softened.scheduled(Schedule(rotate=True)))


@proves("`T.warp_specialize(2)`", on=("cuda:90",))
def test_one_warp_loads_for_two_consumers(target):
    _, plain = compiled(product(), target)
    said, listing = compiled(product().scheduled(Schedule(warp_specialize=2)), target)
    assert how(said, "warp_specialize") == "native"
    assert "ttg.warp_specialize" in listing["ttgir"]
    assert "ttg.warp_specialize" not in plain["ttgir"]
    # The producer leaves registers to the consumers.
    assert "setmaxnreg" in listing["machine"] and "setmaxnreg" not in plain["machine"]


@tile2triton.kernel
def causal(Q, K, Out):
    """Row sums of the products up to the diagonal, in one loop."""
    Q: T.Tensor((512, 64), "float16")
    K: T.Tensor((512, 64), "float16")
    Out: T.Tensor((512,), "float32")
    with T.Kernel(8, threads=128) as bx:
        q = T.alloc_shared((64, 64), "float16")
        k = T.alloc_shared((64, 64), "float16")
        s = T.alloc_fragment((64, 64), "float32")
        o = T.alloc_fragment((64,), "float32")
        T.copy(Q[bx * 64, 0], q)
        T.clear(o)
        for n in T.Pipelined(bx + 1, num_stages=2):
            T.copy(K[n * 64, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                s[i, j] = T.if_then_else(bx * 64 + i >= n * 64 + j, s[i, j], 0)
            T.reduce_sum(s, o, dim=1, clear=False)
        T.copy(o, Out[bx * 64])


@proves("`T.split_masks()`", on=ALL)
def test_the_first_of_two_loops_compares_nothing(target):
    def loops(kernel):
        _, listing = compiled(kernel, target)
        found = re.findall(r"scf\.for .*?scf\.yield", listing["ttgir"], re.DOTALL)
        return [bool(re.search(r"arith\.select .*tensor<64x64xf32", one)) for one in found]

    assert loops(causal.scheduled(Schedule(split_masks=False))) == [True]
    assert loops(causal.scheduled(Schedule(split_masks=True))) == [False, True]


@proves("`T.subtile(2)`", on=("cuda:90", "cuda:100"))
def test_results_are_stored_in_parts(target):
    parts, _ = compiled(product().scheduled(Schedule(subtile=2)), target)
    assert (stock(target)[0].instructions["TMA store"], parts.instructions["TMA store"]) == (1, 2)


@proves("`T.Pipelined(n, num_stages=3)`", on=ALL)
def test_each_stage_holds_a_copy_of_the_tiles(target):
    deeper, _ = compiled(product(stages=3), target)
    plain, _ = stock(target)
    assert deeper.shared_memory >= plain.shared_memory + 8192
    for copies in ("cp.async", "TMA load"):
        if copies in plain.instructions:
            assert deeper.instructions[copies] > plain.instructions[copies]


@proves("`order=` and `stage=` together", on=ALL)
def test_stages_of_statements_are_those_of_the_loop(target):
    """What Triton is given is the same as with `num_stages`, which is shown above."""
    said = product(stages=0, order=[1, 2, 0], stage=[0, 0, 2])
    assert given_to_triton(said, target) == given_to_triton(product(stages=3), target)


@proves("the same, with loads that run ahead unequally", on=NVIDIA)
def test_one_load_runs_further_ahead(target):
    said, _ = compiled(product(stages=0, order=[1, 2, 0], stage=[0, 1, 2]), target)
    assert how(said, "stage=") == "patch"
    copies = "cp.async" if target == "cuda:80" else "TMA load"
    # Of one tile of 4 KiB there is one more.
    assert said.instructions[copies] > stock(target)[0].instructions[copies]
    assert 4096 <= said.shared_memory - stock(target)[0].shared_memory < 8192


@proves("the same, with other schedules", on=("cuda:80", "cuda:90"))
def test_loads_come_first_in_a_turn(target):
    """So that there is a copy more of each tile than where products come first."""
    said, _ = compiled(product(stages=0, order=[0, 1, 2], stage=[0, 0, 1]), target)
    (hint,) = [one for one in said.hints if "stage=" in one.construct]
    assert hint.how == "patch", hint.detail
    assert "shared memory" in hint.evidence
    assert said.shared_memory >= stock(target)[0].shared_memory + 8192


@proves("`make_swizzled_layout(tile)`", on=ALL)
def test_what_products_read_is_swizzled_or_padded_anyway(target):
    swizzled = product(layout=LAYOUTS["make_swizzled_layout"])
    assert given_to_triton(swizzled, target) == given_to_triton(product(), target)
    layouts = {move.layout for move in stock(target)[0].tiles.moves if move.kind == "load"}
    words = ("swizzled", "amd rotating shared", "padded")
    assert layouts and all(layout.startswith(words) for layout in layouts)


HALF, QUARTER = (LAYOUTS[f"make_{part}_bank_swizzled_layout"] for part in ("half", "quarter"))
LINEAR = LAYOUTS["make_linear_layout"]
NARROW = [
    ("cuda:80", HALF, "swizzled, 8 elements, 4 phases of 1 rows"),
    ("cuda:90", HALF, "swizzled by 64 bytes"),
    ("cuda:100", HALF, "swizzled by 64 bytes"),
    ("cuda:90", QUARTER, "swizzled by 32 bytes"),
]


def shown(target, layout):
    """What became of a layout of the second operand, and how it lies.

    Where a patch has laid it out, there is other machine code. Its instructions may be as many:
    another layout takes other numbers in them.
    """
    said, listing = compiled(product(layout=layout), target)
    word = how(said, "annotate_layout")
    is_changed = instructions(listing) != instructions(stock(target)[1])
    assert is_changed == (word == "patch")
    return word, next(move.layout for move in said.tiles.moves if move.variable == "b")


@proves("`make_half_bank_swizzled_layout`", on=NARROW, names="target, layout, word")
def test_rows_are_permuted_in_narrower_parts(target, layout, word):
    assert shown(target, layout) == ("patch", word)


@proves("whose places are exclusive ors", on=("cuda:80",))
def test_layouts_are_exclusive_ors(target):
    assert shown(target, crossed) == ("patch", "shared linear")


@proves("with rows further apart", on=AMD)
def test_rows_are_padded(target):
    """Triton 3.9 writes to LDS directly on gfx950, and pads by itself, but not as one likes."""
    if target == "hip:gfx950" and triton.__version__ >= "3.9":
        assert shown(target, padded)[0] == "none"
    else:
        assert shown(target, padded) == ("patch", "padded 64:+8")


@proves("`make_linear_layout(tile)`", on=("cuda:80", *AMD))
def test_rows_are_not_permuted(target):
    """A pass behind the patch makes the tile rotate on gfx942 in Triton 3.9, which is then said."""
    assert shown(target, LINEAR) in (
        ("patch", "not swizzled"),
        *([("none", "amd rotating shared")] if target == "hip:gfx942" else []),
    )
