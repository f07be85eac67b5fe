"""Calls of kernels on a GPU, from the front end to the launch, without a GPU."""

import ast

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.fake_gpu import fake_gpu
from tile2triton import runtime
from tile2triton.diagnostics import TileError
from tile2triton.launching import tree

# Triton 3.9 says so of every kernel that it compiles.
pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


def scaled():
    @tile2triton.kernel
    def scale(A, block: int = 64):
        N = T.const("N")
        A: T.Tensor((N,), T.float32)
        B = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, block), threads=64) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * 2
        return B

    return scale


def doubled():
    @tile2triton.kernel
    def double(A, B):
        T.atomic_update(B, A * 2)

    return double


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path))
    # A module that another test has loaded knows the GPU of that test.
    monkeypatch.setattr(runtime, "_LOADED", {})
    with fake_gpu(monkeypatch) as gpu:
        yield gpu


def are_direct(launches):
    return [not any(isinstance(part, torch.Tensor) for part in _flat(one)) for one in launches]


def _flat(launch):
    if isinstance(launch, (tuple, list)):
        return [part for one in launch for part in _flat(one)]
    return [launch]


def test_the_second_call_of_a_kernel_is_direct(gpu):
    scale = scaled()
    a = torch.zeros(256)
    results = [scale(a) for _ in range(3)]
    assert are_direct(gpu.launches) == [False, True, True]
    addresses = [[x for x in _flat(one) if type(x) is int] for one in gpu.launches]
    assert all(a.data_ptr() in one for one in addresses[1:])
    # Each call makes its output.
    assert results[2].data_ptr() in addresses[2]


def test_wrong_arguments_are_refused_at_any_call(gpu):
    scale = scaled()
    a = torch.zeros(256)
    scale(a)
    scale(a)
    for wrong in (a.half(), torch.zeros(512)[::2], torch.zeros(2, 128)):
        with pytest.raises((ValueError, TypeError)):
            scale(wrong)
    assert len(gpu.launches) == 2


def test_whole_operands_are_asked_for_shapes_once(gpu):
    double = doubled()
    a, b = torch.zeros(256), torch.zeros(256)
    for _ in range(4):
        double(a, b)
    # The launcher that compares shapes, and the one that does not, have a first launch each.
    assert are_direct(gpu.launches) == [False, False, True, True]
    with pytest.raises(ValueError, match="contiguous"):
        double(torch.zeros(512)[::2], b)
    double(torch.zeros(128), torch.zeros(128))
    double(a, b)
    assert are_direct(gpu.launches)[4:] == [False, True]


def test_other_shapes_are_refused_after_a_call_that_was_refused(gpu):
    double = doubled()
    a = torch.zeros(256)
    for _ in range(3):
        with pytest.raises(ValueError, match="contiguous"):
            double(torch.zeros(512)[::2], a)
    assert not gpu.launches


def test_cpu_tensors_are_interpreted_beside_the_gpu(gpu, monkeypatch):
    scale = scaled()
    a = torch.ones(256)
    scale(a)
    scale(a)
    monkeypatch.delattr(torch.Tensor, "is_cuda")
    monkeypatch.delattr(torch.Tensor, "get_device")
    assert scale(a).tolist() == [2.0] * 256
    assert len(gpu.launches) == 2


def test_the_tree_becomes_what_its_file_says():
    _, before, after = tree.__doc__.split("\n\n")
    text = before.partition("\n")[2].replace("def scale(A, B):", 'def scale(A, B):\n        ""')
    text = "\n".join(line[4:] for line in text.splitlines())
    kernel = object()
    made = tree.direct_tree(text, "scale", {"scale_kernel": kernel, "N": 16}, False)
    made.function.body.pop(0)
    expected = "\n".join(line[4:] for line in after.splitlines()[1:])
    assert ast.unparse(made.function) == ast.unparse(ast.parse(expected).body[0])
    assert list(made.sites) == ["_direct_launch_0"]
    assert made.sites["_direct_launch_0"].named == {"N": 16, "num_warps": 4}


def test_an_error_of_resources_is_explained(gpu, monkeypatch):
    scale = scaled()
    from triton.runtime.errors import OutOfResources

    a = torch.zeros(256)
    kernel = scale.compile(N=256)

    def fail(*_, **__):
        raise OutOfResources(300000, 232448, "shared memory")

    monkeypatch.setattr("triton.compiler.compile", fail)
    with pytest.raises(TileError, match="T2T401"):
        kernel(a)
