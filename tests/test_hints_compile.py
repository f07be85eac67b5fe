"""Hints of kernels in the machine code: what is there with them, and not without."""

import functools
import re

import pytest
import triton

import tile2triton
import tile2triton.language as T
from tests.compiled_hints import compiled, given_to_triton, how
from tests.hinted import product
from tests.proofs import ALL, AMD, NVIDIA, proves, record
from tile2triton import Schedule

pytestmark = [pytest.mark.compile, pytest.mark.usefixtures("one_compiler")]


@tile2triton.kernel(out_idx=[1])
def light(threads=128, panel=0, is_restricted=False):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, 4, threads=threads) as (bx, by):
            if panel:
                T.use_swizzle(panel)
            if is_restricted:
                T.annotate_restrict_buffers(A, B)
            tile = T.alloc_fragment((16, 16), "float32")
            T.copy(A[by * 16, bx * 16], tile)
            T.copy(tile, B[by * 16, bx * 16])

    return main


@functools.cache
def stock(target):
    """A product of 64 by 64 tiles without hints of its own."""
    return compiled(product(), target)


def stated(statement):
    """The same product with a statement in its kernel."""
    return product(statement=statement)


def without(config):
    """The statement that turns a setting of TileLang's on."""
    return lambda: T.annotate_pass_configs({config: True})


@proves("`T.Kernel(…, threads=256)`", on=ALL)
def test_threads_are_those_of_the_launch(target):
    for threads in (128, 256):
        _, listing = compiled(light, target, threads=threads)
        assert re.search(rf"\.(reqntid|max_flat_workgroup_size:) {threads}\b", listing["machine"])


@proves("`T.use_swizzle(8)`", on=ALL)
def test_panels_take_arithmetic(target):
    """A panel may have fewer rows than it should: their number is a minimum."""
    least = r"\bmin\.|_min_|cselect"
    for panel, is_there in ((0, False), (2, True)):
        _, listing = compiled(light, target, panel=panel)
        assert bool(re.search(least, listing["machine"])) == is_there


def wide(annotation=None):
    """A product whose result takes many registers."""

    def made(A, B):
        return T.gemm(A, B, transpose_B=False)

    scheduled = T.tile(m=128, n=128, k=64)(T.warps(4)(made))
    return tile2triton.kernel(annotation(scheduled) if annotation else scheduled)


SHAPES = {"A": T.Tensor((512, 256), "float16"), "B": T.Tensor((256, 512), "float16")}


@proves("`T.registers(128)`", on=NVIDIA)
def test_registers_are_bounded(target):
    plain, _ = compiled(wide(), target, **SHAPES)
    bounded, _ = compiled(wide(T.registers(96)), target, **SHAPES)
    assert bounded.registers <= 96 < plain.registers


@proves("`T.set_max_nreg(n, …)`", on=zip(NVIDIA, (48, 64, 48), strict=True), names="target, count")
def test_registers_of_all_threads_are_bounded(target, count):
    bounded, listing = compiled(stated(lambda: T.set_max_nreg(count, 1)), target)
    assert f".maxnreg {count}" in listing["machine"]
    assert ".maxnreg" not in stock(target)[1]["machine"]
    assert bounded.registers <= count


@pytest.mark.parametrize(("target", "least"), [("cuda:80", 32), ("cuda:90", 64), ("cuda:100", 40)])
def test_a_bound_below_what_products_take_is_no_reason_to_fail(target, least):
    """A single wgmma gives 32 registers of its result to each thread."""
    fewer, as_many = (stated(lambda n=n: T.set_max_nreg(n, 1)) for n in (least - 8, least))
    assert given_to_triton(fewer, target) == given_to_triton(product(), target)
    assert how(compiled(as_many, target)[0], "T.set_max_nreg") == "native"


BLOCKS = [*zip(NVIDIA, (8, 8, 8), strict=True), *zip(AMD, (32, 32), strict=True)]


@proves("`T.annotate_min_blocks_per_sm(n)`", on=BLOCKS, names="target, blocks")
def test_registers_leave_room_for_programs(target, blocks):
    """Of 65536 registers, 128 threads of each of 8 programs have 64."""
    threads = 64 if target in AMD else 128
    made = product(statement=lambda: T.annotate_min_blocks_per_sm(blocks), threads=threads)
    bounded, listing = compiled(made, target)
    assert bounded.registers <= 64
    if target in AMD:
        assert compiled(product(threads=threads), target)[0].registers > 64
    else:
        assert ".maxnreg 64" in listing["machine"]
        assert ".maxnreg" not in stock(target)[1]["machine"]


@proves("`T.ctas(2)`", on=("cuda:90", "cuda:100"))
def test_programs_form_clusters(target):
    _, listing = compiled(product().scheduled(Schedule(ctas=2)), target)
    assert ".reqnctapercluster 2" in listing["machine"]
    assert ".reqnctapercluster" not in stock(target)[1]["machine"]


@proves("`T.waves_per_eu(2)`", on=AMD)
def test_waves_bound_registers_on_amd(target):
    few = product(threads=64)
    plain, _ = compiled(few, target)
    bounded, _ = compiled(few.scheduled(Schedule(waves_per_eu=8)), target)
    assert bounded.registers <= 64 < plain.registers


@proves("`T.matrix_instruction(16)`", on=AMD)
def test_matrix_instructions_have_the_size_that_is_asked_for(target):
    for size in (16, 32):
        said, _ = compiled(product().scheduled(Schedule(matrix_instruction=size)), target)
        (row,) = said.tiles.products
        assert all(f"_{size}x{size}x" in name for name in row.instructions)


@proves("`T.mma_version(2)`", on=("cuda:90",))
def test_hopper_multiplies_by_mma_sync_where_it_is_asked_for(target):
    plain, _ = stock(target)
    older, _ = compiled(product().scheduled(Schedule(mma_version=2)), target)
    assert "wgmma" in plain.instructions and "mma.sync" not in plain.instructions
    assert "mma.sync" in older.instructions and "wgmma" not in older.instructions
    assert how(older, "T.mma_version(2)") == "patch"


@proves("tl.disable_wgmma", on=("cuda:90",))
def test_hopper_multiplies_by_mma_sync_where_a_pass_config_says_so(target):
    said, _ = compiled(stated(without("tl.disable_wgmma")), target)
    assert "wgmma" in stock(target)[0].instructions
    assert "mma.sync" in said.instructions and "wgmma" not in said.instructions


@proves("tl.disable_tma_lower", on=("cuda:90", "cuda:100"))
def test_pointers_load_where_a_pass_config_says_so(target):
    said, _ = compiled(stated(without("tl.disable_tma_lower")), target)
    assert "TMA load" in stock(target)[0].instructions
    assert "cp.async" in said.instructions and "TMA load" not in said.instructions


@proves("`T.direct_to_lds()`", on=AMD)
def test_loads_pass_registers_by_where_it_is_asked_for(target):
    plain, _ = stock(target)
    direct, _ = compiled(product().scheduled(Schedule(direct_to_lds=True)), target)
    to_lds = {"buffer_load to lds", "global_load to lds"}
    assert to_lds & direct.instructions.keys()
    if target == "hip:gfx950" and triton.__version__ >= "3.9":
        # Triton does so by itself there.
        assert direct.instructions == plain.instructions
        assert how(direct, "T.direct_to_lds") == "none"
        return
    assert not to_lds & plain.instructions.keys()
    assert direct.instructions.get("ds_write", 0) < plain.instructions["ds_write"]


@tile2triton.kernel(out_idx=[1])
def roles(has_hints):
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=256) as bx:
            tile = T.alloc_shared((32,), "float32")
            full = T.alloc_barrier(arrive_count=128)
            with T.ws(1):
                if has_hints:
                    T.dec_max_nreg(24)
                T.copy(A[bx * 32], tile)
                T.barrier_arrive(full)
            with T.ws(0):
                if has_hints:
                    T.inc_max_nreg(240)
                T.barrier_wait(full, 0)
                T.copy(tile, B[bx * 32])

    return main


# What Triton does anyway, or a target cannot: what is written changes nothing.
IDLE = {
    "`T.annotate_consumer_reg_alloc`": (lambda: T.annotate_consumer_reg_alloc(240), NVIDIA),
    "`T.annotate_producer_reg_dealloc`": (lambda: T.annotate_producer_reg_dealloc(24), NVIDIA),
    "`T.no_set_max_nreg()`": (lambda: T.no_set_max_nreg(), ALL),
    "`T.disable_warp_group_reg_alloc()`": (lambda: T.disable_warp_group_reg_alloc(), ALL),
    "tl.disable_wgmma": (without("tl.disable_wgmma"), ("cuda:80", "cuda:100", *AMD)),
    "tl.disable_tma_lower": (without("tl.disable_tma_lower"), ("cuda:80", *AMD)),
}
for part, (_, targets) in IDLE.items():
    record(part, targets)


@pytest.mark.parametrize("part", IDLE)
def test_statements_that_triton_follows_anyway_leave_the_kernel_as_it_is(part):
    """What Triton is given is the same, so that nothing in the machine code can show them."""
    statement, targets = IDLE[part]
    for target in targets:
        assert given_to_triton(stated(statement), target) == given_to_triton(product(), target)


@proves("the same in a role", on=NVIDIA)
def test_registers_of_roles_leave_the_kernel_as_it_is(target):
    with_hints, without_hints = (given_to_triton(roles, target, has_hints=on) for on in (1, 0))
    assert with_hints == without_hints


@proves("`T.annotate_restrict_buffers`", on=ALL)
def test_apart_tensors_leave_the_kernel_as_it_is(target):
    restricted, plain = (given_to_triton(light, target, is_restricted=on) for on in (True, False))
    assert restricted == plain
