"""`kernel.get_profiler()` and its kin: inputs, comparisons, what kernels say of themselves."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.kernels.gemm_relu import gemm_relu
from tile2triton.diagnostics import TileError
from tile2triton.supply import TensorSupplyType
from tile2triton.tilelang.analyzer import Analyzer
from tile2triton.tilelang.arch import CUDA
from tile2triton.tilelang.closeness import torch_assert_close
from tile2triton.tilelang.inputs import get_tensor_supply
from tile2triton.tilelang.jit import compile
from tile2triton.tilelang.parameters import KernelParam, Symbol


@tile2triton.kernel(out_idx=[1, -1])
def two_outputs(n, block=32):
    @T.prim_func
    def main(
        A: T.Tensor((n,), "float32"),
        plus: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float32"),
        minus: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, block), threads=32) as bx:
            for i in T.Parallel(block):
                plus[bx * block + i] = A[bx * block + i] + B[bx * block + i]
                minus[bx * block + i] = A[bx * block + i] - B[bx * block + i]

    return main


@tile2triton.kernel
def halved(A, block=32):
    m, n = T.dynamic("m"), T.const("n")
    A: T.Tensor((m, n), "float32")
    B = T.empty((m, n), "float32")
    with T.Kernel(m, T.ceildiv(n, block), threads=32) as (row, bx):
        for i in T.Parallel(block):
            B[row, bx * block + i] = A[row, bx * block + i] * 0.5
    return B


@tile2triton.kernel
def more_by_one(A, B, block=32):
    n, rows = T.const("n, rows")
    m = T.dynamic("m")
    blocks = T.ceildiv(n, rows)
    A: T.Tensor((m, blocks, rows), "float32")
    B: T.Tensor((T.ceildiv(m, 4), blocks), "float32")
    C = T.empty((m, blocks, rows), "float32")
    flat_in = T.Tensor((m * blocks * rows,), "float32", A.data)
    flat_out = T.Tensor((m * blocks * rows,), "float32", C.data)
    with T.Kernel(T.ceildiv(m * blocks * rows, block), threads=32) as bx:
        for i in T.Parallel(block):
            flat_out[bx * block + i] = flat_in[bx * block + i] + B[0, 0]
    return C


def test_sizes_that_are_arithmetic_are_computed_and_views_are_no_parameters():
    kernel = more_by_one.compile(n=10, rows=4)
    m = Symbol("m")
    assert [one.shape for one in kernel.params] == [
        [m, 3, 4],
        [Symbol("T.ceildiv(m, 4)"), 3],
        [m, 3, 4],
    ]
    assert kernel.out_idx == [2]
    profiler = kernel.get_profiler()
    a, b = profiler._get_inputs(dynamic_symbolic_constraints={"m": 9})
    assert (a.shape, b.shape) == ((9, 3, 4), (3, 3))
    assert kernel(a, b).equal(a + b[0, 0])
    assert len(profiler._get_inputs(True, {"m": 9})) == 3
    with pytest.raises(TileError, match=r'(?s)T2T506.*`m` is.*\{"m": 1024\}'):
        profiler.do_bench()
    with pytest.raises(TileError, match=r'(?s)T2T506.*T.ceildiv\(m, 4\)` is.*\{"m": 1024\}'):
        get_tensor_supply()(kernel.params[1])


def test_profiler_compares_every_output_on_inputs_of_the_kernels_shapes():
    profiler = two_outputs(50).get_profiler()
    seen = []

    def reference(a, b):
        seen.extend([a.shape, b.shape])
        return a + b, a - b

    profiler.assert_allclose(reference, atol=1e-6, rtol=1e-6, max_mismatched_ratio=0)
    assert seen == [(50,), (50,)]


def test_profiler_fails_where_an_output_is_wrong():
    profiler = two_outputs(50).get_profiler(TensorSupplyType.Normal)
    with pytest.raises(AssertionError, match="50 of 50 elements differ"):
        profiler.assert_allclose(lambda a, b: (a + b, a - b + 1), atol=1e-6, rtol=1e-6)
    with pytest.raises(AssertionError, match="returns 2 tensors, the reference 1"):
        profiler.assert_allclose(lambda a, b: a + b)


def test_profiler_says_nothing_of_an_output_without_a_reference():
    two_outputs(50).get_profiler().assert_allclose(lambda a, b: (None, a - b))


def test_profiler_takes_inputs_and_a_comparison_of_ones_own():
    found = []
    inputs = [torch.ones(50), torch.full((50,), 2.0)]
    two_outputs(50).get_profiler().manual_assert_close(
        lambda a, b: (a, b), inputs, lambda ours, theirs: found.append((ours, theirs))
    )
    ((ours, theirs),) = found
    assert [float(one[0]) for one in (*ours, *theirs)] == [3.0, -1.0, 1.0, 2.0]


def test_profiler_runs_once_measures_and_repeats():
    profiler = two_outputs(50).get_profiler()
    assert len(profiler.run_once()) == 2
    profiler.assert_consistent(repeat=2)
    assert profiler.do_bench(n_warmup=1, n_repeat=2, return_mode="median") > 0
    low, high = profiler.do_bench(n_warmup=1, n_repeat=3, quantiles=[0.2, 0.8], backend="cupti")
    assert 0 < low <= high
    assert profiler.do_bench(lambda a, b: a, n_warmup=1, n_repeat=1) > 0


def test_sizes_of_the_launch_are_given_by_name():
    profiler = halved.compile(n=8).get_profiler()
    with pytest.raises(TileError, match=r"T2T506.*`m` is known at the launch only"):
        profiler.do_bench()
    assert profiler.do_bench(n_warmup=1, n_repeat=1, dynamic_symbolic_constraints={"m": 3}) > 0
    profiler.assert_allclose(lambda a: a / 2, [torch.randn(5, 8)])


def test_kernel_describes_its_parameters():
    kernel = two_outputs(50)
    assert kernel.out_idx == [1, 3]
    assert "T.Kernel" in kernel.prim_func.script()
    assert [(str(one.dtype), one.shape) for one in kernel.params] == [("float32", [50])] * 4
    eager = halved.compile(n=8)
    assert eager.out_idx == [1]
    assert eager.params[0].shape == [Symbol("m"), 8]
    assert eager.params[0].torch_dtype() is torch.float32


@pytest.mark.parametrize("kind", TensorSupplyType)
@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8", "bool", "float8_e4m3fn", "int64"])
def test_input_of_every_kind_has_the_parameters_shape_and_type(kind, dtype):
    made = get_tensor_supply(kind)(KernelParam(T.dtype(dtype), [3, 4]))
    assert made.shape == (3, 4)
    assert made.dtype == getattr(torch, dtype)


def test_number_cannot_be_made_up():
    with pytest.raises(ValueError, match="T2T506"):
        get_tensor_supply()(KernelParam(T.dtype("int32"), []))


def test_kernel_gives_its_source_in_every_way(tmp_path, capsys):
    kernel = two_outputs(50)
    kernel.show_source()
    kernel.print_source_code("both")
    assert capsys.readouterr().out == f"{kernel.kernel_source}\n" * 2
    kernel.export_sources(tmp_path / "new" / "kernel.py", tmp_path / "host.py")
    kernel.print_source_code(file=tmp_path / "third.py")
    for path in ("new/kernel.py", "host.py", "third.py"):
        assert (tmp_path / path).read_text() == kernel.get_kernel_source(kernel_only=False)


@pytest.mark.parametrize("name", ["export_library", "export_ptx", "export_sass"])
def test_what_is_no_triton_module_cannot_be_exported(name, tmp_path):
    with pytest.raises(TileError, match=f"T2T505.*`{name}`"):
        getattr(two_outputs(50), name)(str(tmp_path / "kernel.so"))


def test_what_tuning_found_is_kept_with_the_kernel():
    kernel = two_outputs(51)
    assert kernel.latency is kernel.config is kernel.ref_latency is None
    with pytest.raises(ValueError, match="not tuned"):
        kernel.get_tuner_result()
    kernel.update_tuner_result(0.5, {"block": 32}, None)
    assert (kernel.latency, kernel.config) == (0.5, {"block": 32})
    kernel(torch.ones(51), torch.ones(51))
    assert kernel.get_tuner_result()["latency"] == 0.5


def test_traced_functions_of_both_styles_compile_to_the_same_kernels():
    tir = two_outputs.get_tir(50)
    assert compile(tir, out_idx=[1, -1]).triton_source == two_outputs(50).triton_source
    eager = halved.get_tir(n=8)
    assert compile(eager).triton_source == halved.compile(n=8).triton_source
    assert "T.Kernel" in eager.script()
    assert "T.Kernel" in tir.script()
    with pytest.raises(TileError, match="T2T183"):
        compile(eager, out_idx=[0])


def test_tensors_are_close_up_to_a_share_of_their_elements():
    a = torch.zeros(1000)
    b = a.clone()
    b[:5] = 1.0
    assert torch_assert_close(a, b, max_mismatched_ratio=0.005)
    with pytest.raises(AssertionError, match=r"5 of 1000 elements differ, 0\.50%, where 4 may"):
        torch_assert_close(a, b, max_mismatched_ratio=0.0049)
    with pytest.raises(AssertionError, match=r"first at \(0,\): LHS 0.0, RHS 1.0"):
        torch_assert_close(a, b, max_mismatched_ratio=0)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (torch.zeros(3), "shape differs"),
        (torch.zeros(4, dtype=torch.float16), "dtype differs"),
        (torch.zeros(8)[::2], "strides differ"),
    ],
)
def test_tensors_of_different_kinds_are_not_close(other, said):
    with pytest.raises(AssertionError, match=said):
        torch_assert_close(torch.zeros(4), other, check_stride=True)


def test_small_floats_and_large_integers_are_compared_exactly():
    tiny = torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn)
    assert torch_assert_close(tiny, tiny.clone())
    large = torch.tensor([2**31], dtype=torch.uint32)
    with pytest.raises(AssertionError):
        torch_assert_close(large, large.to(torch.int64).sub(1).to(torch.uint32), rtol=0, atol=0)


def test_analyzer_counts_operations_and_bytes():
    result = Analyzer.analysis(
        gemm_relu.get_tir(512, 256, 1024), CUDA({"kind": "cuda", "arch": "sm_90"})
    )
    assert result.total_flops == 2 * 512 * 256 * 1024
    assert result.total_global_bytes > (512 * 1024 + 1024 * 256 + 512 * 256) * 2
    assert result.estimated_time > 0


def test_analyzer_says_which_size_it_does_not_know():
    with pytest.raises(TileError, match=r"T2T509.*`m`"):
        Analyzer.analysis(halved.get_tir(n=8), CUDA({"kind": "cuda", "arch": "sm_90"}))
