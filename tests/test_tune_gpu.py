"""Tuning on a real GPU: compiled beside, run and timed in other processes, faults included."""

from types import SimpleNamespace

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.tune import autotune, set_autotune_inputs
from tile2triton.tune.candidates import Candidate
from tile2triton.tune.expected import Reference
from tile2triton.tune.machine import this_machine
from tile2triton.tune.measuring import Best, MeasuringProcess
from tile2triton.tune.settings import Settings
from tile2triton.tune.stored_tensors import Stored

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

# One stage of it has 256 KiB, so that no lower number of stages makes it fit.
TOO_LARGE = {"block_M": 256, "block_N": 256, "block_K": 256, "num_stages": 2}
CONFIGS = [
    {"block_M": 64, "block_N": 64, "block_K": 32, "num_stages": 2},
    {"block_M": 128, "block_N": 128, "block_K": 64, "num_stages": 3},
    TOO_LARGE,
]


@pytest.fixture(autouse=True)
def own_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "tile2triton"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def product(A, B):
    return A @ B


def gemm(**settings):
    @autotune(configs=CONFIGS, warmup=5, rep=20, **settings)
    @tile2triton.kernel(out_idx=[-1])
    def matmul(M, N, K, block_M=16, block_N=16, block_K=16, num_stages=1):
        @T.prim_func
        def main(
            A: T.Tensor((M, K), "float16"),
            B: T.Tensor((K, N), "float16"),
            C: T.Tensor((M, N), "float16"),
        ):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block_M, block_K), "float16")
                B_shared = T.alloc_shared((block_K, block_N), "float16")
                C_local = T.alloc_fragment((block_M, block_N), "float32")
                T.clear(C_local)
                for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                    T.copy(A[by * block_M, k * block_K], A_shared)
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                T.copy(C_local, C[by * block_M, bx * block_N])

        return main

    return matmul


def test_gemm_is_tuned_and_right(tmp_path):
    kernel = gemm(ref_prog=product)(512, 384, 256)
    assert kernel.config in CONFIGS[:2]
    assert kernel.latency > 0
    assert kernel.ref_latency > 0
    assert [row.status for row in kernel.tuning_report.rows] == [
        "measured",
        "measured",
        "too large",
    ]
    # What was compiled beside is what launches look for: nothing was compiled twice.
    assert len(list((tmp_path / "triton").rglob("*.cubin"))) == len(CONFIGS)
    a, b = (torch.randn(shape, device="cuda").half() for shape in ((512, 256), (256, 384)))
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-2, atol=1e-1)
    assert len(list((tmp_path / "triton").rglob("*.cubin"))) == len(CONFIGS)


def test_result_is_found_again():
    first = gemm()(256, 256, 256)
    again = gemm()(256, 256, 256)
    assert again.tuning_report.is_stored
    assert (again.config, again.latency) == (first.config, first.latency)


def test_eager_kernel_is_tuned_by_its_call():
    @autotune(configs=[{"block": 128}, {"block": 1024}], warmup=2, rep=5)
    @tile2triton.kernel
    def double(X, block=16):
        n = T.const("n")
        X: T.Tensor((n,), "float32")
        Y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] * 2.0
        return Y

    x = torch.randn(100_001, device="cuda")
    assert torch.equal(double(x), x * 2)
    assert torch.equal(double(x), x * 2)


def test_atomics_are_tuned_on_clones():
    @autotune(
        configs=[{"block": 128}, {"block": 1024}],
        warmup=3,
        rep=5,
        ref_prog=lambda A, total: total.add_(A.sum()),
        max_mismatched_ratio=0.0,
    )
    @tile2triton.kernel
    def add_up(n, block):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), total: T.Tensor((1,), "float32")):
            with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
                for i in T.Parallel(block):
                    T.atomic_add(total[0], A[bx * block + i])

        return main

    a, total = torch.rand(4096, device="cuda"), torch.zeros(1, device="cuda")
    with set_autotune_inputs(a, total):
        kernel = add_up(4096)
    assert total.item() == 0.0
    assert [row.status for row in kernel.tuning_report.rows] == ["measured"] * 2


def test_kernel_that_does_not_end_is_a_row():
    @autotune(configs=[{"rounds": 2**31 - 1}, {"rounds": 4}], warmup=1, rep=2, timeout=15)
    @tile2triton.kernel(out_idx=[-1])
    def iterate(rounds):
        @T.prim_func
        def main(A: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                x = T.alloc_fragment((128,), "float32")
                T.copy(A, x)
                for _ in T.serial(rounds):
                    for i in T.Parallel(128):
                        x[i] = T.sin(x[i]) + A[i]
                T.copy(x, C)

        return main

    kernel = iterate()
    assert kernel.config == {"rounds": 4}
    assert kernel.tuning_report.rows[0].status == "hangs"


MODULE = """
import torch
import triton
import triton.language as tl

@triton.jit
def store(X, offset):
    tl.store(X + offset.to(tl.int64) * 1048576, 1.0)

def run(X):
    store[(1,)](X, OFFSET)
"""


def test_fault_of_the_gpu_is_a_row_and_a_new_process_goes_on(tmp_path):
    settings = Settings(warmup=1, rep=2)
    files = Reference(settings).files([torch.zeros(16, device="cuda")], tmp_path)
    with MeasuringProcess(this_machine(), "cuda:0", settings) as process:
        statuses = []
        for offset in (0, 2**30, 0):
            path = tmp_path / f"offset_{offset}.py"
            path.write_text(MODULE.replace("OFFSET", str(offset)))
            kernel = SimpleNamespace(name="run")
            candidate = Candidate(0, {"offset": offset}, kernel, path, Stored((0,), ()))
            statuses.append(process.measured(candidate, files, Best()).status)
    assert statuses == ["measured", "crashes", "measured"]
