"""The processes that compile and measure, without a GPU: real compilers, interpreted kernels."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.kernels.gemm_relu import gemm_relu
from tile2triton.module_cache import write_module
from tile2triton.tune import autotune, tuning
from tile2triton.tune.candidates import Candidate
from tile2triton.tune.compiling import compile_all
from tile2triton.tune.expected import Reference
from tile2triton.tune.machine import Machine
from tile2triton.tune.settings import Settings
from tile2triton.tune.stored_tensors import stored_tensors

pytestmark = [pytest.mark.compile, pytest.mark.slow]

H200 = Machine("H200", ("cuda", 90, 32), devices=("cpu",), processes=2)


@pytest.fixture(autouse=True)
def own_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("TILE2TRITON_CACHE_DIR", str(tmp_path / "tile2triton"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TQDM_DISABLE", "1")


@autotune(
    configs=[{"block": 32}, {"block": 64}, {"block": 64, "factor": 3.0}],
    warmup=1,
    rep=1,
    ref_prog=lambda A: A * 2.0,
)
@tile2triton.kernel(out_idx=[-1])
def double(n, block=16, factor=2.0):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] * factor

    return main


@pytest.mark.cold
def test_kernel_is_tuned_by_compilers_and_a_bench_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "this_machine", lambda: H200)
    kernel = double(100)
    statuses = [row.status for row in kernel.tuning_report.rows]
    assert statuses == ["measured", "measured", "wrong"]
    assert kernel.latency > 0
    assert len(list((tmp_path / "triton").rglob("*.cubin"))) == 3


@pytest.mark.parametrize(
    ("target", "file", "tiles", "statuses"),
    [
        (("cuda", 90, 32), "*.cubin", [(64, 64), (64, 1024)], [None, "too large"]),
        (("hip", "gfx942", 64), "*.hsaco", [(64, 64)], [None]),
    ],
    ids=["cuda", "hip"],
)
def test_compilers_fill_the_cache_and_say_what_does_not_fit(
    target, file, tiles, statuses, tmp_path
):
    machine = Machine("a chip", target, devices=(), processes=2)
    made = []
    for index, (block, depth) in enumerate(tiles):
        kernel = tile2triton.transpile(
            gemm_relu,
            *(512, 512, 1024),
            **{"block_M": block, "block_N": block, "block_K": depth, "num_stages": 2},
            target=f"{target[0]}:{target[1]}",
        )
        path = write_module(kernel.triton_source, kernel.name)
        stored = stored_tensors(kernel.program)
        made.append(Candidate(index, {"block": block}, kernel, path, stored))
    inputs = [torch.empty(*shape, dtype=torch.float16) for shape in ((512, 1024), (1024, 512))]
    files = Reference(Settings()).files(inputs, tmp_path)
    rows = {}
    compile_all(
        made, lambda one: files, machine, lambda one, row: rows.update({one.index: row}), len(made)
    )
    found = [rows[index] for index in range(len(tiles))]
    assert [row and row.status for row in found] == statuses
    assert len(list((tmp_path / "triton").rglob(file))) == len(tiles)
