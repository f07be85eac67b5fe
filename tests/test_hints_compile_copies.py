"""Hints of copies in the machine code: what is there with them, and not without."""

import functools

import pytest

import tile2triton
import tile2triton.language as T
from tests.compiled_hints import compiled, given_to_triton, how, moved
from tests.hinted import doubled, product, twice
from tests.proofs import AMD, NVIDIA, proves, record

pytestmark = [pytest.mark.compile, pytest.mark.usefixtures("one_compiler")]

HAVE_TMA = ("cuda:90", "cuda:100")


@functools.cache
def stock(target):
    """A product whose loop copies two tiles, without hints of its own."""
    return compiled(product(), target)[0]


@functools.cache
def stock_rows(target, policy=None):
    """A tile that no product reads, and no loop copies."""
    return compiled(evicting, target, policy=policy)[0]


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


EVICTIONS = {
    "evict_first": {**dict.fromkeys(NVIDIA, "evict_first"), **dict.fromkeys(AMD, " nt")},
    "evict_last": dict.fromkeys(NVIDIA, "evict_last"),
}


@pytest.mark.parametrize("policy", EVICTIONS)
def test_eviction_policies_are_in_loads_and_stores(policy):
    for target, word in EVICTIONS[policy].items():
        for kind in ("load", "store"):
            with_hint = moved(stock_rows(target, policy), kind)
            assert with_hint and all(word in name for name in with_hint)
            assert not any(word in name for name in moved(stock_rows(target), kind))


for policy, words in EVICTIONS.items():
    record(f'`eviction_policy="{policy}"`', words)


def test_a_policy_that_an_asynchronous_copy_drops_is_not_said_to_be_applied():
    said, _ = compiled(product({"eviction_policy": "evict_first"}), "cuda:80")
    (hint,) = [one for one in said.hints if "eviction" in one.construct]
    assert hint.how == "none"
    assert "cp.async" in hint.evidence["a"]


@proves("`coalesced_width=n`", on=NVIDIA)
def test_widths_are_those_of_loads(target):
    assert set(moved(compiled(doubled, target)[0])) == {"ld.global.v4.b32"}
    assert set(moved(compiled(doubled, target, width=4)[0])) == {"ld.global.v2.b32"}


@proves("`disable_tma=True`", on=HAVE_TMA)
def test_tma_is_avoided(target):
    assert set(moved(stock(target))) == {"TMA load"}
    without = moved(compiled(product({"disable_tma": True}), target)[0])
    assert any(name.startswith("cp.async 16") for name in without)


@proves('`prefer_instruction="tma"`', on=HAVE_TMA)
def test_tma_is_preferred(target):
    preferred, _ = compiled(doubled, target, prefer="tma")
    assert set(moved(preferred)) == {"TMA load"}
    assert set(moved(preferred, "store")) == {"TMA store"}
    assert "TMA load" not in moved(stock_rows(target))


@proves('`prefer_instruction="cp_async"`', "`T.async_copy(…)`", on=NVIDIA)
def test_a_copy_outside_of_loops_is_asynchronous(target):
    assert "cp.async" not in stock_rows(target).instructions
    said, _ = compiled(outside, target, is_asynchronous=True)
    assert "cp.async" in said.instructions and "ld.global" not in said.instructions
    assert how(said, "T.async_copy") == "patch"
    # The other hint asks for the same patch.
    _, patches = given_to_triton(doubled, target, prefer="cp_async")
    assert patches == [("async_outside_loop", "tile", ())]


@tile2triton.kernel(out_idx=[1])
def outside(is_asynchronous):
    @T.prim_func
    def main(A: T.Tensor((16, 64), "float16"), B: T.Tensor((16, 64), "float16")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((16, 64), "float16")
            if is_asynchronous:
                T.async_copy(A[0, 0], tile)
                T.ptx_wait_group(0)
            else:
                T.copy(A[0, 0], tile)
            T.copy(tile, B[0, 0])

    return main


@pytest.mark.parametrize("target", HAVE_TMA)
def test_a_copy_in_a_loop_is_asynchronous_by_pointers(target):
    said, _ = compiled(product({"prefer_instruction": "cp_async"}), target)
    assert "cp.async" in said.instructions and "cp.async" not in stock(target).instructions
    assert said.instructions["TMA load"] * 2 == stock(target).instructions["TMA load"]


@proves('`prefer_instruction="sync"`', on=HAVE_TMA)
def test_a_copy_by_pointers_is_none_by_tma(target):
    said, _ = compiled(product({"prefer_instruction": "sync"}), target)
    assert said.instructions["TMA load"] * 2 == stock(target).instructions["TMA load"]


# What Triton does anyway on a target, or what that cannot.
IDLE = {
    "`disable_tma=True`": ({"disable_tma": True}, ("cuda:80", *AMD)),
    '`prefer_instruction="cp_async"`': ({"prefer_instruction": "cp_async"}, ("cuda:80", *AMD)),
    '`prefer_instruction="sync"`': ({"prefer_instruction": "sync"}, ("cuda:80", *AMD)),
    "`coalesced_width=n`": ({"coalesced_width": 4}, AMD),
}
for part, (_, targets) in IDLE.items():
    record(part, targets)


@pytest.mark.parametrize("part", IDLE)
def test_hints_that_triton_follows_anyway_leave_the_kernel_as_it_is(part):
    """What Triton is given is the same, so that nothing in the machine code can show them."""
    hints, targets = IDLE[part]
    for target in targets:
        assert given_to_triton(product(hints), target) == given_to_triton(product(), target)


@proves("`T.async_copy(…)`", on=AMD)
def test_outside_of_loops_amd_loads_through_registers(target):
    asynchronous, plain = (
        given_to_triton(outside, target, is_asynchronous=on) for on in (True, False)
    )
    assert asynchronous == plain


def test_a_hint_of_one_copy_or_product_leaves_the_others_as_they_are():
    def rows(**settings):
        said, _ = compiled(twice, "cuda:80", **settings)
        loads = [row for row in said.tiles.moves if row.variable == "a"]
        return said, loads, said.tiles.products

    said, loads, products = rows()
    # Of the three loads of `a` the first is a patch's, the others are copied ahead by loops.
    assert [set(row.instructions) for row in loads] == [{"cp.async 16 bytes"}] * 3
    assert [row.warps for row in products] == [(2, 2), (4, 1), (2, 2)]
    assert how(said, "T.async_copy") == "patch"
    (policy,) = [one for one in said.hints if "policy" in one.construct]
    assert policy.evidence["c"].endswith("warps 4 by 1")
    _, _, products = rows(policy="Square")
    assert [row.warps for row in products] == [(2, 2)] * 3
