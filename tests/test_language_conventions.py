"""What TileLang's programs take for granted of kernels, outputs, options and element types."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.tilelang.dtype_questions import is_float4, resolve_torch_storage_dtype
from tile2triton.tilelang.frames import IRBuilderFrame


@tile2triton.kernel
def halves(A):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    low = T.empty((n,), "float32")
    high = T.empty((n + 1,), "float32")
    with T.Kernel(1, threads=32):
        for i in T.serial(n):
            low[i] = A[i] - 1
        for i in T.serial(n + 1):
            high[i] = i
    return low, high


def test_several_outputs_come_as_a_list(device):
    a = torch.randn(9, device=device)
    made = halves(a)
    assert isinstance(made, list)
    assert torch.equal(made[0], a - 1) and made[1].tolist() == list(range(10))


@T.prim_func
def made_inside(A, scale: T.int32):
    T.annotate_pass_configs({"tl.enable_fast_math": True})
    A: T.Tensor((12,), "float32")
    B = T.empty((12,), "float32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(12):
            B[i] = A[i] * scale
    return B


def test_prim_func_may_declare_its_tensors_and_make_its_outputs(device):
    a = torch.randn(12, device=device)
    kernel = tile2triton.compile(made_inside)
    torch.testing.assert_close(kernel(a, 3), a * 3)
    torch.testing.assert_close(torch.as_tensor(kernel.reference(a.cpu(), 3)), a.cpu() * 3)
    assert made_inside.attrs == {
        "global_symbol": "made_inside",
        "tilelang_out_idx": [-1],
        "tilelang_pass_configs": {"tl.enable_fast_math": True},
    }
    assert kernel.prim_func.attrs["tilelang_out_idx"] == [2]


def test_outputs_of_both_kinds_are_refused():
    with pytest.raises(ValueError, match="Out index conflict"):
        tile2triton.compile(made_inside, out_idx=[0])


def test_parameter_without_any_declaration_is_refused():
    @T.prim_func
    def main(A):
        with T.Kernel(1, threads=32):
            A[0] = 1

    with pytest.raises(tile2triton.Error, match=r"T2T174.*parameter `A` has no type"):
        tile2triton.compile(main)


def test_copy_between_tensors_is_as_long_as_its_source(device):
    @T.prim_func
    def main(A: T.Tensor((5, 8), "float32"), B: T.Tensor((5, 8), "float32")):
        with T.Kernel(1, threads=32):
            T.copy(A[:, :2], B[:, 3:7])

    a, b = torch.randn(5, 8, device=device), torch.zeros(5, 8, device=device)
    kernel = tile2triton.compile(main)
    kernel(a, b)
    expected = torch.zeros(5, 8, device=device)
    expected[:, 3:5] = a[:, :2]
    assert torch.equal(b, expected)
    here = torch.zeros(5, 8)
    kernel.reference(a.cpu(), here)
    assert torch.equal(here, expected.cpu())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"round": "nearest"}, "Invalid round"),
        ({"sat": "no"}, "Invalid sat"),
        ({"round": "rs"}, "rbits is required"),
        ({"rbits": 7}, "rbits is only valid"),
    ],
)
def test_options_that_no_cast_has_are_refused_where_they_are_written(options, words):
    with pytest.raises(ValueError, match=f"T2T624.*{words}"):
        T.cast(1.0, "float8_e4m3fn", **options)


@pytest.mark.parametrize(
    ("options", "code"), [({"round": "rz"}, "T2T290"), ({"sat": False}, "T2T625")]
)
def test_casts_that_are_not_done_are_refused_in_kernels(options, code):
    T.cast(1.0, "float8_e4m3fn", **options)

    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float8_e4m3fn")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = T.cast(A[i], "float8_e4m3fn", **options)

    with pytest.raises(tile2triton.Error, match=code):
        tile2triton.compile(main)


def test_wide_casts_have_nothing_to_saturate(device):
    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = T.cast(A[i], "float16", round="rn", sat=False)

    a = torch.randn(8, device=device)
    assert torch.equal(tile2triton.compile(main, out_idx=[1])(a), a.half())


@pytest.mark.parametrize("threads", [0, -1, (128, 0)])
def test_threads_are_positive(threads):
    @T.prim_func
    def main(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=threads):
            A[0] = 1

    with pytest.raises(ValueError, match=r"T2T261.*threads must be positive"):
        tile2triton.compile(main)


def test_unknown_argument_is_a_type_error_wherever_it_stands():
    with pytest.raises(TypeError, match=r"T2T160.*use_2cta"):
        T.gemm(None, None, None, use_2cta=True)


def test_storage_of_narrow_types_has_a_name():
    assert resolve_torch_storage_dtype(T.float16) == T.float16
    assert resolve_torch_storage_dtype(T.int4) == T.int8
    has_pairs = hasattr(torch, "float4_e2m1fn_x2")
    pairs = T.float4_e2m1fnx2 if has_pairs else T.int8
    assert resolve_torch_storage_dtype(T.float4_e2m1fn) == pairs


@pytest.mark.parametrize("name", ["float4_e2m1fn", "custom[float4_e2m1_unpacked]8"])
def test_floats_of_four_bits_are_known_by_all_their_names(name):
    assert is_float4(name) and not is_float4("float16")
    assert not hasattr(T, "float4_e2m1_unpackedx2")


def test_types_of_a_product_mix_where_both_are_narrow():
    assert T.is_f8f6f4_family("float6_e2m3fn") and not T.is_f8f6f4_family(T.float16)
    assert T.is_float4_e2m1fn("float4_e2m1fn") and not T.is_float4_e2m1fn("float4_e2m1_unpacked")
    assert T.is_float4_e2m1_unpacked("float4_e2m1_unpacked") and T.is_float4("float4_e2m1fnx2")
    T.validate_gemm_ab_dtypes("float16", T.float16)
    T.validate_gemm_ab_dtypes("float16", "float32", a_in_tmem=True)
    T.validate_gemm_ab_dtypes("float8_e4m3fn", "float4_e2m1fn", allow_f8f6f4_mixed=True)
    for types in (("float16", "bfloat16"), ("float8_e4m3fn", "float8_e5m2")):
        with pytest.raises(ValueError, match="T2T627"):
            T.validate_gemm_ab_dtypes(*types)


def test_kernels_of_the_eager_style_have_a_class_and_types_a_name():
    assert isinstance(halves, T.JITFunc) and not isinstance(made_inside, T.JITFunc)
    assert isinstance("float16", T.AnyDType) and not isinstance(16, T.AnyDType)


def test_swizzled_layouts_are_hints(device):
    @tile2triton.kernel(out_idx=[1])
    def factory(is_swizzled):
        @T.prim_func
        def main(A: T.Tensor((32, 64), "float16"), B: T.Tensor((32, 64), "float16")):
            with T.Kernel(1, threads=32):
                tile = T.alloc_shared((32, 64), "float16")
                if is_swizzled:
                    T.annotate_layout({tile: T.make_mma_swizzle_layout(tile)})
                T.copy(A, tile)
                T.copy(tile, B)

        return main

    a = torch.randn(32, 64, device=device).half()
    assert torch.equal(factory(True)(a), a)
    assert T.get_swizzle_layout(3, 5, 64, "float16") == (3, 5)


@pytest.mark.parametrize(
    ("name", "columns", "stored", "names"),
    [
        ("int4", 16, 8, ("int8",)),
        ("uint4", 16, 8, ("uint8",)),
        ("float4_e2m1fn", 16, 8, ("float4_e2m1fn_x2", "int8")),
        ("float4_e2m1fnx2", 16, 16, ("float4_e2m1fn_x2", "int8")),
        ("float8_e8m0fnu", 5, 5, ("float8_e8m0fnu",)),
    ],
)
def test_outputs_of_narrow_types_are_allocated_as_torch_stores_them(name, columns, stored, names):
    @T.prim_func
    def main(n: T.int32):
        B = T.empty((3, columns), name)
        C = T.empty((n, n * columns), name)
        with T.Kernel(1, threads=1):
            T.evaluate(0)
        return B, C

    b, c = tile2triton.compile(main)(2)
    kind = next(getattr(torch, one) for one in names if hasattr(torch, one))
    assert b.dtype == c.dtype == kind
    assert b.shape == (3, stored) and c.shape == (2, 2 * stored)


def test_elements_of_narrow_outputs_cannot_be_used():
    @T.prim_func
    def main(n: T.int32):
        B = T.empty((3, 16), "int4")
        with T.Kernel(1, threads=1):
            B[0, 0] = n
        return B

    with pytest.raises(tile2triton.Error, match=r"T2T605.*`B` holds"):
        tile2triton.compile(main)


def test_narrow_outputs_fill_their_bytes():
    @T.prim_func
    def main(n: T.int32):
        B = T.empty((3, 15), "int4")
        with T.Kernel(1, threads=1):
            T.evaluate(0)
        return B

    with pytest.raises(tile2triton.Error, match=r"T2T550.*2 elements in a byte"):
        tile2triton.compile(main)


def test_loops_that_count_by_ones_are_frames():
    assert isinstance(T.serial(1, 10, 1), IRBuilderFrame)
    assert isinstance(T.serial(10), IRBuilderFrame)
    assert not isinstance(T.serial(10, -1, -1), IRBuilderFrame)
    assert not isinstance(T.serial(1, 10, T.dynamic("step")), IRBuilderFrame)
