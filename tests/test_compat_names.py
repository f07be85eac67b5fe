"""Every module of TileLang's that programs import, and what its names mean."""

import importlib
import inspect
import pkgutil

import pytest
import torch

import tile2triton
import tile2triton.compat
import tile2triton.language as T
from tile2triton.diagnostics import TileError
from tile2triton.environment import is_caching
from tile2triton.tilelang.absent import Absent

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(tile2triton.compat.NAMES)])
    if module.name.partition(".")[0] in ("tilelang", "tvm", "tvm_ffi")
)


def names_of(module):
    return [name for name in vars(module) if not name.startswith("__")]


@pytest.mark.parametrize("name", MODULES)
def test_module_has_every_name_that_it_exports(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module).startswith(f"`{name}`")
    for exported in getattr(module, "__all__", []):
        assert getattr(module, exported) is not None


def test_names_of_the_language_are_ours_in_every_module_that_has_them():
    import tilelang.cuda.language
    import tilelang.language
    import tilelang.rocm.language

    for module in (tilelang.language, tilelang.cuda.language, tilelang.rocm.language):
        assert set(T.__all__) <= set(names_of(module)) | {"__ldg", "__exp"} | set(dir(module))
        assert module.gemm is T.gemm
        assert module.float16 is T.float16


def test_unknown_name_of_the_language_is_no_attribute():
    import tilelang.language

    assert not hasattr(tilelang.language, "no_such_operator")


def test_missing_part_of_the_compiler_is_an_error_when_used_and_not_before():
    from tilelang.cuda.intrinsics.macro.mma_macro_generator import TensorCoreIntrinEmitter
    from tvm.tirx.stmt_functor import post_order_visit

    for name, missing in (
        ("TensorCoreIntrinEmitter", TensorCoreIntrinEmitter),
        ("post_order_visit", post_order_visit),
    ):
        assert isinstance(missing, Absent)
        with pytest.raises(TileError, match=rf"T2T501\]: `[\w.]+\.{name}` is not there"):
            missing(1, 2)
        with pytest.raises(TileError, match="T2T501"):
            _ = missing.attribute
        with pytest.raises(TileError, match="T2T501"):
            missing[0]
    with pytest.raises(TileError, match="T2T501"):

        class Mine(TensorCoreIntrinEmitter):
            pass


def test_missing_name_points_at_the_users_line():
    from tilelang.tools import plot_layout

    with pytest.raises(TileError) as caught:
        plot_layout(T.Layout((4, 4)))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.filename == __file__
    assert diagnostic.hint


def test_every_pass_config_key_is_its_text():
    from tilelang import PassConfigKey

    assert PassConfigKey.TL_DISABLE_TMA_LOWER == "tl.disable_tma_lower"
    assert PassConfigKey.TL_DISABLE_WARP_SPECIALIZED.value == "tl.disable_warp_specialized"
    assert {"tl.enable_fast_math": 1}[PassConfigKey.TL_ENABLE_FAST_MATH] == 1
    assert len({key.value for key in PassConfigKey}) == len(PassConfigKey)


def test_errors_of_the_compiler_are_ours():
    import tilelang
    import tvm

    assert tvm.TVMError is tvm.error.InternalError is TileError
    assert tilelang.tvm is tvm
    assert tvm.DataType("float16").bits == 16


def test_kernels_are_tilelangs_kernels():
    import tilelang
    from tilelang.jit import JITKernel, jit

    assert tilelang.jit is jit
    assert tilelang.JITKernel is JITKernel is tile2triton.CompiledKernel


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [("cdiv", (7, 2), 4), ("cdiv", (8, 2), 4), ("next_power_of_2", (65,), 128)],
)
def test_arithmetic_of_the_host(name, arguments, expected):
    import tilelang

    assert getattr(tilelang, name)(*arguments) == expected
    assert getattr(tilelang.math, name)(*arguments) == expected


def test_layouts_are_hints_of_the_buffers_shape():
    from tilelang.layout import make_swizzled_layout

    layout = make_swizzled_layout(torch.zeros(4, 8))
    assert layout.get_input_shape() == [4, 8]
    assert isinstance(layout.repeat(0, 2).inverse(), T.Layout)
    with pytest.raises(TileError, match="T2T508"):
        layout.map_forward_index([0, 0])
    assert T.Layout((4, 8), lambda i, j: i * 8 + j).map_forward_index([1, 2]) == [10]


def test_questions_about_element_types():
    from tilelang.language import dtypes, fp8

    assert dtypes._TORCH_DTYPE_TO_STR[torch.bfloat16] == "bfloat16"
    assert dtypes.is_float4_e2m1fn("float4_e2m1fn")
    assert not dtypes.is_float4("float16")
    assert dtypes.resolve_torch_storage_dtype("float16") == "float16"
    assert fp8.determine_fp8_type() in ("float8_e4m3fn", "float8_e4m3fnuz")
    assert fp8.determine_torch_fp8_type("e5m2") in (torch.float8_e5m2, torch.float8_e5m2fnuz)


def test_markers_of_the_profiler_are_erased(tmp_path):
    from tilelang.tools.cuda import iket

    with iket.session(output_dir=tmp_path, runtime_payloads=True):
        assert iket.runtime_payloads_enabled()
        assert iket.output_dir() == tmp_path
        with iket.range("span"):
            iket.mark("moment", payload=iket.payload(1, dtype="int32"))
        assert iket.event_table() == iket.trace_files() == []
    assert not iket.runtime_payloads_enabled()
    assert iket.output_path("x.cu", directory=tmp_path / "new").parent.is_dir()


def test_sizes_that_are_known_at_the_launch_are_variables():
    assert isinstance(T.dynamic("m"), T.Var)
    assert not isinstance(1024, T.Var)


def test_settings_of_the_cache_are_kept():
    import tilelang

    tilelang.disable_cache()
    assert not tilelang.is_cache_enabled()
    assert not is_caching()
    tilelang.enable_cache()
    assert tilelang.env.is_cache_enabled()
