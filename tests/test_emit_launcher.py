"""Emitted launchers on CPU tensors, with stub kernels: what they accept, refuse and pass on."""

import enum
import time
import timeit

import numpy
import pytest
import torch

from rewrites.facts import Descriptor
from rewrites.quote import expr
from tests.emission import facts_of, gemm, loaded, tensor

half = torch.float16


def good() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(64, 32, dtype=half), torch.zeros(32, 48, dtype=half)


def test_launch_passes_arguments_then_named_constants():
    module = loaded(gemm())
    A, B = good()
    C = module.gemm(A, B)
    (launched,) = module.gemm_kernel.launches
    grid, arguments, options = launched
    assert C.shape == (64, 48)
    assert C.dtype == half
    assert grid == (1, 1)
    assert arguments[2] is C
    assert arguments[3:] == (64, 32, 48)
    blocks = {"block_M": 128, "block_N": 128, "block_K": 32}
    assert options == {**blocks, "num_warps": 4, "num_stages": 3}


def test_tuned_constant_reaches_grid_and_kernel():
    module = loaded(gemm())
    module.block_M = 16
    module.gemm(*good())
    ((grid, _, options),) = module.gemm_kernel.launches
    assert grid == (1, 4)
    assert options["block_M"] == 16


@pytest.mark.parametrize(
    ("position", "bad", "error", "message"),
    [
        (0, None, TypeError, "A must be a torch.Tensor, found None"),
        (1, 3.0, TypeError, "B must be a torch.Tensor, found float"),
        (0, [1], TypeError, "A must be a torch.Tensor, found list"),
        (0, numpy.zeros((64, 32)), TypeError, "A must be a torch.Tensor, found ndarray"),
        (0, torch.zeros(64), ValueError, "A must have 2 dimensions, (M, K), found 1: (64,)"),
        (1, torch.zeros(()), ValueError, "B must have 2 dimensions, (K, N), found 0: ()"),
        (
            1,
            torch.zeros(33, 48, dtype=half),
            ValueError,
            "B must be of shape (K, N) = (32, 'any'), found (33, 48)",
        ),
        (
            0,
            torch.zeros(64, 32),
            TypeError,
            "A must be torch.float16, found torch.float32; pass A.to(torch.float16)",
        ),
        (
            1,
            torch.zeros(48, 32, dtype=half).T,
            ValueError,
            "B must be contiguous, found strides (1, 32); pass B.contiguous()",
        ),
        (
            1,
            torch.zeros(32, 48, dtype=half, device="meta"),
            ValueError,
            "B must be on cpu, found meta; pass B.to('cpu')",
        ),
    ],
)
def test_bad_tensor_is_refused_in_plain_words(position, bad, error, message):
    module = loaded(gemm())
    arguments = list(good())
    arguments[position] = bad
    if isinstance(bad, torch.Tensor) and bad.device.type == "meta":
        # Where the other is on no GPU either, only the explanation tells them apart.
        with pytest.raises(error) as raised:
            module.refuse(*arguments)
    else:
        with pytest.raises(error) as raised:
            module.gemm(*arguments)
    assert str(raised.value) == message
    assert module.gemm_kernel.launches == []


def test_fixed_shape_is_refused_with_its_names_and_numbers():
    module = loaded(gemm(M=64, N=48, K=32))
    A, B = good()
    module.gemm(A, B)
    with pytest.raises(ValueError) as raised:
        module.gemm(B, B)
    assert str(raised.value) == "A must be of shape (M, K) = (64, 32), found (32, 48)"


def test_sizes_may_be_expressions_of_sizes_read_later():
    tensors = [tensor("X", "n + 1", "float32"), tensor("Y", "n, n", "float32")]
    module = loaded(facts_of("f", tensors, "n", dims={"n": ("Y", 0)}))
    module.f(torch.zeros(5), torch.zeros(4, 4))
    with pytest.raises(ValueError, match=r"X must be of shape \(n \+ 1,\) = \(5,\), found \(4,\)"):
        module.f(torch.zeros(4), torch.zeros(4, 4))
    with pytest.raises(ValueError, match=r"Y must be of shape \(n, n\) = .*, found \(4, 5\)"):
        module.f(torch.zeros(5), torch.zeros(4, 5))


def test_view_with_an_offset_and_odd_strides_of_extent_one_are_accepted():
    module = loaded(gemm())
    A = torch.zeros(1, 64, dtype=half)[:, :32]
    B = torch.zeros(33, 48, dtype=half)[1:]
    assert module.gemm(A, B).shape == (1, 48)


@pytest.mark.parametrize("shape", [(0, 32), (64, 32)])
def test_empty_grid_returns_the_empty_result_and_launches_nothing(shape):
    module = loaded(gemm())
    C = module.gemm(torch.zeros(shape, dtype=half), torch.zeros(32, 0, dtype=half))
    assert C.shape == (shape[0], 0)
    assert module.gemm_kernel.launches == []


def test_grid_beyond_the_limit_is_refused():
    module = loaded(gemm())
    module.block_M = 1
    with pytest.raises(ValueError, match="grid extent 70000 in y, at most 65535"):
        module.gemm(torch.zeros(70000, 1, dtype=half), torch.zeros(1, 1, dtype=half))


@pytest.mark.parametrize(
    ("dtype", "value", "words"),
    [
        ("int32", 1.5, "an int, found float"),
        ("int32", True, "an int, found bool"),
        ("int64", numpy.int64(3), "an int, found int64"),
        ("int32", enum.IntEnum("E", "a").a, "an int, found E"),
        ("float32", "1", "a float, found str"),
        ("bool", 1, "a bool, found int"),
    ],
)
def test_bad_scalar_is_refused(dtype, value, words):
    tensors = [tensor("X", "4", "float32")]
    module = loaded(facts_of("f", tensors, "1", scalars={"s": dtype}))
    with pytest.raises(TypeError, match=f"s must be {words}"):
        module.f(torch.zeros(4), value)


def test_float_parameter_stays_a_float():
    module = loaded(facts_of("f", [tensor("X", "4", "float32")], "1", scalars={"s": "float32"}))
    module.f(torch.zeros(4), 2)
    ((_, (_, scale), _),) = module.f_kernel.launches
    assert type(scale) is float


def test_kernel_without_outputs_returns_nothing():
    module = loaded(facts_of("f", [tensor("X", "4", "float32")], "1"))
    assert module.f(torch.zeros(4)) is None


def test_kernel_without_tensors_allocates_where_it_runs():
    module = loaded(facts_of("f", [tensor("X", "4", "float32", "output")], "1"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert module.f().device.type == device


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("bool", torch.bool),
        ("bfloat16", torch.bfloat16),
        ("float8_e4m3fn", torch.float8_e4m3fn),
        ("float8_e5m2", torch.float8_e5m2),
        ("float8_e4m3fnuz", torch.float8_e4m3fnuz),
        ("tfloat32", torch.float32),
        ("uint16", torch.uint16),
        ("int64", torch.int64),
    ],
)
def test_every_element_type_has_its_tensors(dtype, given):
    module = loaded(facts_of("f", [tensor("X", "4", dtype)], "1"))
    module.f(torch.empty(4, dtype=given))
    with pytest.raises(TypeError, match="X must be torch"):
        module.f(torch.empty(4, dtype=torch.float64))


def descriptor_facts():
    made = Descriptor("A_desc", "A", (0, 1), (expr("8"), expr("8")))
    tensors = [tensor("A", "16, 16")]
    return facts_of("f", tensors, "1", descriptors=[made])


def test_unaligned_input_is_copied_for_tma():
    pytest.importorskip("triton")
    module = loaded(descriptor_facts())
    A = torch.arange(257, dtype=half)[1:].view(16, 16)
    module.f(A)
    ((_, (described,), _),) = module.f_kernel.launches
    assert described.base.data_ptr() % 16 == 0
    assert torch.equal(described.base, A)
    assert described.shape == [16, 16]
    assert described.strides == [16, 1]
    assert described.block_shape == [8, 8]


def test_unaligned_tensor_that_is_written_is_refused():
    module = loaded(descriptor_facts(), "A_desc.store([0, 0], tl.zeros((8, 8), tl.float16))")
    with pytest.raises(ValueError, match="A must start at a multiple of 16 bytes"):
        module.f(torch.zeros(257, dtype=half)[1:].view(16, 16))


def test_wrong_number_of_arguments_is_pythons_own_error():
    with pytest.raises(TypeError, match="argument"):
        loaded(gemm()).gemm(good()[0])


def test_checks_of_four_tensors_cost_little_against_a_launch():
    tensors = [tensor(name, "M, N") for name in "ABCD"]
    module = loaded(facts_of("f", tensors, "M", dims={"M": ("A", 0), "N": ("A", 1)}))
    arguments = [torch.zeros(16, 16, dtype=half) for _ in tensors]
    # Time of this thread alone, so that a busy machine does not count.
    timer = timeit.Timer(lambda: module.f(*arguments), timer=time.thread_time)
    microseconds = min(timer.repeat(repeat=7, number=2000)) / 2000 * 1e6
    # 1.6 us on an idle machine; the bound leaves room for a busy one.
    assert microseconds < 6
