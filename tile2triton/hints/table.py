"""All hints: how each is written, which targets have it, and what it becomes there.

`docs/hints.md` is made of this table.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class HintRow:
    """One hint, or several that become the same, in the words of `docs/hints.md`."""

    written: str
    targets: str
    becomes: str


@dataclass(frozen=True)
class HintGroup:
    """Hints of one kind of thing; `note` is said of all of them."""

    title: str
    rows: tuple[HintRow, ...]
    note: str = ""


GROUPS = (
    HintGroup(
        title="Kernels and launches",
        rows=(
            HintRow(
                written="`T.Kernel(…, threads=256)`, `T.parallel`, `T.warps`",
                targets="all",
                becomes="`num_warps` at the launch: 32 threads a warp on NVIDIA, 64 on AMD",
            ),
            HintRow(
                written="`T.registers(128)` above a kernel",
                targets="NVIDIA",
                becomes="`maxnreg=128` at the launch; none where matrix products take more",
            ),
            HintRow(
                written="`T.subtile(2)` above a kernel",
                targets="sm_90, sm_100",
                becomes=(
                    "`tl.split` of result tiles that TMA stores: a part at a time needs less "
                    "shared memory. Tiles that are stored as they were summed are, when large"
                ),
            ),
            HintRow(
                written="`T.swap_ab()` above a kernel",
                targets="sm_90",
                becomes=(
                    "`tl.dot(b.T, a.T, c_transposed)` where b is computed and a loaded: b stays in "
                    "registers"
                ),
            ),
            HintRow(
                written="`T.rotate()` above a kernel",
                targets="sm_80, sm_90, AMD",
                becomes=(
                    "a loop with two products, as attention has: the last product of a turn stands "
                    "in the next one, behind the first, so that it runs beside the softmax"
                ),
            ),
            HintRow(
                written="`T.warp_specialize(2)` above a kernel",
                targets="sm_90, AMD",
                becomes=(
                    "a kernel of Gluon: two programs of the grid are consumers of one producer, "
                    "which loads by TMA; on AMD, two groups of four warps of one program, of which "
                    "one multiplies while the other loads or computes. Kernels that have no such "
                    "form stay in plain Triton"
                ),
            ),
            HintRow(
                written="`T.split_masks()` above a kernel",
                targets="all",
                becomes=(
                    "the turns of a loop in which its masks hide nothing are a loop of their own, "
                    "without masks; with `T.Kernel`"
                ),
            ),
            HintRow(
                written="`T.ctas(2)` above a kernel",
                targets="sm_90, sm_100",
                becomes=(
                    "`num_ctas=2` at the launch: two programs of the chip share the work of one"
                ),
            ),
            HintRow(
                written="`T.waves_per_eu(2)` above a kernel",
                targets="AMD",
                becomes="`waves_per_eu=2` at the launch",
            ),
            HintRow(
                written="`T.matrix_instruction(16)` above a kernel",
                targets="AMD",
                becomes=("`matrix_instr_nonkdim=16` at the launch: tiles of 16 by 16, or 32 by 32"),
            ),
            HintRow(
                written="`T.mma_version(2)` above a kernel",
                targets="sm_90",
                becomes="the patch `mma_version`: mma.sync in the place of wgmma",
            ),
            HintRow(
                written=(
                    '`pass_configs={"tl.disable_wgmma": True}`, or the same in '
                    "`T.annotate_pass_configs`"
                ),
                targets="all",
                becomes="sm_90: the patch `mma_version`; native where there is no wgmma",
            ),
            HintRow(
                written='`pass_configs={"tl.disable_tma_lower": True}`, or the same there',
                targets="all",
                becomes="pointers move tiles",
            ),
            HintRow(
                written="`T.direct_to_lds()` above a kernel",
                targets="AMD",
                becomes=(
                    "the patch `direct_to_lds`: loads that run ahead write to shared memory "
                    "without registers on their way; Triton 3.9 does so on gfx950 by itself"
                ),
            ),
            HintRow(
                written=(
                    "`T.set_max_nreg(n, …)`, `T.inc_max_nreg(n)`, `T.dec_max_nreg(n)` for "
                    "all threads"
                ),
                targets="NVIDIA",
                becomes="`maxnreg=n` at the launch",
            ),
            HintRow(
                written="the same in a role (`T.ws`) or branch",
                targets="NVIDIA",
                becomes=(
                    "more registers: native if the threads may have as many; fewer: none, "
                    "since roles run in one group of warps"
                ),
            ),
            HintRow(
                written="`T.annotate_consumer_reg_alloc`, `T.annotate_producer_reg_dealloc`",
                targets="NVIDIA",
                becomes="as in a role: native and none",
            ),
            HintRow(
                written="`T.no_set_max_nreg()`, `T.disable_warp_group_reg_alloc()`",
                targets="all",
                becomes="native: nothing is moved between warps",
            ),
            HintRow(
                written="`T.annotate_min_blocks_per_sm(n)`",
                targets="all",
                becomes=(
                    "NVIDIA: `maxnreg` such that n programs fit, where fewer than 255 "
                    "registers; AMD: `waves_per_eu`"
                ),
            ),
            HintRow(
                written="`T.ClusterKernel(…, cluster_dims=…)`",
                targets="none",
                becomes="none: programs of Triton's share nothing with neighbours",
            ),
            HintRow(
                written="`T.use_swizzle(8)`, `T.swizzle(8)`",
                targets="all",
                becomes="`tl.swizzle2d` on the program ids; none in grids of one dimension",
            ),
            HintRow(
                written="`T.annotate_restrict_buffers`",
                targets="all",
                becomes="native: Triton takes no two tensors for apart",
            ),
            HintRow(
                written=(
                    "`T.annotate_l2_hit_ratio`, `T.annotate_compile_flags`, other pass configs, "
                    "`T.pdl_sync`, `T.pdl_trigger`"
                ),
                targets="none",
                becomes="none",
            ),
        ),
        note=(
            "Where two hints say different numbers of one option, the schedule above the "
            "kernel wins, then the first one in the kernel; the other is reported."
        ),
    ),
    HintGroup(
        title="Copies",
        rows=(
            HintRow(
                written="`disable_tma=True`",
                targets="all",
                becomes=(
                    "pointers move the tile, where sm_90 and sm_100 would take a TMA descriptor"
                ),
            ),
            HintRow(
                written='`prefer_instruction="tma"`',
                targets="sm_90, sm_100",
                becomes=(
                    "a TMA descriptor also for tiles that no product reads, where the "
                    "tensor allows one"
                ),
            ),
            HintRow(
                written='`prefer_instruction="cp_async"`',
                targets="all",
                becomes=(
                    "pointers; in a loop with stages Triton copies ahead (on NVIDIA by "
                    "cp.async), outside of loops the patch `async_outside_loop` (NVIDIA)"
                ),
            ),
            HintRow(
                written='`prefer_instruction="sync"`',
                targets="all",
                becomes="pointers",
            ),
            HintRow(
                written="`T.async_copy(…)`",
                targets="all",
                becomes="as `cp_async`; TMA copies are asynchronous, too",
            ),
            HintRow(
                written='`eviction_policy="evict_first"`',
                targets="NVIDIA",
                becomes=(
                    '`eviction_policy="evict_first"` of the load or store. Triton 3.6, and '
                    "3.9 before sm_90, drop it where the load becomes cp.async"
                ),
            ),
            HintRow(
                written='`eviction_policy="evict_last"`',
                targets="NVIDIA",
                becomes="the same word",
            ),
            HintRow(
                written='`eviction_policy="evict_first"`',
                targets="AMD",
                becomes=(
                    '`cache_modifier=".cg"` of a load, `".cs"` of a store: not kept in '
                    "caches. `evict_last`: none"
                ),
            ),
            HintRow(
                written="an eviction policy of a copy by TMA",
                targets="none",
                becomes=("none: Triton 3.6 has no words for it; `disable_tma=True` takes pointers"),
            ),
            HintRow(
                written="`coalesced_width=n`",
                targets="NVIDIA",
                becomes=(
                    "less than 16 bytes: `tl.max_contiguous` of the pointers, so that a "
                    "thread moves n elements at once. 16 bytes are what Triton takes "
                    "anyway. It is never a promise that addresses are aligned"
                ),
            ),
            HintRow(
                written="`coalesced_width=n`",
                targets="AMD",
                becomes="none: LLVM joins the loads again",
            ),
            HintRow(
                written="`loop_layout=`, `annotations=`; `use_tma=` of `T.atomic_add`",
                targets="none",
                becomes="none",
            ),
        ),
        note="`T.im2col` and `T.tma_copy` take an eviction policy, too.",
    ),
    HintGroup(
        title="Products",
        rows=(
            HintRow(
                written="`policy=T.GemmWarpPolicy.Square`",
                targets="all",
                becomes="the default",
            ),
            HintRow(
                written="`policy=FullRow`, `FullCol`",
                targets="sm_90",
                becomes=(
                    "native where Triton shares the product out so anyway, as it mostly "
                    "does with rows under wgmma; else the patch `gemm_warps`"
                ),
            ),
            HintRow(
                written="`policy=FullRow`, `FullCol`",
                targets="sm_80, AMD",
                becomes=(
                    "native where it is sure that Triton does so (one warp; most products of "
                    "attention with whole rows), else the patch `gemm_warps`"
                ),
            ),
            HintRow(
                written="`policy=FullRow`, `FullCol`",
                targets="sm_100",
                becomes="none: one thread starts tcgen05 products for the program",
            ),
            HintRow(
                written="`k_pack=2`",
                targets="gfx942",
                becomes="`kpack=2` at the launch; none elsewhere",
            ),
            HintRow(
                written='`annotations={"matrix_instruction": 16}`',
                targets="AMD",
                becomes=(
                    "`matrix_instr_nonkdim=16` at the launch where the kernel has no other "
                    "product, else the patch `mfma_shape` of this one"
                ),
            ),
            HintRow(
                written="other `annotations=`",
                targets="none",
                becomes="none",
            ),
        ),
    ),
    HintGroup(
        title="Loops",
        rows=(
            HintRow(
                written="`T.Pipelined(n, num_stages=3)`, `T.pipeline(3)`",
                targets="all",
                becomes=(
                    "`tl.range(n, num_stages=3)`; fewer, with a comment, where more "
                    "certainly do not fit"
                ),
            ),
            HintRow(
                written="`order=` and `stage=` together",
                targets="all",
                becomes=(
                    "`num_stages` of the loop where all loads run equally far ahead of the "
                    "products, and these come first in a turn"
                ),
            ),
            HintRow(
                written="the same, with loads that run ahead unequally",
                targets="NVIDIA",
                becomes="the patch `load_latency` for the loads that differ",
            ),
            HintRow(
                written="the same, with other schedules",
                targets="sm_80, sm_90",
                becomes=(
                    "the patch `pipeline_schedule`; on sm_100 and AMD none. Triton 3.6 "
                    "keeps wgmma in the last stage"
                ),
            ),
            HintRow(
                written=(
                    "`sync=`, `group=`, `annotations=`; of `T.Parallel`: "
                    "`coalesced_width=`, `loop_layout=`, `prefer_async=`"
                ),
                targets="none",
                becomes="none",
            ),
        ),
    ),
    HintGroup(
        title="Layouts of shared tiles",
        rows=(
            HintRow(
                written="`make_swizzled_layout(tile)` and those for single units",
                targets="all",
                becomes="native: Triton swizzles what matrix units read",
            ),
            HintRow(
                written="`make_half_bank_swizzled_layout`, `make_quarter_bank_swizzled_layout`",
                targets="NVIDIA",
                becomes="the patch `shared_layout`: rows of 64 or 32 bytes",
            ),
            HintRow(
                written=(
                    "`T.Layout(shape, f)` whose places are exclusive ors of bits of the indices"
                ),
                targets="sm_80",
                becomes="the patch `shared_layout`",
            ),
            HintRow(
                written="`T.Layout(shape, f)` with rows further apart than they are long",
                targets="AMD",
                becomes="the patch `shared_layout`: padded rows",
            ),
            HintRow(
                written="`make_linear_layout(tile)`, or a function that says the same",
                targets="sm_80, AMD",
                becomes="the patch `shared_layout`: no swizzle",
            ),
            HintRow(
                written="layouts of fragments and of tensors",
                targets="none",
                becomes="none",
            ),
        ),
        note=(
            "`T.annotate_layout({tile: layout})` of a tile that a product reads itself; "
            "others lie as Triton likes, mostly in registers. On sm_80 and AMD, patches are"
            " for tiles that a loop with stages loads ahead."
        ),
    ),
)
