"""Kernels in Gluon: what they compute, partition by partition, and how they wait for each other."""

import ast
from functools import partial
from typing import Any

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import simulated
from tests.gluon_programs import keys_as_values
from tests.kernels.attention_programs import (
    attention_with_lse,
    attention_with_sinks,
    capped_attention,
    sliding_window_attention,
)
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.whole_operands import attention
from tile2triton import CompiledKernel, Schedule, compile_check, transpile
from tile2triton.simulation import Machine, ProtocolError
from tile2triton.simulation.check import broken_protocols
from tile2triton.simulation.language import Memory

TARGET = "cuda:90"


def specialised(consumers: int = 2, **given: Any) -> Schedule:
    return Schedule(warp_specialize=consumers, **given)


def attend(seq_len: int, is_causal: bool, consumers: int = 2, **given: Any) -> CompiledKernel:
    options = {"block_M": 64, "block_N": 64, "num_stages": 2, "threads": 128, **given}
    kernel = flash_attention.scheduled(specialised(consumers))
    sizes = (1, 2, seq_len, 32)
    return transpile(kernel, *sizes, is_causal, layout="bhsd", target=TARGET, **options)


def expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    q, k, v = (one.double() for one in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def close(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return bool((found - wanted).norm() <= 2e-3 * wanted.norm())


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(
    ("seq_len", "is_causal", "consumers", "stages"),
    [
        (64, False, 1, 2),
        (256, False, 2, 2),
        (256, True, 2, 2),
        (512, True, 2, 3),
        (576, True, 2, 2),
        (200, False, 2, 2),
        (330, True, 3, 2),
        (40, True, 2, 4),
    ],
)
def test_attention(
    seq_len: int, is_causal: bool, consumers: int, stages: int, is_eager: bool
) -> None:
    """Loops of no turn, of one and of many; consumers that stop at different turns."""
    kernel = attend(seq_len, is_causal, consumers, num_stages=stages)
    inputs = [torch.randn(1, 2, seq_len, 32, dtype=torch.float16) for _ in range(3)]
    found = simulated.run(kernel, *inputs, is_eager=is_eager)
    assert close(found, expected(*inputs, is_causal))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("M", "N", "K", "consumers", "stages"),
    [(128, 64, 64, 2, 2), (256, 128, 320, 2, 3), (200, 104, 72, 3, 2), (64, 192, 512, 1, 4)],
)
def test_products(M: int, N: int, K: int, consumers: int, stages: int, swapped: bool) -> None:
    options = {"block_M": 64, "block_N": 64, "block_K": 32, "threads": 128, "num_stages": stages}
    kernel = transpile(
        gemm.scheduled(specialised(consumers)),
        **{"M": M, "N": N, "K": K, "transpose_B": swapped, "target": TARGET, **options},
    )
    a = torch.randn(M, K, dtype=torch.float16)
    b = torch.randn(*((N, K) if swapped else (K, N)), dtype=torch.float16)
    found = simulated.run(kernel, a, b)
    assert close(found, a.double() @ (b.double().T if swapped else b.double()))


@pytest.mark.parametrize("is_causal", [False, True])
def test_programs_on_whole_operands(is_causal: bool) -> None:
    schedule = specialised(tile={"m": 64, "n": 64}, warps=4, pipeline=2)
    inputs = [torch.randn(1, 2, 320, 32, dtype=torch.float16) for _ in range(3)]
    mask = "causal" if is_causal else None
    kernel = transpile(attention.scheduled(schedule), *inputs, mask, target=TARGET)
    assert close(simulated.run(kernel, *inputs), expected(*inputs, is_causal))


@pytest.mark.parametrize(
    ("seq_len", "width", "consumers"), [(320, 50, 2), (500, 100, 3), (64, 1, 2), (320, 1000, 2)]
)
def test_windows_start_at_other_turns_for_each_consumer(
    seq_len: int, width: int, consumers: int
) -> None:
    """The program's own `first` and `first_1` are no names of one variable for two consumers."""
    schedule = specialised(consumers, tile={"m": 64, "n": 64}, warps=4, pipeline=2)
    inputs = [torch.randn(1, 2, seq_len, 32, dtype=torch.float16) for _ in range(3)]
    program = sliding_window_attention.scheduled(schedule)
    kernel = transpile(program, *inputs, width, target=TARGET)
    i = torch.arange(seq_len)
    mask = (i[None] <= i[:, None]) & (i[None] > i[:, None] - width)
    q, k, v = (one.double() for one in inputs)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    for is_eager in (True, False):
        assert close(simulated.run(kernel, *inputs, is_eager=is_eager), wanted)


@pytest.mark.parametrize("consumers", [2, 3])
def test_functions_of_the_device_are_those_of_gluon(consumers: int) -> None:
    """tanh of the scores, as soft caps have it."""
    schedule = specialised(consumers, tile={"m": 64, "n": 64}, warps=4, pipeline=2)
    inputs = [torch.randn(1, 2, 200, 32, dtype=torch.float16) for _ in range(3)]
    kernel = transpile(capped_attention.scheduled(schedule), *inputs, 3.0, target=TARGET)
    q, k, v = (one.double() for one in inputs)
    scores = torch.tanh(q @ k.mT * 32**-0.5 / 3.0) * 3.0
    assert close(simulated.run(kernel, *inputs), scores.softmax(-1) @ v)
    assert "libdevice.tanh" in kernel.triton_source
    # Nobody has run it on a chip, so that it is not so by default.
    assert "gluon.jit" not in transpile(capped_attention, *inputs, 3.0, target=TARGET).triton_source


@pytest.mark.compile
@pytest.mark.parametrize("program", [attention_with_lse, attention_with_sinks])
def test_maxima_that_keep_nan_and_stores_by_pointers_compile(program: Any) -> None:
    inputs = [torch.empty(1, 2, 1000, 64, dtype=torch.float16)] * 3
    more = [torch.empty(2)] if program is attention_with_sinks else []
    kernel = transpile(program.scheduled(specialised()), *inputs, *more, target=TARGET)
    assert "_gluon_larger_or_nan" in kernel.triton_source
    (report,) = compile_check.check_all([(kernel.triton_source, kernel.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0


def test_tensors_that_are_loaded_and_stored_are_left_to_triton() -> None:
    """TMA does not see what was just stored."""
    kernel = transpile(updated, M=256, target=TARGET)
    assert "`C` is loaded and stored" in reason(kernel)


EARLY = """\
        mbarrier.arrive(kv_empty.index(kv_slot), count=1)
"""


def test_tiles_are_not_read_behind_the_return_of_their_slots() -> None:
    """Two products of a turn read one tile; a slot that the first gives back is loaded again."""
    tree, facts = transpile(keys_as_values, target=TARGET).lowered_for(TARGET)
    text = ast.unparse(ast.fix_missing_locations(tree))
    assert text.count(EARLY) == 1 and broken_protocols(tree, facts) == {}
    waited = "        s = warpgroup_mma_wait(0, deps=[s])\n"
    assert waited in text
    early = ast.parse(text.replace(EARLY, "").replace(waited, waited + EARLY))
    (said,) = broken_protocols(early, facts).values()
    assert "is read after it was given back" in said


BROKEN = {
    # The producer does not wait for the second consumer.
    "arrives": ("count=2", "count=1"),
    # Nothing gives a slot back.
    "deadlock": ("mbarrier.arrive(K_shared_empty.index(K_shared_slot), count=1)", "pass"),
    # A slot is given back while a product reads it.
    "race": (
        "acc, _weights_factor = warpgroup_mma_wait(0, deps=[acc, weights_factor])\n"
        "        mbarrier.arrive(V_shared_empty.index(V_shared_slot), count=1)",
        "mbarrier.arrive(V_shared_empty.index(V_shared_slot), count=1)\n"
        "        acc, _weights_factor = warpgroup_mma_wait(0, deps=[acc, weights_factor])",
    ),
    # Fewer bytes are waited for than come.
    "bytes": ("K_desc.block_type.nbytes", "K_desc.block_type.nbytes - 1"),
    # A sum is read before it is there.
    "flight": ("scores = warpgroup_mma_wait(0, deps=[scores])", "pass"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_faults_of_protocols_are_found(fault: str) -> None:
    kernel = attend(1024, False)
    tree, facts = kernel.lowered_for(TARGET)
    assert broken_protocols(tree, facts) == {}
    taken, put = BROKEN[fault]
    text = ast.unparse(ast.fix_missing_locations(tree))
    assert taken in text
    found = broken_protocols(ast.parse(text.replace(taken, put)), facts)
    assert found.keys() == {"attention_kernel"}


def test_partitions_that_wait_for_each_other_are_named() -> None:
    machine = Machine()
    barriers = Memory(machine, "full", 2, is_barriers=True)
    for at in range(2):
        barriers.index(at).init(1)

    def body(at: int) -> None:
        barriers.index(at).wait(0)
        barriers.index(1 - at).arrive()

    with pytest.raises(ProtocolError, match=r"all partitions wait: .*phase 0 of full\[0\]"):
        machine.run([partial(body, at) for at in range(2)])


def reason(kernel: CompiledKernel) -> str:
    """Why a kernel is left in Triton."""
    (hint,) = (one for one in kernel.lowered_facts.hint_report if "specialize" in one.construct)
    assert hint.how == "none" and "gluon.jit" not in kernel.triton_source
    return hint.detail


def test_what_has_no_form_in_gluon_stays_in_triton() -> None:
    sizes = {"M": 256, "N": 256, "K": 256}
    product = gemm.scheduled(specialised())
    assert "four warps" in reason(transpile(product, threads=64, target=TARGET, **sizes))
    small = {"block_M": 64, "block_N": 128, "threads": 128}
    pointers = transpile(product, target=TARGET, M=256, N=250, K=256, **small)
    assert "pointers load `B_shared` in a loop" in reason(pointers)
    wide = transpile(product, target=TARGET, dtype="float8_e4m3fn", **small, **sizes)
    assert "`B_shared` of 8 bits does not lie along what is summed" in reason(wide)
    options = {**small, **sizes, "num_stages": 8}
    large = transpile(product, target=TARGET, out_dtype="float32", **options)
    assert "bytes of shared memory, of which there are 232448" in reason(large)
    for target in ("cuda:80", "cuda:100"):
        assert "Hopper" in reason(transpile(product, target=target, **sizes))
    # What stays in Triton is what it would be without the annotation.
    plain = transpile(gemm, threads=64, target=TARGET, **sizes)
    assert transpile(product, threads=64, target=TARGET, **sizes).triton_source == (
        plain.triton_source
    )


def test_tensors_on_the_cpu_run_plain_triton() -> None:
    inputs = [torch.randn(1, 2, 100, 32, dtype=torch.float16) for _ in range(3)]
    kernel = attend(100, True)
    assert "warp_specialize" in kernel.triton_source
    assert close(kernel(*inputs), expected(*inputs, True))


@tile2triton.kernel
@T.warp_specialize(2)
def updated(A, B, C):
    """C += A @ B."""
    M = T.const("M")
    A: T.Tensor((M, 64), "float16")
    B: T.Tensor((64, 64), "float16")
    C: T.Tensor((M, 64), "float16")
    with T.Kernel(M // 64, threads=128) as bx:
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(C[bx * 64, 0], c)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[bx * 64, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C[bx * 64, 0])


ATTENTION = [
    # Tokens, dim, causal, consumers, block_N, stages.
    (128, 128, False, 2, 128, 2),
    (4096, 128, True, 2, 128, 2),
    (1000, 128, True, 2, 64, 3),
    (1000, 128, False, 2, 128, 2),
    (64, 64, True, 2, 64, 2),
    (2048, 64, True, 3, 64, 3),
    (777, 64, False, 3, 64, 2),
    (1500, 64, True, 1, 128, 2),
]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("seq_len", "dim", "is_causal", "consumers", "block_N", "stages"), ATTENTION
)
def test_attention_on_cuda(
    seq_len: int, dim: int, is_causal: bool, consumers: int, block_N: int, stages: int
) -> None:
    """A hundred runs with the same bits, as close as plain Triton is."""
    kernel = flash_attention.scheduled(specialised(consumers))
    options = {"block_M": 64, "block_N": block_N, "num_stages": stages, "threads": 128}
    call = kernel(2, 3, seq_len, dim, is_causal, layout="bhsd", **options)
    inputs = [torch.randn(2, 3, seq_len, dim, dtype=torch.float16, device="cuda") for _ in range(3)]
    found = call(*inputs)
    assert close(found.double(), expected(*inputs, is_causal))
    assert all(torch.equal(found, call(*inputs)) for _ in range(100))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("M", "N", "K", "consumers", "block_N"),
    [(512, 512, 512, 2, 256), (1000, 264, 80, 2, 128), (192, 128, 4096, 3, 64), (64, 8, 8, 1, 64)],
)
def test_products_on_cuda(
    M: int, N: int, K: int, consumers: int, block_N: int, swapped: bool
) -> None:
    options = {"block_M": 64, "block_N": block_N, "threads": 128}
    a = torch.randn(M, K, dtype=torch.float16, device="cuda")
    b = torch.randn(*((N, K) if swapped else (K, N)), dtype=torch.float16, device="cuda")
    call = transpile(
        gemm.scheduled(specialised(consumers)),
        **{"M": M, "N": N, "K": K, "transpose_B": swapped, **options},
    )
    found = call(a, b)
    assert close(found.double(), a.double() @ (b.double().T if swapped else b.double()))
    assert all(torch.equal(found, call(a, b)) for _ in range(100))


@pytest.mark.compile
@pytest.mark.parametrize("consumers", [1, 2])
def test_code_keeps_all_in_registers(consumers: int) -> None:
    options = {"block_M": 64, "block_N": 128, "num_stages": 2, "threads": 128}
    kernel = flash_attention.scheduled(specialised(consumers))
    made = transpile(kernel, 1, 2, 4096, 128, True, layout="bhsd", target=TARGET, **options)
    (report,) = compile_check.check_all([(made.triton_source, made.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0
    # The first turn, each turn of the loop, its end, and the blocks that are masked.
    assert report.instructions["wgmma"] == consumers * 6 * 8
