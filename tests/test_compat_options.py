"""Targets, pass configs and flags of TileLang's: what is a hint, and what is refused."""

from types import SimpleNamespace

import pytest
import torch

from tests.kernels.gemm_relu import gemm_relu
from tile2triton.diagnostics import ArgumentError, TileError
from tile2triton.tilelang.arch import CDNA, CUDA, get_arch, is_cdna_arch, is_hopper_arch
from tile2triton.tilelang.carver import MatmulTemplate
from tile2triton.tilelang.jit import compile, jit, par_compile
from tile2triton.tilelang.pass_configs import normalize_pass_configs
from tile2triton.tilelang.target import (
    Target,
    determine_target,
    target_is_cdna,
    target_is_cuda,
    target_is_gfx950,
    target_name,
)
from tile2triton.tilelang.transform import PassContext


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (None, None),
        ("auto", None),
        ("cuda", None),
        ("hip", None),
        ("cuda:100", "cuda:100"),
        ({"kind": "cuda", "arch": "sm_90a"}, "cuda:90"),
        ({"kind": "cuda", "arch": "sm_89"}, "cuda:80"),
        ({"kind": "cuda", "arch": "sm_75"}, "cuda:80"),
        ({"kind": "cuda", "arch": "sm_120"}, "cuda:100"),
        ({"kind": "cuda"}, None),
        ("cuda -arch=sm_80", "cuda:80"),
        ({"kind": "hip", "mcpu": "gfx942"}, "hip:gfx942"),
        (Target({"kind": "hip", "mcpu": "gfx950"}), "hip:gfx950"),
    ],
)
def test_target_in_any_spelling_has_one_name(target, name):
    assert target_name(target) == name


@pytest.mark.parametrize(
    "target", ["metal", "llvm", {"kind": "c"}, {"kind": "cuda", "arch": "sm_70"}, "hip:gfx906", 3]
)
def test_target_that_triton_does_not_have_is_refused(target):
    with pytest.raises(ArgumentError, match="T2T503"):
        target_name(target)


def test_target_of_a_with_block_is_what_auto_means():
    with Target({"kind": "hip", "mcpu": "gfx942"}) as inner:
        assert Target.current() is inner
        assert target_name("auto") == target_name(None) == "hip:gfx942"
        assert determine_target("auto", return_object=True) is inner
    assert Target.current() is None


def test_kinds_of_targets_are_told_apart():
    mi300, mi350 = (Target({"kind": "hip", "mcpu": arch}) for arch in ("gfx942", "gfx950"))
    assert target_is_cuda("cuda")
    assert not target_is_cuda(mi300)
    assert target_is_cdna(mi300)
    assert not target_is_gfx950(mi300)
    assert target_is_gfx950(mi350)


def test_pass_configs_are_known_by_key_and_by_text():
    from tile2triton.tilelang.pass_configs import PassConfigKey

    configs = {PassConfigKey.TL_ENABLE_FAST_MATH: True, "tl.disable_tma_lower": True}
    assert normalize_pass_configs(configs) == {
        "tl.enable_fast_math": True,
        "tl.disable_tma_lower": True,
    }
    with PassContext(config=configs):
        pass


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"tl.enable_fast_maths": True}, 'did you mean "tl.enable_fast_math"'),
        ({"tirx.add_lower_pass": [(0, None)]}, "adds a pass of one's own"),
        ({"tl.device_compile_flags": "-O3 --fmad=false"}, "how results are rounded"),
        (["tl.enable_fast_math"], "must be a dict"),
    ],
)
def test_pass_config_that_would_change_results_is_refused(configs, said):
    with pytest.raises(ArgumentError, match="T2T502") as caught:
        normalize_pass_configs(configs)
    assert said in str(caught.value)


def test_tma_is_off_where_a_pass_config_says_so():
    def source(configs):
        made = jit(out_idx=[-1], target="cuda:90", pass_configs=configs)(gemm_relu.function)
        return made(256, 256, 256).triton_source

    with_tma, without = source(None), source({"tl.disable_tma_lower": True})
    assert "descriptor" in with_tma
    assert "descriptor" not in without


def test_flags_of_nvcc_are_hints_except_those_that_round():
    decorate = jit(compile_flags=["-O3", "--use_fast_math", "-Xptxas=-v"])
    assert callable(decorate)
    with pytest.raises(ArgumentError, match="T2T502"):
        jit(compile_flags="--prec-div=false")


def test_compile_takes_a_prim_func_only():
    with pytest.raises(ArgumentError, match="T2T504"):
        compile(gemm_relu)
    with pytest.raises(ArgumentError, match="T2T504"):
        compile(gemm_relu.get_tir(64, 64, 64), execution_backend="fortran")


def test_several_functions_are_compiled_in_their_order():
    functions = [gemm_relu.get_tir(size, 64, 64) for size in (64, 128)]
    kernels = par_compile(functions, out_idx=[-1], target="cuda:90")
    assert [kernel.params[0].shape[0] for kernel in kernels] == [64, 128]


def test_factory_compiles_several_configurations():
    kernels = gemm_relu.par_compile([(64, 64, 64), {"M": 128, "N": 64, "K": 64}])
    assert [kernel.params[0].shape for kernel in kernels] == [[64, 64], [128, 64]]
    with pytest.raises(TileError):
        gemm_relu.par_compile([(64,)])
    assert gemm_relu.par_compile([(64,)], ignore_error=True) == [None]


def test_architectures_know_what_their_targets_have():
    hopper, mi300 = (
        CUDA({"kind": "cuda", "arch": "sm_90a"}),
        CDNA({"kind": "hip", "mcpu": "gfx942"}),
    )
    assert is_hopper_arch(hopper)
    assert hopper.compute_capability == "90"
    assert is_cdna_arch(mi300)
    assert (hopper.warp_size, mi300.warp_size) == (32, 64)
    assert mi300.max_smem_usage == 64 * 1024
    assert isinstance(get_arch("hip"), CDNA)


def test_gpu_of_one_maker_says_nothing_of_the_others(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    hopper = SimpleNamespace(multi_processor_count=132, name="H200")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: hopper)
    assert get_arch("cuda").name == "H200"
    mi300 = get_arch("hip")
    assert (mi300.compute_capability, mi300.compute_max_core) == ("gfx942", 304)


@pytest.mark.parametrize("arch", [CUDA({"kind": "cuda", "arch": "sm_80"}), CDNA("hip:gfx942")])
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (100, 37, 1000)])
def test_proposed_tiles_fit_the_gpu(arch, shape):
    hints = MatmulTemplate(*shape, in_dtype="float16").with_arch(arch).recommend_hints(topk=12)
    assert 0 < len(hints) <= 12
    for hint in hints:
        (rows, columns), (depth,) = hint.block, hint.rstep
        assert (rows + columns) * depth * 2 * hint.pipeline_stage <= arch.max_smem_usage
        warps = (rows // hint.warp[0]) * (columns // hint.warp[1])
        assert warps in (4, 8)
        assert rows * columns <= 128 * warps * arch.warp_size
    assert len(
        {str((hint.block, hint.rstep, hint.pipeline_stage, hint.warp)) for hint in hints}
    ) == len(hints)
