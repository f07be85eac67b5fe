"""Programs that are right in Gluon, or are left in plain Triton with the reason."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests import gluon_programs as programs
from tests import simulated
from tests.gluon_programs import K, M, N
from tests.kernels.attention_backward import attention_backward
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm_programs import swiglu
from tests.kernels.mla_decode import mla_decode
from tests.kernels.whole_operands import attention
from tests.kernels.whole_operands import gemm as whole_gemm
from tests.test_gluon import close, reason, specialised
from tile2triton import CompiledKernel, compile_check, transpile

# What they compute asks nothing of Triton's version.
pytestmark = pytest.mark.slow

TARGET = "cuda:90"
LN2 = math.log(2)


def made(program: Any, *arguments: Any) -> CompiledKernel:
    kernel = transpile(program, *arguments, target=TARGET)
    assert "gluon.jit" in kernel.triton_source
    return kernel


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(M, K, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16)


def product_of(program: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What a program makes of A and B, in float64."""
    wanted = a.double() @ b.double()
    if program == "with_erf":
        return torch.erf(wanted)
    if program == "copied":
        return wanted + a.double().reshape(M, -1, 64).sum(1).repeat(1, N // 64)
    return wanted


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("program", ["names_of_gluon", "backwards", "with_erf", "copied"])
def test_products(program: str, is_eager: bool) -> None:
    a, b = inputs()
    wanted = product_of(program, a, b)
    assert close(simulated.run(made(getattr(programs, program)), a, b, is_eager=is_eager), wanted)


@pytest.mark.parametrize("is_eager", [True, False])
def test_slots_are_given_back_behind_the_last_product_that_reads_them(is_eager: bool) -> None:
    q, kv = torch.randn(M, 64, dtype=torch.float16), torch.randn(K, 64, dtype=torch.float16)
    found = simulated.run(made(programs.keys_as_values), q, kv, is_eager=is_eager)
    weights = (q.double() @ kv.double().T).relu().half()
    assert close(found, weights.double() @ kv.double())


@pytest.mark.parametrize("is_eager", [True, False])
def test_tiles_that_are_read_into_registers(is_eager: bool) -> None:
    """In the layout of factors for a product, and of sums behind the loop."""
    a, b = inputs()
    rows, columns, r = torch.rand(M), torch.rand(K), torch.randn(M, N, dtype=torch.float16)
    kernel = made(programs.weighted)
    assert "a.load(c_factor_layout)" in kernel.triton_source
    assert "r.load(\n        c_layout\n" in kernel.triton_source
    found = simulated.run(kernel, a, b, rows, columns, r, is_eager=is_eager)
    factors = (a.double() * rows[:, None] * columns).half().double()
    assert close(found, factors @ b.double() * rows[:, None] + r.double())


def summed(a: torch.Tensor, b: torch.Tensor, counts: list[int]) -> torch.Tensor:
    """Each 64 rows of A @ B, over the first so many blocks of 64 columns."""
    a, b = a.double(), b.double()
    rows = (a[64 * at : 64 * (at + 1), : 64 * one] @ b[: 64 * one] for at, one in enumerate(counts))
    return torch.cat(list(rows))


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(
    ("stop", "counts"),
    [
        (lambda by: by + 1, [1, 2, 3, 4]),
        (lambda by: 5 - by, [5, 4, 3, 2]),
        (lambda by: by % 3, [0, 1, 2, 0]),
        (lambda by: by * 2 - 2, [0, 0, 2, 4]),
    ],
)
def test_consumers_that_stop_at_different_turns(
    stop: Callable[[Any], Any], counts: list[int], is_eager: bool
) -> None:
    """In any order, also before the first turn."""
    a, b = inputs()
    kernel = made(programs.ragged(stop))
    assert close(simulated.run(kernel, a, b, is_eager=is_eager), summed(a, b, counts))


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("counts", [[0, 5, 2, 1], [3, 3, 0, 0]])
def test_numbers_of_turns_that_the_device_knows(counts: list[int], is_eager: bool) -> None:
    a, b = inputs()
    table = torch.tensor(counts, dtype=torch.int32)
    found = simulated.run(made(programs.sparse), a, b, table, is_eager=is_eager)
    assert close(found, summed(a, b, counts))


def test_places_that_a_table_gives() -> None:
    """The producer reads the table, and consumers do not."""
    a, b = inputs()
    kernel = made(programs.permuted)
    order = torch.tensor([3, 0, 2, 4, 1], dtype=torch.int32)
    assert close(simulated.run(kernel, a, b, order), a.double() @ b.double())
    consumer, producer = kernel.triton_source.split("def permuted_producer")
    assert "gl.load(order" in producer and "gl.load(order" not in consumer


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("rows", [64, 192, 200])
def test_numbers_of_programs_that_the_launch_knows(rows: int, is_eager: bool) -> None:
    """Of an odd number of tiles, the last one is computed by both consumers of a pair."""
    schedule = specialised(tile={"m": 64, "n": 64, "k": 32}, warps=4, pipeline=2)
    a, b = torch.randn(rows, 96, dtype=torch.float16), torch.randn(96, 136, dtype=torch.float16)
    kernel = transpile(whole_gemm.scheduled(schedule), a, b, target=TARGET)
    assert "gl.cdiv(M, block_M) - 1" in kernel.triton_source
    assert close(simulated.run(kernel, a, b, is_eager=is_eager), a.double() @ b.double())


def latent(splits: int, kv_len: int) -> tuple[CompiledKernel, dict[str, torch.Tensor]]:
    """Decoding whose 64 heads share keys, with two groups of warps beside each other."""
    sizes = {"dim": 128, "dim_rope": 64, "splits": splits, "block_H": 64, "threads": 256}
    kernel = transpile(
        mla_decode.scheduled(specialised(1)),
        **{"batch": 2, "heads": 64, "kv_len": kv_len, "target": TARGET, **sizes},
    )
    shapes = {
        "Q": (2, 64, 128),
        "Q_rope": (2, 64, 64),
        "KV": (2, kv_len, 128),
        "K_rope": (2, kv_len, 64),
    }
    return kernel, {one: torch.randn(*shape).half() for one, shape in shapes.items()}


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(("splits", "kv_len"), [(1, 192), (4, 200), (4, 100)])
def test_decoding_with_warps_beside_each_other(splits: int, kv_len: int, is_eager: bool) -> None:
    """Also programs without a key, whose parts are zeros."""
    kernel, given = latent(splits, kv_len)
    assert "[gl.num_warps() // 2, 2]" in kernel.triton_source
    found = simulated.launched(kernel, "mla_decode_kernel_1", given, is_eager)
    weights = (found["sums"] * LN2).softmax(-1)
    o = (found["parts"] * weights[..., None]).sum(-2)
    q, q_rope, kv, k_rope = (one.double() for one in given.values())
    scores = (q @ kv.mT + q_rope @ k_rope.mT) * 192**-0.5
    assert close(o, scores.softmax(-1) @ kv)


@pytest.mark.compile
def test_decoding_compiles() -> None:
    kernel = transpile(
        mla_decode.scheduled(specialised(1)), batch=2, heads=128, kv_len=4096, target=TARGET
    )
    report, _ = compile_check.check_all([(kernel.triton_source, kernel.lowered_facts, TARGET)])
    # Each group of warps: 32 + 4 steps of 16 for half of the scores, 4 for half of the values.
    assert report.problem is None and report.spills == 0 and report.instructions["wgmma"] == 40


@pytest.mark.compile
@pytest.mark.parametrize(
    "program", ["permuted", "sparse", "with_erf", "copied", "weighted", "keys_as_values"]
)
def test_products_compile(program: str) -> None:
    kernel = made(getattr(programs, program))
    (report,) = compile_check.check_all([(kernel.triton_source, kernel.lowered_facts, TARGET)])
    assert report.problem is None and report.spills == 0


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("names_of_the_module", "`gl` is a name of what its module imports"),
        ("twice", "a loop loads a tile twice in a turn"),
        ("ahead", "`b` is loaded in a loop and outside of it"),
        ("nested", "no loop of the kernel has products"),
        ("two_loops", "its loops do not go on where the one before stopped"),
        ("carried", "`at` goes from turn to turn"),
        ("of_another_type", "is loaded within an expression"),
    ],
)
def test_what_has_no_form_in_gluon_stays_in_triton(program: str, said: str) -> None:
    assert said in reason(transpile(getattr(programs, program), target=TARGET))


@pytest.mark.parametrize(
    ("dim", "block_N", "consumers", "threads", "said"),
    [
        (128, 64, 3, 128, "its products need 112 registers of each thread, of which 12 warps have"),
        (64, 64, 2, 512, "32 warps of consumers have too few registers for products"),
        (128, 128, 1, 128, "its products need 256 registers of each thread"),
    ],
)
def test_kernels_whose_sums_do_not_fit_registers(
    dim: int, block_N: int, consumers: int, threads: int, said: str
) -> None:
    rows = {128: 64 if consumers > 1 else 128, 512: 256}[threads]
    kernel = flash_attention.scheduled(specialised(consumers))
    options = {"block_M": rows, "block_N": block_N, "num_stages": 2, "threads": threads}
    found = transpile(kernel, 1, 2, 4096, dim, True, layout="bhsd", target=TARGET, **options)
    assert said in reason(found)


def test_functions_that_gluon_lacks_are_spelled_out() -> None:
    """Two products a turn, of which one goes through a sigmoid."""
    x, w, v = (torch.randn(*shape).half() for shape in ((200, 128), (128, 136), (128, 136)))
    schedule = specialised(2, tile={"m": 64, "n": 64, "k": 32}, warps=4, pipeline=2)
    kernel = made(swiglu.scheduled(schedule), x, w, v)
    assert "acc * (1 / (1 + gl.exp(-acc))) * acc_1" in kernel.triton_source
    gate = x.double() @ w.double()
    wanted = gate * gate.sigmoid() * (x.double() @ v.double())
    assert close(simulated.run(kernel, x, w, v), wanted)
    assert close(kernel(x, w, v).double(), wanted)


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(("queries", "keys"), [(320, 64), (192, 300), (64, 500), (500, 72)])
def test_causal_attention_of_other_lengths(queries: int, keys: int, is_eager: bool) -> None:
    """Rows that see nothing, whose loops stop before they start, beside others."""
    schedule = specialised(2, tile={"m": 64, "n": 64}, warps=4, pipeline=2)
    q = torch.randn(1, 2, queries, 32, dtype=torch.float16)
    k, v = (torch.randn(1, 2, keys, 32, dtype=torch.float16) for _ in range(2))
    kernel = transpile(attention.scheduled(schedule), q, k, v, "causal", target=TARGET)
    assert "gluon.jit" in kernel.triton_source
    found = simulated.run(kernel, q, k, v, is_eager=is_eager)
    plain = kernel(q, k, v)
    assert torch.equal(found.isnan(), plain.isnan())
    assert bool(found.isnan().any()) == (queries > keys)
    assert close(found.nan_to_num(), plain.double().nan_to_num())


def derivatives(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, is_causal: bool
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor, torch.Tensor]:
    """dQ, dK and dV; O; and the log-sum-exp of each row, which kernels take in float32."""
    wide = [one.double().requires_grad_() for one in (q, k, v)]
    scores = wide[0] @ wide[1].mT * q.shape[-1] ** -0.5
    if is_causal:
        unseen = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(unseen, float("-inf"))
    o = scores.softmax(-1) @ wide[2]
    made = torch.autograd.grad(o, wide, do.double())
    return made, o.detach(), scores.logsumexp(-1).float().detach()


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize(
    ("seq_len", "is_causal"), [(256, False), (256, True), (200, True), (72, False), (330, True)]
)
def test_derivatives_of_attention(seq_len: int, is_causal: bool, is_eager: bool) -> None:
    """Four products a turn, of which two and two read one tile."""
    q, k, v, do = (torch.randn(1, 2, seq_len, 32, dtype=torch.float16) for _ in range(4))
    wanted, o, lse = derivatives(q, k, v, do, is_causal)
    options = {"dim": 32, "block_M": 64, "block_N": 64, "threads": 128, "is_causal": is_causal}
    kernel = transpile(
        attention_backward.scheduled(specialised()),
        **{"batch": 1, "heads": 2, "seq_len": seq_len, "target": TARGET, **options},
    )
    given = {"Q": q, "K": k, "V": v, "dO": do, "lse": lse}
    given["delta"] = (o * do.double()).sum(-1).float()
    found = {
        **simulated.launched(kernel, "attention_backward_kernel_2", given, is_eager),
        **simulated.launched(kernel, "attention_backward_kernel_3", given, is_eager),
    }
    for one, expected_one in zip(("dQ", "dK", "dV"), wanted, strict=True):
        assert close(found[one], expected_one)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("program", ["names_of_gluon", "backwards", "with_erf", "copied"])
def test_products_on_cuda(program: str) -> None:
    a, b = (one.cuda() for one in inputs())
    call = transpile(getattr(programs, program))
    assert "gluon.jit" in call.triton_source
    found = call(a, b)
    wanted = product_of(program, a, b)
    assert close(found.double(), wanted)
    assert all(torch.equal(found, call(a, b)) for _ in range(100))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("stop", [lambda by: by + 1, lambda by: by % 3, lambda by: by * 2 - 2])
def test_consumers_that_stop_at_different_turns_on_cuda(stop: Callable[[Any], Any]) -> None:
    a, b = (one.cuda() for one in inputs())
    call = transpile(programs.ragged(stop))
    counts = [max(stop(by), 0) for by in range(4)]
    assert close(call(a, b).double(), summed(a, b, counts))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tables_on_cuda() -> None:
    a, b = (one.cuda() for one in inputs())
    counts = torch.tensor([0, 5, 2, 1], dtype=torch.int32, device="cuda")
    order = torch.tensor([3, 0, 2, 4, 1], dtype=torch.int32, device="cuda")
    assert close(transpile(programs.sparse)(a, b, counts).double(), summed(a, b, counts.tolist()))
    assert close(transpile(programs.permuted)(a, b, order).double(), a.double() @ b.double())


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("seq_len", "is_causal"), [(1024, True), (1000, False), (330, True)])
def test_derivatives_of_attention_on_cuda(seq_len: int, is_causal: bool) -> None:
    shape = (2, 3, seq_len, 64)
    q, k, v, do = (torch.randn(shape, dtype=torch.float16, device="cuda") for _ in range(4))
    wanted, o, lse = derivatives(q, k, v, do, is_causal)
    options = {"dim": 64, "block_M": 64, "block_N": 64, "threads": 128, "is_causal": is_causal}
    kernel = attention_backward.scheduled(specialised())
    inputs = (q, k, v, o.half(), do, lse)
    call = transpile(kernel, *inputs, **options)
    assert call.triton_source.count("gl.warp_specialize(") == 2
    found = call(*inputs)
    for one, expected_one in zip(found, wanted, strict=True):
        assert (one.double() - expected_one).norm() <= 4e-3 * expected_one.norm()
    for _ in range(100):
        again = call(*inputs)
        assert all(torch.equal(one, two) for one, two in zip(found, again, strict=True))
