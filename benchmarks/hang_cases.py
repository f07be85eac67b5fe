"""Random kernels in Gluon, each with random inputs and what is right for them."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests import gluon_programs, simulated
from tests.kernels import attention_programs
from tests.kernels.attention_backward import attention_backward
from tests.kernels.chunk_scan import chunk_scan
from tests.kernels.chunk_state import chunk_state
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.gemm_programs import swiglu
from tests.kernels.linear_attention import linear_attention
from tests.kernels.retention import retention
from tests.kernels.whole_operands import attention
from tile2triton import CompiledKernel, Schedule, transpile

TARGET = "cuda:90"
# Rings go round many times in long ones, and loops have no turn or one in short ones.
LENGTHS = (1, 17, 63, 64, 65, 100, 128, 200, 256, 330, 512)
LONG = (*LENGTHS, 777, 1000, 1024, 2048, 3001, 4096)


@dataclass(frozen=True)
class Case:
    """A kernel and its inputs; `wanted` is in float64.

    `given` is what kernels of several launches read, which are simulated one by one.
    """

    what: str
    kernel: CompiledKernel
    inputs: tuple[Tensor, ...]
    wanted: tuple[Tensor, ...]
    given: dict[str, Tensor] | None = None

    def launch(self) -> tuple[Tensor, ...]:
        return _tuple(self.kernel(*self.inputs))

    def simulate(self, is_eager: bool) -> tuple[Tensor | None, ...]:
        """None for what kernels store that are left in plain Triton."""
        if not self.given:
            return _tuple(simulated.run(self.kernel, *self.inputs, is_eager=is_eager))
        found: dict[str, Tensor] = {}
        for one in self.kernel.lowered_facts.launches:
            if one.language == "gluon":
                found |= simulated.launched(self.kernel, one.kernel, self.given, is_eager)
        return tuple(map(found.get, self.kernel.lowered_facts.outputs))


@dataclass(frozen=True)
class Chance:
    """What cases are drawn from; small ones are for the CPU."""

    draw: random.Random
    device: str
    is_small: bool

    def length(self) -> int:
        lengths = LENGTHS if self.is_small else LONG
        return int(self.draw.choice((*lengths, self.draw.randrange(1, lengths[-1]))))

    def normal(self, *shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
        return torch.randn(*shape, dtype=dtype).to(self.device)

    def options(self) -> dict[str, int]:
        return {"num_stages": self.draw.choice((2, 2, 3, 4)), "threads": 128, "block_M": 64}

    def consumers(self) -> int:
        return int(self.draw.choice((1, 2, 2, 3)))


def made(seed: int, device: str, is_small: bool) -> Case:
    """The case of a seed, which is the same on every machine."""
    torch.manual_seed(seed)
    chance = Chance(random.Random(seed), device, is_small)
    return chance.draw.choice(CASES)(chance)


def flash(chance: Chance) -> Case:
    tokens, is_causal = chance.length(), chance.draw.random() < 0.5
    dim = 32 if chance.is_small else chance.draw.choice((64, 128))
    consumers = chance.consumers()
    options = {**chance.options(), "block_N": chance.draw.choice((64, 128))}
    q, k, v = (chance.normal(2, 2, tokens, dim) for _ in range(3))
    kernel = _made(
        flash_attention.scheduled(Schedule(warp_specialize=consumers)),
        2,
        2,
        tokens,
        dim,
        is_causal,
        layout="bhsd",
        **options,
    )
    what = f"attention of {tokens} tokens, dim {dim}, {'causal' if is_causal else 'full'}"
    return Case(
        _said(what, consumers, options), kernel, (q, k, v), (_attended(q, k, v, is_causal),)
    )


def other_lengths(chance: Chance) -> Case:
    """Queries and keys of different lengths: some rows may see nothing."""
    queries, keys = chance.length(), chance.length()
    is_causal = chance.draw.random() < 0.7
    dim = 32 if chance.is_small else chance.draw.choice((64, 128))
    tile, stages = {"m": 64, "n": chance.draw.choice((64, 128))}, chance.draw.choice((2, 3))
    consumers = chance.consumers()
    schedule = Schedule(warp_specialize=consumers, tile=tile, warps=4, pipeline=stages)
    q = chance.normal(1, 3, queries, dim)
    k, v = (chance.normal(1, 3, keys, dim) for _ in range(2))
    mask = "causal" if is_causal else None
    kernel = _made(attention.scheduled(schedule), q, k, v, mask)
    what = f"attention of {queries} queries to {keys} keys, dim {dim}, {mask or 'full'}"
    options = {**tile, "stages": stages}
    return Case(
        _said(what, consumers, options), kernel, (q, k, v), (_attended(q, k, v, is_causal),)
    )


def product(chance: Chance) -> Case:
    M, N, K = chance.length(), *(-(-chance.length() // 8) * 8 for _ in range(2))
    is_turned = chance.draw.random() < 0.5
    options = {
        **chance.options(),
        "block_N": chance.draw.choice((64, 128)),
        "block_K": chance.draw.choice((32, 64)),
    }
    a = chance.normal(M, K)
    b = chance.normal(*((N, K) if is_turned else (K, N)))
    consumers = chance.consumers()
    kernel = _made(
        gemm.scheduled(Schedule(warp_specialize=consumers)),
        M=M,
        N=N,
        K=K,
        transpose_B=is_turned,
        **options,
    )
    wanted = a.double() @ (b.double().T if is_turned else b.double())
    what = f"A{M}x{K} @ B{'ᵀ' if is_turned else ''}, {N} columns"
    return Case(_said(what, consumers, options), kernel, (a, b), (wanted,))


def variant(chance: Chance) -> Case:
    """Attention as models have it, as plain Triton computes it."""
    heads, queries, keys = 3, chance.length(), chance.length()
    dim = 32 if chance.is_small else chance.draw.choice((64, 128))
    q = chance.normal(1, heads, queries, dim)
    k, v = (chance.normal(1, heads, keys, dim) for _ in range(2))
    per_head = torch.rand(heads).to(chance.device)
    seen = torch.rand(1, keys) < 0.9
    more: dict[str, tuple[Any, ...]] = {
        "alibi_attention": (per_head,),
        "sliding_window_attention": (chance.draw.choice((1, 40, 64, 300)),),
        "capped_attention": (2.0,),
        "attention_with_sinks": (per_head,),
        "prefix_attention": (torch.tensor([keys // 2], dtype=torch.int32).to(chance.device),),
        "cross_attention": (seen.to(chance.device),),
    }
    name = chance.draw.choice(list(more))
    program = getattr(attention_programs, name)
    tile, stages = {"m": 64, "n": chance.draw.choice((64, 128))}, chance.draw.choice((2, 3))
    consumers = chance.consumers()
    options: dict[str, Any] = {"tile": tile, "warps": 4, "pipeline": stages}
    inputs = (q, k, v, *more[name])
    schedules = Schedule(warp_specialize=consumers, **options), Schedule(**options)
    kernel, plain = (_made(program.scheduled(one), *inputs) for one in schedules)
    what = f"{name} of {queries} queries to {keys} keys, dim {dim}"
    said = _said(what, consumers, {**tile, "stages": stages})
    # Numbers are the kernel's own.
    tensors = tuple(one for one in inputs if isinstance(one, Tensor))
    return Case(said, kernel, tensors, _tuple(plain(*tensors)))


def gated(chance: Chance) -> Case:
    """Two products of one factor, of which one goes through a function."""
    M, N, K = chance.length(), *(-(-chance.length() // 8) * 8 for _ in range(2))
    # A square factor could be meant either way round.
    K += 8 * (K == N)
    x, w, v = (chance.normal(*shape) * 0.3 for shape in ((M, K), (K, N), (K, N)))
    tile, stages = {"m": 64, "n": 64, "k": chance.draw.choice((32, 64))}, chance.options()
    consumers = chance.consumers()
    schedule = Schedule(
        warp_specialize=consumers, tile=tile, warps=4, pipeline=stages["num_stages"]
    )
    gate = x.double() @ w.double()
    wanted = gate * gate.sigmoid() * (x.double() @ v.double())
    kernel = _made(swiglu.scheduled(schedule), x, w, v)
    what = _said(f"swiglu of {M} rows, {N} columns, {K} sums", consumers, {**tile, **stages})
    return Case(what, kernel, (x, w, v), (wanted,))


def scan(chance: Chance) -> Case:
    """As plain Triton computes them, whose own tests compare it with what is right."""
    name = chance.draw.choice(("linear", "retention", "state", "scan"))
    # A length of 1 is another kernel's.
    tokens = max(chance.length(), 8)
    chunks, long = chance.draw.choice((1, 2, 3)), chance.draw.choice((64, 128, 256))
    heads = tuple(chance.normal(1, tokens, 2, 64) * 0.3 for _ in range(3))

    def decays(*shape: int) -> Tensor:
        return torch.cumsum(-torch.rand(*shape) * 0.1, -1).to(chance.device)

    of_chunks = torch.rand(1, 4, chunks, long).to(chance.device), decays(1, 4, chunks, long)
    values = chance.normal(1, chunks * long, 4, 64) * 0.3
    program, inputs = {
        "linear": (linear_attention, heads),
        "retention": (retention, (*heads, -torch.rand(2).to(chance.device) * 0.1)),
        "state": (
            chunk_state,
            (chance.normal(1, chunks * long, 1, 128) * 0.3, values, *of_chunks),
        ),
        "scan": (
            chunk_scan,
            (
                chance.normal(1, chunks, 1, long, long) * 0.3,
                values,
                *of_chunks,
                chance.normal(1, chunks * long, 1, 64) * 0.3,
                chance.normal(1, chunks, 4, 64, 64) * 0.3,
                chance.normal(4, dtype=torch.float32),
            ),
        ),
    }[name]
    consumers = chance.consumers()
    kernel = _made(program.scheduled(Schedule(warp_specialize=consumers)), *inputs)
    # Tensors on the CPU run the plain Triton of the same program.
    plain = transpile(program, *inputs, target=TARGET)
    size = f"{tokens} tokens" if name in ("linear", "retention") else f"{chunks} chunks of {long}"
    what = _said(f"{name} of {size}", consumers, {})
    return Case(what, kernel, inputs, _tuple(plain(*inputs)))


def table(chance: Chance) -> Case:
    """Tiles and numbers of turns that tables give, and tiles that are read into registers."""
    programs = gluon_programs
    name = chance.draw.choice(("sparse", "permuted", "keys_as_values", "weighted", "copied"))
    a, b = chance.normal(programs.M, programs.K), chance.normal(programs.K, programs.N)
    wide, product_ = (a.double(), b.double()), a.double() @ b.double()
    if name == "sparse":
        counts = [chance.draw.randrange(6) for _ in range(4)]
        given: tuple[Tensor, ...] = (a, b, torch.tensor(counts, dtype=torch.int32))
        rows = (
            wide[0][64 * at : 64 * (at + 1), : 64 * one] @ wide[1][: 64 * one]
            for at, one in enumerate(counts)
        )
        wanted = torch.cat(list(rows))
    elif name == "permuted":
        order = chance.draw.sample(range(5), 5)
        given, wanted = (a, b, torch.tensor(order, dtype=torch.int32)), product_
    elif name == "keys_as_values":
        q, kv = chance.normal(programs.M, 64), chance.normal(programs.K, 64)
        weights = (q.double() @ kv.double().T).relu().half().double()
        given, wanted = (q, kv), weights @ kv.double()
    elif name == "weighted":
        row, column = (torch.rand(n).to(chance.device) for n in (programs.M, programs.K))
        rest = chance.normal(programs.M, programs.N)
        factors = (wide[0] * row[:, None] * column).half().double()
        given = (a, b, row, column, rest)
        wanted = factors @ wide[1] * row[:, None] + rest.double()
    else:
        sums = wide[0].reshape(programs.M, -1, 64).sum(1).repeat(1, programs.N // 64)
        given, wanted = (a, b), product_ + sums
    inputs = tuple(one.to(chance.device) for one in given)
    kernel = _made(getattr(programs, name))
    return Case(f"{name}, 2 consumers", kernel, inputs, (wanted,))


def derivatives(chance: Chance) -> Case:
    tokens, is_causal = max(chance.length(), 8), chance.draw.random() < 0.5
    dim = 32 if chance.is_small else 64
    options = {**chance.options(), "block_N": 64}
    q, k, v, do = (chance.normal(1, 2, tokens, dim) for _ in range(4))
    wide = [one.double().requires_grad_() for one in (q, k, v)]
    scores = wide[0] @ wide[1].mT * dim**-0.5
    if is_causal:
        unseen = torch.ones_like(scores[0, 0]).triu(1).bool()
        scores = scores.masked_fill(unseen, float("-inf"))
    o = scores.softmax(-1) @ wide[2]
    wanted = torch.autograd.grad(o, wide, do.double())
    lse = scores.logsumexp(-1).detach().float()
    delta = (o * do.double()).sum(-1).detach().float()
    sizes = {"batch": 1, "heads": 2, "seq_len": tokens, "dim": dim, "is_causal": is_causal}
    consumers = chance.consumers()
    kernel = _made(
        attention_backward.scheduled(Schedule(warp_specialize=consumers)), **sizes, **options
    )
    what = f"derivatives of attention of {tokens} tokens, {'causal' if is_causal else 'full'}"
    return Case(
        _said(what, consumers, options),
        kernel,
        (q, k, v, o.detach().half(), do, lse),
        wanted,
        {"Q": q, "K": k, "V": v, "dO": do, "lse": lse, "delta": delta},
    )


CASES: tuple[Callable[[Chance], Case], ...] = (
    flash,
    flash,
    other_lengths,
    product,
    variant,
    gated,
    scan,
    table,
    derivatives,
)


def _attended(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Tensor:
    """The last query sees all keys; rows that see nothing are nan."""
    scores = q.double() @ k.double().mT * q.shape[-1] ** -0.5
    if is_causal:
        unseen = torch.ones_like(scores[0, 0]).triu(1 + k.shape[-2] - q.shape[-2]).bool()
        scores = scores.masked_fill(unseen, float("-inf"))
    return scores.softmax(-1) @ v.double()


def _made(program: Any, *arguments: Any, **options: Any) -> CompiledKernel:
    return transpile(program, *arguments, **options, target=TARGET)


def _said(what: str, consumers: int, options: dict[str, int]) -> str:
    rest = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{what}; {consumers} consumers" + (f", {rest}" if rest else "")


def _tuple(found: Any) -> tuple[Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)
