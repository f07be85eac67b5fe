"""The rules of T.gemm: ranks, sizes that meet, and types that tensor cores multiply."""

import ast
from collections.abc import Iterator

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.regions import (
    Region,
    as_written,
    read_region,
    region_problems,
    static_value,
)

OPERAND_DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "int8",
)
PACKS = (1, 2)
FLOAT_ACCUMULATORS = ("float32", "float16", "bfloat16")


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Tiles of rank two whose sizes meet, with types that tensor cores multiply."""
    arguments = facts.operators["gemm"].arguments(call)
    regions: dict[str, Region] = {}
    for side in "ABC":
        problems = list(region_problems(arguments[side], facts))
        yield from problems
        region = read_region(arguments[side], facts)
        if problems or region is None:
            continue
        if region.is_tensor:
            yield Problem(
                arguments[side],
                "T2T226",
                f"T.gemm multiplies tiles on the chip, but `{as_written(arguments[side])}` is a "
                "global tensor",
                (),
                "copy it into a tile from T.alloc_shared first",
            )
        elif len(matrix_axes(region)) != 2:
            yield Problem(
                arguments[side],
                "T2T220",
                f"T.gemm takes tiles of two dimensions; further leading dimensions have extent 1, "
                f"but `{as_written(arguments[side])}` has shape {region.shape_text}",
                (),
                "pick one matrix of it with an index, such as `tile[stage, :, :]`",
            )
        else:
            regions[side] = region
    transposed = {}
    for flag in ("transpose_A", "transpose_B"):
        value = static_value(arguments[flag], facts)
        if value is None:
            yield Problem(
                arguments[flag],
                "T2T204",
                f"`{flag}={as_written(arguments[flag])}` must be known when the kernel is compiled",
                (),
                "write True or False",
            )
        transposed[flag[-1]] = bool(value)
    if static_value(arguments.get("k_pack"), facts) not in (None, *PACKS):
        yield Problem(
            arguments["k_pack"],
            "T2T296",
            f"`k_pack={as_written(arguments['k_pack'])}` is no number of operands that AMD's "
            "matrix instructions take at once",
            (),
            "write k_pack=1 or k_pack=2",
        )
    if len(regions) == 3:
        yield from _sizes(call, regions, transposed)
        yield from _types(call, regions)


def matrix_axes(region: Region) -> tuple[int, ...]:
    """The dimensions that T.gemm sees: without leading ones of extent 1, down to two."""
    axes = tuple(range(region.rank))
    while len(axes) > 2 and region.sizes[axes[0]] == 1:
        axes = axes[1:]
    return axes


def _sizes(
    call: ast.Call, regions: dict[str, Region], transposed: dict[str, bool]
) -> Iterator[Problem]:
    """Every size that two of the three sides have in common is the same on both."""
    named: dict[str, dict[str, int | None]] = {}
    for side, letters in (("A", "MK"), ("B", "KN"), ("C", "MN")):
        axes = matrix_axes(regions[side])
        if transposed.get(side):
            axes = axes[::-1]
        for letter, axis in zip(letters, axes, strict=True):
            named.setdefault(letter, {})[side] = regions[side].sizes[axis]
    codes = {"K": "T2T221", "M": "T2T222", "N": "T2T222"}
    meaning = {"K": "inner sizes", "M": "numbers of rows", "N": "numbers of columns"}
    for letter in "KMN":
        (left, first), (right, second) = named[letter].items()
        if first is not None and second is not None and first != second:
            flags = [f"transpose_{side}=True" for side in "AB" if transposed[side]]
            yield Problem(
                call,
                codes[letter],
                f"the {meaning[letter]} of T.gemm differ: "
                f"`{as_written(regions[left].node)}` has {letter} = {first}, "
                f"`{as_written(regions[right].node)}` has {letter} = {second}",
                tuple(
                    f"{as_written(regions[side].node)}: {regions[side].shape_text} "
                    f"{regions[side].dtype}"
                    for side in "ABC"
                )
                + tuple(flags),
                "A is (M, K), B is (K, N), C is (M, N); write transpose_A=True or "
                "transpose_B=True where a tile lies the other way",
            )
            # One operand of a wrong shape differs from both others; the first says enough.
            return


def _types(call: ast.Call, regions: dict[str, Region]) -> Iterator[Problem]:
    a, b, c = (regions[side] for side in "ABC")
    found = tuple(f"{as_written(side.node)}: {side.dtype}" for side in (a, b, c))
    if a.dtype != b.dtype:
        yield Problem(
            call,
            "T2T223",
            "T.gemm multiplies two tiles of one type",
            found,
            "copy one of them into a tile of the other's type first: T.copy casts",
        )
        return
    for side in (a, b):
        if side.dtype not in OPERAND_DTYPES:
            yield Problem(
                side.node,
                "T2T224",
                f"tensor cores do not multiply {side.dtype}",
                found,
                f"use one of {', '.join(OPERAND_DTYPES)}",
            )
            return
    accumulators = {"int8": ("int32",), "float64": ("float64",)}.get(a.dtype, FLOAT_ACCUMULATORS)
    if c.dtype not in accumulators:
        yield Problem(
            regions["C"].node,
            "T2T225",
            f"products of {a.dtype} are not added up in {c.dtype}",
            found,
            f"allocate the accumulator as {' or '.join(accumulators)}",
        )
