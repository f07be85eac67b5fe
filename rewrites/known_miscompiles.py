"""Patterns that stock Triton was seen to compile to wrong results, silently, and what avoids them.

Each row was measured on an H200; the rewrites and lowerings that avoid a row refer to this table.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Miscompile:
    """A pattern that stock Triton compiles to wrong results, and how it is avoided."""

    pattern: str
    triton: str
    targets: tuple[str, ...]
    seen: str
    avoided_by: str


KNOWN_MISCOMPILES = (
    Miscompile(
        pattern="in a pipelined loop, tl.sum(a) before tl.dot(tl.trans(a), b) on one loaded tile",
        triton="3.6.0",
        targets=("cuda:90",),
        seen="5000x128, BN=64, fp16 and bf16, num_warps=4, num_stages=4: relative error 1.3e-1",
        avoided_by="reductions move behind the GEMM; behind other uses of the tile, such as a cast "
        "or an element-wise loop, and where data flow forbids it, num_stages is 2 at most",
    ),
    Miscompile(
        pattern="in a pipelined loop, acc = tl.dot(a, b, acc) whose first factor is computed and "
        "neither loaded nor of another product: triton-lang/triton#9433",
        triton="3.6.0 and 3.9.0",
        targets=("cuda:90",),
        seen="unpacked int4, 128x128x64, 8 warps, 3 stages: another result in each run, relative "
        "error 5e-3; 256x128: in every second run. wgmma of a turn read registers that the next "
        "one writes, as Triton waits for all but the last three instructions",
        avoided_by="a branch that may change the sum stands behind the product, and is never "
        "taken: Triton waits for the product in its turn",
    ),
    Miscompile(
        pattern="tl.dot on a descriptor's block (1, n, 1, m), reshaped to (n, m)",
        triton="3.6.0",
        targets=("cuda:90",),
        seen="attention forward, (4, 4096, 32, 128) bf16, 128x128 tiles, 8 warps, 2 and 3 stages, "
        "static trip count: relative error 7.9e-1",
        avoided_by="descriptors have dimensions of extent 1 first",
    ),
    Miscompile(
        pattern="tl.load(int8 pointers, mask=…, other=-99) with vectors of several elements",
        triton="3.6.0",
        targets=("cuda:90",),
        seen="every second masked element reads -1: the vector's fill is made of sign bits",
        avoided_by="narrow integers are loaded with other=0, and tl.where puts the fill there",
    ),
    Miscompile(
        pattern="x.to(tl.int32) % 3 of an int8 tensor, beside a comparison of the same values",
        triton="3.6.0",
        targets=("cuda:90",),
        seen="LLVM makes it a division of vectors of int8 whose elements are extended by zeros: "
        "negative dividends are taken for positive ones",
        avoided_by="narrow dividends are shifted by a multiple of a constant divisor, so that none "
        "is negative",
    ),
    Miscompile(
        pattern="x.to(tl.float8e5) or x.to(tl.float8e4nv) whose numbers are used twice, such as "
        "tl.where(y != 0, y, z) of a cast y, or repeated, such as those of tl.minimum(offs, 4)",
        triton="3.6.0",
        targets=("cuda:90", "cuda:100"),
        seen="of cvt.rn.satfinite.e5m2x2.f32 x, mov.b32 r, {x, y} and another use of x, ptxas 12.8 "
        "makes one F2FP that merges y, and the other use reads y, or a register that nothing "
        "wrote, as cuobjdump -sass shows",
        avoided_by="inline assembly makes four numbers at once and hides where they come from",
    ),
    Miscompile(
        pattern="tl.dot(a, b) of 64 rows and more, with a 16-bit b of 32 or 16 columns, after "
        "a dot of wider factors",
        triton="3.6.0",
        targets=("cuda:90",),
        seen="(64, 512)ᵀ (64, 32) in bf16, 4 warps: relative error 8.8e-1, or an illegal address. "
        "Where b lies at the address of a dead factor with another swizzle, ptxas 12.8 adds to a "
        "uniform register that nothing wrote, as nvdisasm shows",
        avoided_by="such products are made turned round, with fewer rows",
    ),
)
