"""`tile2triton run --interpret`: programs for GPUs, unchanged, on a machine without one."""

import pytest

from tests.warm_process import run_warm

PROGRAM = """\
import torch
import triton
import triton.language as tl

import tilelang
import tilelang.language as T

GPU = torch.device("cuda:0")


@tilelang.jit(out_idx=[-1])
def multiply(M, N, K, block=32):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
                T.copy(A[by * block, k * block], a)
                T.copy(B[k * block, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    return main


@tilelang.autotune(configs=[{"block": 16}, {"block": 64}])
@tilelang.jit(out_idx=[-1])
def ones(n=50, block=32):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                A[bx * block + i] = 1

    return main


@triton.jit
def double(x, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(x + at, tl.load(x + at) * 2)


def test_numbers():
    kernel = multiply(40, 50, 70)
    on_cpu = torch.randn(40, 70, dtype=torch.float16)
    a = on_cpu.cuda()
    b = torch.randn(70, 50, dtype=torch.float16, device="cuda")
    c = kernel(a, b)
    assert c.device == GPU and c.is_cuda
    torch.testing.assert_close(c, (a @ b).float(), rtol=1e-2, atol=1e-2)
    profiler = kernel.get_profiler()
    profiler.assert_allclose(lambda a, b: (a @ b).float(), rtol=1e-2, atol=1e-2)
    assert profiler.do_bench() == 1.0


def test_a_wrong_number_is_found():
    c = multiply(32, 32, 32)(*torch.ones(2, 32, 32, dtype=torch.float16, device="cuda"))
    try:
        torch.testing.assert_close(c, torch.full_like(c, 33.0))
    except AssertionError as error:
        assert "not close" in str(error)
    else:
        raise SystemExit("32 is no 33")


def test_kernels_without_tensors_and_tuning():
    made = ones()()
    assert made.is_cuda and made.sum() == 50


def test_own_handwritten():
    x = torch.arange(8.0).cuda()
    double[(1,)](x, 8)
    assert x.tolist() == [2.0 * i for i in range(8)]


def test_copies_are_copies_and_moves_to_the_same_place_are_not():
    x = torch.zeros(3)
    y = x.to("cuda")
    y += 1
    assert x.sum() == 0 and not x.is_cuda
    assert y.cuda() is y and y.to(GPU) is y and y.to(x) is not y
    z = y.cpu()
    y += 1
    assert z.sum() == 3 and z.numpy().sum() == 3
    assert y.to("cuda", torch.float16).dtype == torch.float16
    assert y.to(x).device.type == "cpu"
    assert y.to(device="cuda", dtype=torch.int32, copy=True).is_cuda
    try:
        y.numpy()
    except TypeError as error:
        assert "cuda:0" in str(error)
    else:
        raise SystemExit("an array of a tensor on a GPU")


def test_results_are_where_what_they_are_made_of_is():
    x = torch.ones(4, 4, device="cuda")
    assert all(one.is_cuda for one in (x + 1, x[0], x.T, torch.cat([x, x]), *x.split(2)))
    assert torch.empty_like(x).get_device() == 0 and torch.zeros(2).get_device() == -1
    assert torch.empty_like(x, device="cpu").device.type == "cpu"
    layer = torch.nn.Linear(4, 4).cuda()
    layer(x).sum().backward()
    assert layer.weight.is_cuda and layer.weight.grad.is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda and not torch.zeros(2, device="cpu").is_cuda
    finally:
        torch.set_default_device("cpu")


def test_questions_about_the_gpu():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == CAPABILITY
    assert torch.cuda.get_device_properties(0).multi_processor_count > 1
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.synchronize()
    end.record()
    assert start.elapsed_time(end) > 0
    generator = torch.Generator(device="cuda").manual_seed(1)
    assert torch.rand(2, generator=generator, device="cuda", pin_memory=False).is_cuda


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print("all of them")
"""


@pytest.fixture
def run(tmp_path):
    """Run `tile2triton run` with arguments in the folder of the test, where there is no GPU."""

    def run(*arguments):
        return run_warm(["tile2triton", "run", *arguments], tmp_path)

    return run


def test_program_for_gpus_computes_real_numbers_on_the_cpu(run, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("CAPABILITY", "(9, 0)"))
    done = run("--interpret", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all of them\n"
    assert done.stderr.count("kernels are interpreted on the CPU") == 1
    assert "times mean nothing" in done.stderr


MARKED = """\
import torch
import tilelang.testing


@tilelang.testing.requires_cuda
def test_sees_a_gpu():
    assert torch.zeros(1, device="cuda").is_cuda


@tilelang.testing.requires_cuda_compute_version_ge(9, 0)
def test_newer():
    raise AssertionError("there is none so new")
"""


def test_tests_run_as_on_the_target(run, tmp_path):
    (tmp_path / "test_marked.py").write_text(MARKED)
    done = run("--interpret", "--target", "cuda:80", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--interpret"], "run needs a SCRIPT, or -m MODULE"),
        (["--interpret", "--target", "cuda:9", "a.py"], "no target `cuda:9`"),
        (["--interpret", "--target"], "no target ``"),
        (["--target", "cuda:90", "a.py"], "--target follows --interpret"),
    ],
)
def test_mistakes_of_the_command_are_said(arguments, words, capsys):
    from tile2triton.cli import main

    assert main(["run", *arguments]) == 2
    assert words in capsys.readouterr().err
