"""Triton kernels whose compiled text has the layouts that tests ask about."""

from functools import cache

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tile2triton.targets import target

ALIGNED = [["tt.divisibility", 16]]


@triton.jit
def gemm(
    A, B, C, N, K, by_row_a, by_k_a, by_k_b, by_column_b,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    TA: tl.constexpr, TB: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    if TA:
        a = A + rows[:, None] + ks[None, :] * by_k_a
    else:
        a = A + rows[:, None] * by_row_a + ks[None, :]
    if TB:
        b = B + ks[:, None] + columns[None, :] * by_column_b
    else:
        b = B + ks[:, None] * by_k_b + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _k in tl.range(0, K, BK):
        x = tl.load(a)
        y = tl.load(b)
        acc = tl.dot(x, y, acc, input_precision=precision)
        if TA:
            a += BK * by_k_a
        else:
            a += BK
        if TB:
            b += BK
        else:
            b += BK * by_k_b
    tl.store(C + rows[:, None] * N + columns[None, :], acc.to(C.dtype.element_ty))


@triton.jit
def described_gemm(
    A, B, C, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TB: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BM, BK])
    if TB:
        b = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    else:
        b = tl.make_tensor_descriptor(B, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, 512, BK):
        x = a.load([row, k])
        if TB:
            y = b.load([column, k]).T
        else:
            y = b.load([k, column])
        acc = tl.dot(x, y, acc)
    c.store([row, column], acc.to(C.dtype.element_ty))


@cache
def compiled_gemm(
    name: str, element: str = "fp16", form: str = "nn", block_k: int = 64, stages: int = 0
):
    """The texts of a product for a target: `nt` has its second operand transposed."""
    pointer = f"*{element}"
    precision = "ieee" if name.startswith("hip") or element == "fp16" else "tf32"
    constants = {
        "BM": 128, "BN": 128, "BK": block_k,
        "TA": form[0] == "t", "TB": form[1] == "t", "precision": precision,
    }  # fmt: skip
    return _compiled(gemm, {"A": pointer, "B": pointer, "C": pointer}, constants, name, stages)


@cache
def compiled_described_gemm(name: str, turned: bool = False):
    """A product through descriptors, its second operand `turned` or not."""
    pointers = dict.fromkeys("ABC", "*fp16")
    constants = {"BM": 128, "BN": 128, "BK": 64, "TB": turned}
    return _compiled(described_gemm, pointers, constants, name)


def compiled_text(text: str, path, name: str):
    """The texts of a module that is given as TTGIR."""
    path.write_text(text)
    goal = target(name)
    options = {"enable_fp_fusion": True}
    return triton.compile(
        str(path), target=GPUTarget(goal.backend, goal.arch, goal.warp_size), options=options
    ).asm


def _compiled(kernel, pointers, constants, name, stages=0):
    signature = {
        argument: "constexpr" if argument in constants else pointers.get(argument, "i32")
        for argument in kernel.arg_names
    }
    attributes = {
        (index,): ALIGNED
        for index, argument in enumerate(kernel.arg_names)
        if argument not in constants
    }
    goal = target(name)
    stages = stages or (3 if goal.backend == "cuda" else 2)
    return triton.compile(
        ASTSource(kernel, signature, constexprs=constants, attrs=attributes),
        target=GPUTarget(goal.backend, goal.arch, goal.warp_size),
        options={"num_stages": stages, "enable_fp_fusion": True},
    ).asm
