"""Decoding with latent attention: 128 heads of 512 + 64 for one key, 8192 keys, 1 to 64 of them."""

from functools import partial

import torch
from torch import Tensor

from benchmarks.contest import (
    Call,
    Config,
    Contestant,
    Inputs,
    Workload,
    as_tile_program,
    configured,
)
from benchmarks.handwritten import mla_decode as by_hand
from benchmarks.tilelang_port import tilelang_version
from tests.kernels.mla_decode import mla_decode
from tests.kernels.values.latent_attention import latent_attention

HEADS, DIM, ROPE, KV_LEN = 128, 512, 64, 8192
# Programs that share one sequence's keys: enough for all multiprocessors, once or some times.
SPLITS = {1: (32, 64, 128), 8: (8, 16, 32), 32: (2, 4, 8), 64: (1, 2, 4)}


def inputs(batch: int) -> Inputs:
    half = {"device": "cuda", "dtype": torch.bfloat16}
    queries = [torch.randn(batch, HEADS, dim, **half) for dim in (DIM, ROPE)]
    return *queries, *(torch.randn(batch, KV_LEN, dim, **half) for dim in (DIM, ROPE))


def reference(inputs: Inputs) -> Tensor:
    q, q_rope, kv, k_rope = (one[-1].float() for one in inputs)
    weights = ((q @ kv.T + q_rope @ k_rope.T) * (DIM + ROPE) ** -0.5).softmax(-1)
    return weights @ kv


def one_sequence(output: Tensor) -> Tensor:
    return output[-1]


def tile_program(inputs: Inputs, config: Config) -> Call:
    return partial(configured(mla_decode, config), *inputs, dtype="bfloat16")


def shared_out(inputs: Inputs, config: Config) -> Call:
    """The same numbers of parts, of a program that says nothing of them."""
    parts = {("split" if name == "splits" else name): value for name, value in config.items()}
    if parts["split"] == 1:
        del parts["split"]
    return partial(configured(latent_attention, parts), *inputs, dtype="bfloat16")


def hand(inputs: Inputs, config: Config) -> Call:
    return partial(by_hand.mla_decode, *inputs, **config)


def tilelang(inputs: Inputs, config: Config) -> Call:
    kernel = tilelang_version("mla_decode").mla_decode
    return partial(kernel, *inputs, dtype="bfloat16", **config)


def torch_attention(inputs: Inputs, config: Config) -> Call:
    """Products of cuBLAS, the scores between them in memory."""
    q, q_rope, kv, k_rope = inputs
    query, key = torch.cat((q, q_rope), -1), torch.cat((kv, k_rope), -1)

    def call() -> Tensor:
        scores = torch.bmm(query, key.mT) * (DIM + ROPE) ** -0.5
        return torch.bmm(scores.softmax(-1), kv)

    return call


def workload(batch: int) -> Workload:
    configs = tuple({**tile, "SPLITS": n} for n in SPLITS[batch] for tile in by_hand.TILES)
    ours = tuple(as_tile_program(config) for config in configs)
    # One consumer of a producer, in Gluon, whose groups of warps share the columns of its sums.
    consumers = tuple({**one, "warp_specialize": 1} for one in ours if one["threads"] == 256)
    return Workload(
        name=f"mla-decode-b{batch}",
        inputs=partial(inputs, batch),
        reference=reference,
        part=one_sequence,
        contestants=(
            Contestant("tile2triton", "tile2triton", tile_program, ours),
            Contestant("tile2triton Gluon", "tile2triton", tile_program, consumers),
            Contestant("tile2triton split", "tile2triton", shared_out, ours),
            Contestant("triton", "triton", hand, configs),
            Contestant("torch", "torch", torch_attention),
            Contestant("tilelang", "tilelang", tilelang, ours),
        ),
        work=2.0 * batch * HEADS * KV_LEN * (2 * DIM + ROPE),
        unit="TFLOP/s",
        tolerance=1e-2,
        is_small=True,
    )


WORKLOADS = tuple(workload(batch) for batch in SPLITS)
