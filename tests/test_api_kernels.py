"""The public interface: how kernels are made, called, compiled, saved and refused."""

import dataclasses
import subprocess
import sys
import threading
import timeit

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton import runtime
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.lazy import LazyKernel


@tile2triton.kernel
def scale_rows(A, factor=2.0, block=4):
    m, n = T.dynamic("m"), T.const("n")
    A: T.Tensor((m, n), "float32")
    B = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(m, block), threads=32) as bx:
        tile = T.alloc_fragment((block, n), "float32")
        T.copy(A[bx * block, 0], tile)
        for i, j in T.Parallel(block, n):
            tile[i, j] = tile[i, j] * factor
        T.copy(tile, B[bx * block, 0])
    return B


@tile2triton.kernel
def halve(A, block=32):
    m = T.dynamic("m")
    A: T.Tensor((m,), "float32")
    B = T.empty((m,), "float32")
    with T.Kernel(T.ceildiv(m, block), threads=32) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] / 2
    return B


@tile2triton.jit(out_idx=[-1], pass_configs={"tl.disable_tma_lower": True}, verbose=False)
def make_add(n, block=32, dtype="float32"):
    @T.prim_func
    def add(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=32) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add


@pytest.fixture
def counted(monkeypatch):
    """How often an emitted module is loaded; launchers give the arguments back."""
    loads = []

    def load(text, name):
        loads.append(name)
        return lambda *arguments: arguments

    monkeypatch.setattr(runtime, "load", load)
    return loads


def fresh(kernel):
    """The kernel with empty caches."""
    return type(kernel).__mro__[1](kernel.captured, kernel.options)


def test_the_style_is_seen_from_the_function():
    assert isinstance(scale_rows, EagerKernel)
    assert isinstance(make_add, LazyKernel)
    assert scale_rows.__name__ == "scale_rows"


def test_eager_kernel_runs_on_tensors():
    A = torch.randn(10, 24)
    torch.testing.assert_close(scale_rows(A), A * 2)
    torch.testing.assert_close(scale_rows(A, factor=3.0, block=2), A * 3)
    torch.testing.assert_close(scale_rows(A=A, block=2), A * 2)


def test_lazy_kernel_runs_on_tensors():
    a, b = torch.randn(100), torch.randn(100)
    torch.testing.assert_close(make_add(100)(a, b), a + b)


def test_lazy_kernels_are_made_once_for_each_argument():
    assert make_add(64) is make_add(64, block=32)
    assert make_add(64) is make_add(n=64, dtype="float32")
    assert make_add(64) is not make_add(64, block=16)
    assert make_add(64).options.recorded == (
        ("pass_configs", {"tl.disable_tma_lower": True}),
        ("verbose", False),
    )


def test_dynamic_sizes_never_compile_anew_and_const_sizes_do(counted):
    kernel = fresh(scale_rows)
    for rows in (1, 7, 1000):
        kernel(torch.empty(rows, 24))
    assert len(counted) == 1
    kernel(torch.empty(7, 25))
    assert len(counted) == 2
    kernel(torch.empty(8, 24), 2.0)
    assert len(counted) == 2
    kernel(torch.empty(8, 24), 3.0)
    assert len(counted) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (2, 2.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        ((1, 2), (1, 2.0)),
        ((True,), (1,)),
        ([0.0], [-0.0]),
        ({"a": 1}, {"a": 1.0}),
        ("float32", T.float32),
    ],
)
def test_arguments_that_python_calls_equal_have_kernels_of_their_own(counted, first, second):
    @tile2triton.kernel
    def program(A, x):
        A: T.Tensor((4,), "float32")
        with T.Kernel(1, threads=32):
            A[0] = 1

    @tile2triton.kernel
    def factory(x):
        @T.prim_func
        def main(A: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=32):
                A[0] = 1

        return main

    A = torch.empty(4)
    for _ in range(2):
        program(A, first)
        program(A, second)
    assert len(program._kernels) == 2
    assert len(counted) == 2
    assert program.compile(x=first) is not program.compile(x=second)
    assert factory(first) is not factory(second)
    assert factory(first) is factory(first)


def test_static_arguments_are_used_with_their_own_types():
    @tile2triton.kernel
    def scaled(A, by):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = A[i] * (10.0 if type(by) is bool else 1.0) * by
        return B

    A = torch.ones(4)
    assert scaled(A, 1)[0] == 1
    assert scaled(A, True)[0] == 10
    for by in (0.0, -0.0):
        assert f"\nby = {by}\n" in scaled.compile(by=by).triton_source


def test_an_equal_dataclass_is_the_same_argument_and_a_changed_one_is_not(counted):
    @dataclasses.dataclass
    class Config:
        block: int
        scale: float = 1.0

    kernel = scale_rows_by_config()
    config, A = Config(4), torch.empty(4, 24)
    kernel(A, config)
    kernel(A, Config(4))
    assert len(counted) == 1
    config.block = 8
    kernel(A, config)
    assert len(counted) == 2


def test_an_object_stands_for_itself(counted):
    class Config:
        block = 4

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    kernel = scale_rows_by_config()
    config, A = Config(), torch.empty(4, 24)
    kernel(A, config)
    kernel(A, config)
    assert len(counted) == 1
    kernel(A, Config())
    assert len(counted) == 2


def scale_rows_by_config():
    @tile2triton.kernel
    def program(A, config):
        m, n = T.dynamic("m"), T.const("n")
        A: T.Tensor((m, n), "float32")
        with T.Kernel(T.ceildiv(m, config.block), threads=32) as bx:
            A[bx * config.block, 0] = 1

    return program


def test_threads_that_call_at_once_compile_once(counted):
    kernel = fresh(scale_rows)
    A = torch.empty(4, 24)
    threads = [threading.Thread(target=kernel, args=(A,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(counted)) == 1
    assert len(kernel._kernels) == 1


def test_a_repeated_call_costs_less_than_a_microsecond(counted):
    kernel, A = fresh(scale_rows), torch.empty(4, 24)
    kernel(A)
    arguments = (A,)

    def best(call):
        return min(timeit.repeat(lambda: call(A), number=2000, repeat=7)) / 2000

    overhead = best(kernel) - best(lambda A: arguments)
    # Twice what is promised, because other processes may run on the machine.
    assert overhead < 2e-6


def test_a_compiled_kernel_is_its_launcher(counted):
    kernel = scale_rows.compile(n=24, block=8)
    A = torch.empty(4, 24)
    kernel(A)
    assert type(kernel).__call__ is kernel.launcher()
    assert isinstance(kernel, tile2triton.CompiledKernel)


def test_compile_takes_the_sizes_by_name_or_from_tensors():
    by_name = scale_rows.compile(n=24)
    assert "n = 24" in by_name.triton_source
    assert scale_rows.compile(torch.empty(3, 24)) is by_name
    assert scale_rows.compile(A=T.Tensor((3, 24), "float32")) is by_name


def test_compile_of_a_prim_func():
    @T.prim_func
    def negate(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = -A[i]

    kernel = tile2triton.compile(negate, out_idx=1, target="cuda:90")
    A = torch.randn(64)
    torch.testing.assert_close(kernel(A), -A)
    assert kernel.target == "cuda:90"


def test_transpile_takes_every_style():
    assert "def scale_rows(A)" in tile2triton.transpile(scale_rows, n=24).triton_source
    assert "def add(A, B)" in tile2triton.transpile(make_add, 64, block=16).triton_source
    other = tile2triton.transpile(scale_rows, n=24, target="cuda:80")
    assert other.target == "cuda:80"


def test_source_can_be_saved_and_seen_after_each_pass(tmp_path):
    kernel = scale_rows.compile(n=24)
    path = kernel.save(tmp_path / "scale_rows.py")
    assert path.read_text(encoding="utf-8") == kernel.triton_source == kernel.get_kernel_source()
    assert "T.copy(A[bx * block, 0], tile)" in kernel.after("trace")
    assert "tl.load" in kernel.after("lower_program")
    assert kernel.program.facts.name == "scale_rows"


def test_reference_runs_the_tile_program_on_numpy():
    A = np.random.default_rng(0).standard_normal((10, 24), dtype=np.float32)
    np.testing.assert_array_equal(scale_rows.compile(n=24).reference(A), A * 2)


@pytest.mark.parametrize("array", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_reference_of_an_eager_kernel_takes_the_sizes_from_the_arrays(array):
    A = np.random.default_rng(0).standard_normal((10, 24), dtype=np.float32)
    np.testing.assert_array_equal(scale_rows.reference(array(A)), A * 2)
    np.testing.assert_array_equal(scale_rows.reference(array(A[:3]), factor=3.0), A[:3] * 3)
    np.testing.assert_array_equal(scale_rows.reference(A=array(A), block=2), A * 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "argument"),
        ((1, 2, 3, 4), "argument"),
        ((None,), "`A` must be a tensor, but is None"),
        ((np.zeros(24, np.float32),), "`A` must have 2 dimensions, but has 1"),
    ],
)
def test_reference_of_an_eager_kernel_refuses_wrong_arguments(arguments, words):
    with pytest.raises(tile2triton.Error, match=words):
        scale_rows.reference(*arguments)


def test_kernel_without_sizes_to_know_shows_its_source_at_once(tmp_path):
    assert "def halve(A)" in halve.triton_source
    assert halve.triton_source == halve.compile().triton_source == halve.get_kernel_source()
    path = halve.save(tmp_path / "halve.py")
    assert path.read_text(encoding="utf-8") == halve.triton_source
    assert "T.ceildiv(m, block)" in halve.after("trace")


@pytest.mark.parametrize(
    ("use", "written"),
    [
        (lambda kernel: kernel.triton_source, "triton_source"),
        (lambda kernel: kernel.save("unused.py"), "save(path)"),
        (lambda kernel: kernel.after("trace"), 'after("trace")'),
    ],
    ids=["triton_source", "save", "after"],
)
def test_kernel_with_unknown_sizes_says_how_to_give_them(use, written):
    @tile2triton.kernel
    def program(A, B, block):
        M, N = T.const("M, N")
        K = T.const("K")
        A: T.Tensor((M, N), "float32")
        B: T.Tensor((K,), "float32")
        with T.Kernel(1):
            A[0, 0] = B[block]

    with pytest.raises(tile2triton.Error) as raised:
        use(scale_rows)
    assert f"write `scale_rows.compile(n=...).{written}`" in str(raised.value)
    with pytest.raises(tile2triton.Error) as raised:
        use(program)
    assert f"write `program.compile(block=..., M=..., N=..., K=...).{written}`" in str(raised.value)


def test_kernel_without_outputs_returns_none():
    @tile2triton.kernel
    def double(A):
        A: T.Tensor((64,), "float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                A[i] = A[i] * 2

    A = torch.ones(64)
    assert double(A) is None
    torch.testing.assert_close(A, torch.full((64,), 2.0))


def test_parameters_may_be_annotated_in_the_signature():
    @tile2triton.kernel
    def shift(A: T.Tensor((64,), T.float32), by: T.float32, twice: bool = False):
        B = T.empty((64,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = A[i] + (by * 2 if twice else by)
        return B

    A = torch.zeros(64)
    assert shift.statics == ("twice",)
    torch.testing.assert_close(shift(A, 1.5), A + 1.5)
    torch.testing.assert_close(shift(A, 1.5, twice=True), A + 3)


def test_declarations_may_depend_on_static_arguments():
    @tile2triton.kernel
    def total(A, transposed=False):
        M, N = T.const("M, N")
        shape = (N, M) if transposed else (M, N)
        A: T.Tensor(shape, "float32")
        B = T.empty((1,), "float32")
        assert M == 2
        with T.Kernel(1, threads=32):
            B[0] = T.cast(N, "float32")
        return B

    assert total(torch.empty(2, 5)).item() == 5
    assert total(torch.empty(7, 2), True).item() == 7


def test_several_outputs_are_returned_in_order():
    @tile2triton.kernel
    def both(A):
        n = T.const("n")
        A: T.Tensor((n,), "float32")
        less, more = T.empty((n,), "float32"), T.empty(n, dtype="float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                less[i] = A[i] - 1
                more[i] = A[i] + 1
        return less, more

    A = torch.randn(16)
    less, more = both(A)
    torch.testing.assert_close(less, A - 1)
    torch.testing.assert_close(more, A + 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None,), ("`A`", "None")),
        ((3.0,), ("`A`", "float")),
        ((torch.empty(24),), ("`A`", "2", "1")),
        ((np.zeros(24, dtype=np.float32),), ("`A`", "2", "1")),
    ],
)
def test_eager_argument_that_is_no_tensor_is_refused(arguments, words):
    with pytest.raises(TypeError) as raised:
        scale_rows(*arguments)
    assert isinstance(raised.value, tile2triton.Error)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4)])
def test_wrong_number_of_arguments_is_refused(arguments):
    with pytest.raises(TypeError, match="argument"):
        scale_rows(*arguments)
    with pytest.raises(TypeError, match="argument"):
        make_add(*arguments)


def test_unknown_size_is_refused():
    with pytest.raises(TypeError, match="unexpected argument `k`"):
        scale_rows.compile(n=24, k=3)
    with pytest.raises(tile2triton.Error, match="the value of `n` is not known"):
        scale_rows.compile()


def test_unknown_target_is_refused():
    with pytest.raises(tile2triton.Error, match="hip:gfx942"):
        tile2triton.kernel(target="cuda:75")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out_index": [0]}, "there is no option `out_index`.*did you mean `out_idx`"),
        ({"numwarps": 3}, "there is no option `numwarps`.*use one of out_idx, target"),
        ({"pass_configs": 3}, "pass_configs must be a dict"),
        ({"out_idx": [1, 1]}, "out_idx names the parameter 1 twice"),
        ({"out_idx": ["a"]}, "out_idx holds `'a'`, which is no number"),
        ({"out_idx": "a"}, "out_idx holds `'a'`, which is no number"),
        ({"out_idx": [1.5]}, "out_idx holds `1.5`"),
        ({"out_idx": True}, "out_idx holds `True`"),
    ],
)
def test_option_that_does_not_exist_is_refused(options, words):
    with pytest.raises(tile2triton.Error, match=f"(?s){words}"):
        tile2triton.kernel(**options)


def test_every_option_of_tilelang_is_taken():
    options = {
        "target_host": "c",
        "execution_backend": "cython",
        "verbose": True,
        "pass_configs": {},
        "debug_root_path": "x",
        "compile_flags": ["-O3"],
    }
    kernel = tile2triton.kernel(out_idx=-1, target="auto", **options)(make_add.function)
    assert dict(kernel.options.recorded) == options


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (int, "def"),
        (3, "a kernel is a Python function, not `3`"),
        (make_add, "`make_add` is a kernel already"),
        (T.prim_func(lambda: None), r"tile2triton\.compile"),
    ],
)
def test_only_a_function_can_be_a_kernel(value, words):
    with pytest.raises(tile2triton.Error, match=f"(?s)T2T414.*{words}"):
        tile2triton.kernel(value)


@pytest.mark.parametrize("use", [tile2triton.compile, tile2triton.transpile, T.prim_func, T.macro])
def test_a_number_is_refused_where_a_function_is_needed(use):
    with pytest.raises(tile2triton.Error, match=r"T2T414.*not `3`"):
        use(3)


def test_compiling_a_kernel_takes_no_options_but_the_target():
    assert tile2triton.compile(halve, target="cuda:80").target == "cuda:80"
    with pytest.raises(tile2triton.Error, match=r"so `out_idx` is not taken"):
        tile2triton.compile(make_add, out_idx=[1])
    with pytest.raises(tile2triton.Error, match=r"so `verbose` is not taken"):
        tile2triton.compile(halve, verbose=True)
    with pytest.raises(tile2triton.Error, match=r"so `out_idx` is not taken"):
        tile2triton.transpile(make_add, 64, out_idx=[1])


def test_lambda_cannot_be_a_kernel():
    with pytest.raises(tile2triton.Error, match=r"T2T103.*: a lambda cannot be a kernel") as raised:
        tile2triton.kernel(lambda A: A)
    assert raised.value.diagnostics[0].filename == __file__


def test_out_idx_of_an_eager_kernel_is_refused():
    with pytest.raises(tile2triton.Error, match=r"T\.empty"):

        @tile2triton.kernel(out_idx=[0])
        def program(A):
            A: T.Tensor((4,), "float32")
            with T.Kernel(1):
                A[0] = 1


def test_out_idx_that_names_no_tensor_is_refused():
    @T.prim_func
    def program(n: T.int32, A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A[0] = T.cast(n, "float32")

    for index in (0, 2, -3):
        with pytest.raises(tile2triton.Error, match=f"out_idx={index} names no tensor"):
            tile2triton.compile(program, out_idx=index)
    with pytest.raises(tile2triton.Error, match="out_idx names `A` of `program` twice"):
        tile2triton.compile(program, out_idx=[1, -1])


def test_factory_without_a_kernel_is_refused():
    @tile2triton.kernel
    def factory(n, make):
        return make(n)

    with pytest.raises(tile2triton.Error, match="returned no kernel"):
        factory(3, int)

    @tile2triton.kernel
    def number(n):
        return n

    with pytest.raises(tile2triton.Error, match="returns a function under"):
        number(3)


def test_outputs_must_be_returned():
    @tile2triton.kernel
    def forgets(A):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            B[0] = A[0]

    @tile2triton.kernel
    def returns_an_input(A):
        A: T.Tensor((4,), "float32")
        with T.Kernel(1):
            A[0] = 1
        return A

    with pytest.raises(tile2triton.Error, match=r"`B` is from T\.empty, but it is not returned"):
        forgets(torch.empty(4))
    with pytest.raises(tile2triton.Error, match=r"which is not from T\.empty"):
        returns_an_input(torch.empty(4))


def test_transpiling_imports_neither_torch_nor_triton():
    code = (
        "import sys; import tests.kernels.gemm as g; "
        "g.gemm.compile(M=64, N=64, K=64, block_M=32, block_N=32, block_K=32).triton_source; "
        "assert not {'torch', 'triton'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_language_name_that_does_not_exist_suggests_one():
    with pytest.raises(AttributeError, match=r"did you mean `T\.copy`\?") as raised:
        T.copyy  # noqa: B018
    assert isinstance(raised.value, tile2triton.Error)
    assert getattr(T, "copyy", None) is None


def test_a_type_that_does_not_exist_is_shown_where_it_is_written():
    with pytest.raises(tile2triton.Error, match=r"T2T110.*`T\.StripedTensor`") as raised:

        @tile2triton.kernel
        def program(A: T.StripedTensor((4,), (1,), "float32")):
            with T.Kernel(1):
                A[0] = 1

    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.filename == __file__
    assert diagnostic.end - diagnostic.column == len("T.StripedTensor")


def test_a_pass_config_keeps_copies_off_tma():
    from tests.kernels.gemm import gemm

    sizes = {"M": 128, "N": 128, "K": 64}
    without = tile2triton.kernel(pass_configs={"tl.disable_tma_lower": True})(
        gemm.captured.function
    )
    assert "A_desc.load(" in gemm.compile(**sizes).triton_source
    assert "_desc" not in without.compile(**sizes).triton_source
