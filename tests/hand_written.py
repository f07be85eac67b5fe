"""Run the benchmarks' hand-written Triton in the interpreter against the oracles.

TRITON_INTERPRET=1 python -m tests.hand_written
"""

from collections.abc import Iterator
from types import SimpleNamespace

import torch
from torch import Tensor

from benchmarks.handwritten import (
    attention,
    attention_backward,
    attention_pointers,
    block_scaled_gemm,
    dequantized_gemm,
    elementwise,
    gated_delta_rule,
    gemm,
    gqa_decode,
    linear_attention,
    mamba2,
    mla_decode,
    reductions,
    retention,
    rows,
    selective_scan,
    split_k_gemm,
    top_k,
)
from tests import oracles

OPTIONS = {"num_warps": 4, "num_stages": 2}


def main() -> None:
    torch.manual_seed(0)
    # The persistent kernel asks how many processors there are: three, so that each has work twice.
    torch.cuda.get_device_properties = lambda _: SimpleNamespace(multi_processor_count=3)
    for name, found, expected in every():
        error = ((found.double() - expected).norm() / expected.norm()).item()
        assert error < 5e-4, f"{name}: relative error {error:.1e}"


def every() -> Iterator[tuple[str, Tensor, Tensor]]:
    for part in (gemms, attentions, grouped, backward, decoding, others):
        yield from part()


def random(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float16)


def gemms() -> Iterator[tuple[str, Tensor, Tensor]]:
    M, N, K = 70, 104, 72
    tile = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 2, **OPTIONS}
    a = random(M, K)
    for transpose_b in (False, True):
        b = random(N, K) if transpose_b else random(K, N)
        expected = oracles.gemm(a, b, transpose_b)
        yield "pointers", gemm.gemm_pointers(a, b, transpose_b, **tile), expected
        yield "TMA", gemm.gemm_tma(a, b, transpose_b, **tile), expected
        for subtile in (False, True):
            found = gemm.gemm_persistent(a, b, transpose_b, SUBTILE=subtile, **tile)
            yield "persistent", found, expected
    c, b = torch.zeros((M, N)), random(K, N)
    split_k_gemm.split_k_gemm(a, b, c, 2, 32, 64, 32, **OPTIONS)
    yield "split-K", c, oracles.gemm(a, b)
    few, turned = random(13, 200), random(72, 200)
    tile = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32, **OPTIONS}
    found = split_k_gemm.few_rows_gemm(few, turned, SPLIT_K=4, **tile)
    yield "few rows", found, oracles.gemm(few, turned, True)


def attentions() -> Iterator[tuple[str, Tensor, Tensor]]:
    for layout, shape in (("bshd", (2, 43, 2, 32)), ("bhsd", (2, 2, 43, 32))):
        q, k, v = (random(*shape) for _ in range(3))
        for causal in (False, True):
            expected = oracles.flash_attention(q, k, v, causal, layout)
            call = (q, k, v, causal, layout)
            square = {"BLOCK_M": 32, "BLOCK_N": 32, **OPTIONS}
            yield "rotated", attention.attention_rotated(*call, **square), expected
            for blocks in ({"BLOCK_M": 32, "BLOCK_N": 16}, {"BLOCK_M": 16, "BLOCK_N": 32}):
                config = {**blocks, **OPTIONS}
                yield "TMA", attention.attention_tma(*call, **config), expected
                found = attention_pointers.attention_pointers(*call, **config)
                yield "pointers", found, expected


def grouped() -> Iterator[tuple[str, Tensor, Tensor]]:
    config = {"BLOCK_M": 32, "BLOCK_N": 32, **OPTIONS}
    for layout, at in (("bshd", 2), ("bhsd", 1)):
        q, k, v = (
            random(*((2, 43, heads, 32) if layout == "bshd" else (2, heads, 43, 32)))
            for heads in (4, 2, 2)
        )
        wide = (one.repeat_interleave(2, at) for one in (k, v))
        expected = oracles.flash_attention(q, *wide, True, layout)
        for kernel in (attention.attention_tma, attention.attention_rotated):
            yield "grouped queries", kernel(q, k, v, True, layout, **config), expected


def backward() -> Iterator[tuple[str, Tensor, Tensor]]:
    for is_causal in (False, True):
        q, k, v, do = (random(2, 2, 43, 32) for _ in range(4))
        o, lse, expected = oracles.attention_backward(q, k, v, do, is_causal)
        found = attention_backward.attention_backward(
            q, k, v, o.half(), do, lse.float(), is_causal, BLOCK_M=16, BLOCK_N=32, **OPTIONS
        )
        yield from zip(("dQ", "dK", "dV"), found, expected, strict=True)


def decoding() -> Iterator[tuple[str, Tensor, Tensor]]:
    for kv_len, heads, kv_heads, splits in ((128, 16, 2, 4), (75, 6, 3, 8)):
        q, (k, v) = random(2, heads, 32), random(2, 2, kv_len, kv_heads, 32)
        for tma in (False, True):
            tile = {"SPLITS": splits, "BLOCK_N": 32, "TMA": tma, **OPTIONS}
            found = gqa_decode.gqa_decode(q, k, v, **tile)
            yield "decoding", found, oracles.gqa_decode(q, k, v)
    for kv_len, heads, splits in ((128, 32, 4), (75, 24, 8)):
        queries, keys = random(2, heads, 48), random(2, kv_len, 48)
        given = [one.contiguous() for x in (queries, keys) for one in x.split((32, 16), -1)]
        found = mla_decode.mla_decode(*given, SPLITS=splits, BLOCK_H=16, BLOCK_N=32, **OPTIONS)
        yield "latent attention", found, oracles.mla_decode(*given)


def others() -> Iterator[tuple[str, Tensor, Tensor]]:
    x, w, bias = random(33, 100), random(100), random(100)
    rows_of = {"ROWS": 2, "num_warps": 4}
    yield "softmax", rows.softmax(x, **rows_of), oracles.softmax(x)
    found = rows.softmax_online(x, BLOCK=32, num_warps=4, STAGES=2)
    yield "online softmax", found, oracles.softmax(x)
    yield "RMS norm", rows.rms_norm(x, w, 1e-6, **rows_of), oracles.rms_norm(x, w)
    found = rows.layer_norm(x, w, bias, 1e-5, **rows_of)
    yield "layer norm", found, oracles.layer_norm(x, w, bias)
    found = elementwise.bias_gelu(x, bias, BLOCK_M=4, BLOCK_N=64, num_warps=4)
    yield "GELU", found, oracles.bias_gelu(x, bias)
    q, k, v = random(2, 43, 2, 32), random(2, 43, 2, 32), random(2, 43, 2, 48)
    found = linear_attention.linear_attention(q, k, v, CHUNK=16, BLOCK_V=32, **OPTIONS)
    yield "linear attention", found, oracles.linear_attention(q, k, v)
    rate = torch.tensor([-0.05, -0.7])
    found = retention.retention(q, k, v, rate, CHUNK=16, BLOCK_V=32, **OPTIONS)
    yield "retention", found, oracles.retention(q, k, v, rate)
    yield "row sum", reductions.row_sum(x, **rows_of), oracles.row_sum(x)
    for length in (1024, 700):
        flat = random(length)
        found = reductions.full_sum(flat, 8, 64, num_warps=4, STAGES=2)
        yield "full sum", found, oracles.full_sum(flat)
    yield "copy", elementwise.copy(x, 64, num_warps=4), oracles.copy(x)
    yield "add", elementwise.add(x, x, 64, num_warps=4), oracles.add(x, x)
    for kernel in (top_k.by_turns, top_k.bitonic):
        many = torch.randint(-9, 9, (13, 50)).float()
        found = kernel(many, 6, **rows_of)
        values, columns = oracles.top_k(many, 6)
        yield "largest", found[0], values
        yield "their columns", found[1], columns.double()
    yield from delta_rule()
    yield from quantized()
    yield from scaled()
    yield from chunks()
    yield from scans()


def delta_rule() -> Iterator[tuple[str, Tensor, Tensor]]:
    for chunk, seq_len in ((16, 64), (32, 75)):
        q, k, v = random(2, seq_len, 2, 32), random(2, seq_len, 2, 32), random(2, seq_len, 2, 64)
        q, k = (torch.nn.functional.normalize(one.float(), dim=-1).half() for one in (q, k))
        rates, beta = -0.3 * torch.rand(2, seq_len, 2), torch.rand(2, seq_len, 2)
        given = (q, k, v, rates, beta)
        found = gated_delta_rule.gated_delta_rule(*given, CHUNK=chunk, BLOCK_V=32, **OPTIONS)
        # W and U are rounded on the way.
        yield "delta rule", found, oracles.gated_delta_rule(*given)


def quantized() -> Iterator[tuple[str, Tensor, Tensor]]:
    a, w = random(40, 64), torch.randint(256, (48, 32), dtype=torch.uint8)
    scales = random(48, 2)
    tile = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32, **OPTIONS}
    for left in (False, True):
        found = dequantized_gemm.dequantized_gemm(a, w, scales, LEFT=left, **tile)
        yield "4-bit integers", found, oracles.dequantized_gemm(a, w, scales)


def scaled() -> Iterator[tuple[str, Tensor, Tensor]]:
    a, b = (torch.randn(rows, 256).to(torch.float8_e4m3fn) for rows in (50, 200))
    a_scales, b_scales = torch.rand(2, 50), torch.rand(2, 2)
    given = (a, b, a_scales, b_scales)
    found = block_scaled_gemm.block_scaled_gemm(*given, 32, 64, torch.float16, **OPTIONS)
    yield "block scales", found, oracles.block_scaled_gemm(*given)


def chunks() -> Iterator[tuple[str, Tensor, Tensor]]:
    batch, chunks, chunk, heads, dim, state = 2, 2, 32, 4, 32, 16
    x, b = random(batch, chunks * chunk, heads, dim), random(batch, chunks * chunk, 2, state)
    dt = torch.rand(batch, heads, chunks, chunk)
    sums = -dt.cumsum(-1)
    tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, **OPTIONS}
    found = mamba2.chunk_state(b, x, dt, sums, **tile)
    yield "chunk state", found, oracles.chunk_state(b, x, dt, sums)
    cb, states = random(batch, chunks, 2, chunk, chunk), random(batch, chunks, heads, dim, state)
    given = (cb, x, dt, sums, b, states, torch.randn(heads))
    yield "chunk scan", mamba2.chunk_scan(*given, **tile), oracles.chunk_scan(*given)


def scans() -> Iterator[tuple[str, Tensor, Tensor]]:
    x, delta = random(2, 21, 12), torch.rand(2, 21, 12).half()
    rates, b, c = -torch.rand(12, 4), random(2, 21, 4), random(2, 21, 4)
    given = (x, delta, rates, b, c)
    expected = oracles.selective_scan(*given)
    found = selective_scan.sequential(*given, BLOCK_D=8, STAGES=2, num_warps=1)
    yield "sequential scan", found, expected
    found = selective_scan.associative(*given, BLOCK_D=8, CHUNK=16, num_warps=4)
    yield "associative scan", found, expected


if __name__ == "__main__":
    main()
