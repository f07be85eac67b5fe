"""Hints of kernels and launches: registers, clusters, annotations, pass configs."""

import linecache

import pytest

import tile2triton
import tile2triton.language as T
from tests.hinted import outcomes, product
from tile2triton import Schedule


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


@pytest.mark.parametrize(
    ("option", "target"),
    [({"matrix_instruction": 32}, "hip:gfx942"), ({"mma_version": 2}, "cuda:90")],
)
def test_annotations_of_products_are_of_nothing_where_there_are_none(option, target):
    made = registers(lambda: None).scheduled(Schedule(**option))
    kernel, found = outcomes(made, target)
    ((name, value),) = option.items()
    assert found[f"T.{name}({value})"] == ("none", "the kernel has no matrix products")
    assert not kernel.lowered_facts.patches and "nonkdim=" not in kernel.triton_source


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        (lambda: T.set_max_nreg(0), "T2T296", "such as T.set_max_nreg(240)"),
        (lambda: T.set_max_nreg(7, 1), "T2T296", "`7` is no number of registers"),
        (lambda: T.inc_max_nreg("x"), "T2T296", "'x'"),
        (lambda: T.dec_max_nreg(None), "T2T296", "None"),
        (lambda: T.annotate_consumer_reg_alloc(3.7), "T2T296", "3.7"),
        (lambda: T.annotate_producer_reg_dealloc(reg_count=-1), "T2T296", "-1"),
        (lambda: T.annotate_min_blocks_per_sm(0), "T2T296", "`0` is no number of programs"),
        (lambda: T.annotate_min_blocks_per_sm("x"), "T2T296", "'x'"),
        (lambda: T.annotate_min_blocks_per_sm(None), "T2T296", "None"),
        (lambda: T.annotate_layout("x"), "T2T297", "found 'x'"),
        (lambda: T.annotate_layout({"a": 3}), "T2T297", "found 'a'"),
    ],
)
def test_numbers_and_layouts_that_are_none_are_errors(statement, code, said):
    with pytest.raises(tile2triton.TileError) as told:
        tile2triton.transpile(registers(statement), target="cuda:90")
    (problem,) = told.value.diagnostics
    assert problem.code == code and said in problem.render()
    assert problem.filename == __file__ and "T." in linecache.getline(__file__, problem.line)
