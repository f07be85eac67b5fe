"""Kernels with hints, and what becomes of them: for tests."""

import tile2triton
import tile2triton.language as T

PATCHES = frozenset(
    {
        "gemm_warps",
        "load_latency",
        "pipeline_schedule",
        "shared_layout",
        "async_outside_loop",
        "mfma_shape",
    }
)


def product(
    hints=None,
    policy="Square",
    layout=None,
    threads=128,
    M=128,
    stages=2,
    annotations=None,
    statement=None,
    dtype="float16",
    **loop,
):
    """A matrix product whose kernel has these hints."""
    copies = hints or {}

    @tile2triton.kernel(out_idx=[2])
    def made(N=64, K=96, tile=32):
        @T.prim_func
        def main(
            A: T.Tensor((M, K), dtype),
            B: T.Tensor((K, N), dtype),
            C: T.Tensor((M, N), "float32"),
        ):
            with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=threads) as (bx, by):
                a = T.alloc_shared((64, tile), dtype)
                b = T.alloc_shared((tile, 64), dtype)
                c = T.alloc_fragment((64, 64), "float32")
                if layout is not None:
                    T.annotate_layout({b: layout(b)})
                if statement is not None:
                    statement()
                T.clear(c)
                for k in T.Pipelined(T.ceildiv(K, tile), num_stages=stages, **loop):
                    T.copy(A[by * 64, k * tile], a, **copies)
                    T.copy(B[k * tile, bx * 64], b)
                    T.gemm(a, b, c, policy=policy, annotations=annotations)
                T.copy(c, C[by * 64, bx * 64])

        return main

    return made


def outcomes(made, target):
    """How each hint is applied and its words, by a part of how it is written."""
    kernel = tile2triton.transpile(made, target=target)
    facts = kernel.lowered_facts
    keys = [(one.construct, one.line) for one in facts.hint_report]
    assert len(keys) == len(set(keys))
    assert {one.target for one in facts.hint_report} == {target}
    return kernel, {one.construct: (one.how, one.detail) for one in facts.hint_report}


def outcome(made, target, part):
    _, found = outcomes(made, target)
    (match,) = [value for key, value in found.items() if part in key]
    return match


@tile2triton.kernel(out_idx=[1])
def doubled(width=None, prefer=None, rows=100, columns=64):
    @T.prim_func
    def main(A: T.Tensor((rows, columns), "float16"), B: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(rows, 16), threads=128) as bx:
            tile = T.alloc_shared((16, columns), "float16")
            T.copy(A[bx * 16, 0], tile, coalesced_width=width, prefer_instruction=prefer)
            for i, j in T.Parallel(16, columns):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[bx * 16, 0], coalesced_width=width, prefer_instruction=prefer)

    return main


@tile2triton.kernel(out_idx=[2])
def chained(policy="FullCol", rows=64, width=128, depth=64, threads=256, notes=None):
    """Scores and what they weight, on few rows, as decoding has it."""

    @T.prim_func
    def main(
        Q: T.Tensor((rows, width), "float16"),
        K: T.Tensor((2 * depth, width), "float16"),
        C: T.Tensor((rows, width), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            q = T.alloc_shared((rows, width), "float16")
            k = T.alloc_shared((depth, width), "float16")
            s = T.alloc_fragment((rows, depth), "float32")
            p = T.alloc_fragment((rows, depth), "float16")
            o = T.alloc_fragment((rows, width), "float32")
            T.copy(Q, q)
            T.clear(o)
            for i in T.Pipelined(2, num_stages=2):
                T.copy(K[i * depth, 0], k)
                T.gemm(
                    q, k, s, transpose_B=True, clear_accum=True, policy=policy, annotations=notes
                )
                for x, y in T.Parallel(rows, depth):
                    p[x, y] = s[x, y] * 0.125
                T.gemm(p, k, o, policy=policy)
            T.copy(o, C)

    return main


CHAINS = {
    # Under wgmma, what is multiplied again has whole rows; the other has as many as there are.
    ("cuda:90", "FullCol", 64): ("patch", "native"),
    ("cuda:90", "FullRow", 128): ("native", "native"),
    # Under mma.sync, a chain has one layout, of any of its products.
    ("cuda:80", "FullCol", 64): ("patch", "patch"),
    ("cuda:80", "FullRow", 128): ("native", "native"),
    ("hip:gfx942", "FullRow", 128): ("native", "native"),
    ("hip:gfx950", "FullCol", 64): ("patch", "patch"),
}


@tile2triton.kernel(out_idx=[2])
def twice(policy="FullRow", order=(0, 1, 2), stage=(0, 0, 1)):
    """A tile that is loaded three times, and has another hint each time, or none."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 160), "float16"),
        B: T.Tensor((160, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.async_copy(A[0, 128], a)
            T.ptx_wait_group(0)
            T.copy(B[128, 0], b)
            T.gemm(a, b, c)
            for k in T.Pipelined(2, order=list(order), stage=list(stage)):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c, policy=policy)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, 64 + k * 32], a)
                T.copy(B[64 + k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return main


def padded(tile):
    return T.Layout((32, 64), lambda i, j: i * 72 + j)


def crossed(tile):
    return T.Layout((32, 64), lambda i, j: [i, j ^ (i % 4 * 16)])
