"""Kernels, and the patches that are tried on each: what `benchmarks.patched` measures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

import tile2triton
from benchmarks.contest import Inputs, whole
from benchmarks.workloads import dequantized_gemm as dequantized
from benchmarks.workloads import mamba2
from benchmarks.workloads.attention import exact_attention
from tests.kernels.chunk_scan import chunk_scan
from tests.kernels.dequantized_gemm import dequantized_gemm
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.linear_attention import linear_attention
from tests.kernels.residual_gemm import residual_gemm
from tests.patched import Wanted
from tile2triton import CompiledKernel, transpile
from tile2triton.frontend.eager import EagerKernel

TARGET = "cuda:90"


@dataclass(frozen=True)
class Case:
    """`work` is in operations; `variants` are sets of patches, by a name for each.

    `reference` is computed in float32 or wider; `tolerance` bounds the relative error in the
    Frobenius norm, of the `part` that the reference covers.
    """

    name: str
    kernel: Callable[[], CompiledKernel]
    inputs: Callable[[], Inputs]
    reference: Callable[[Inputs], Tensor]
    work: float
    variants: dict[str, tuple[Wanted, ...]]
    tolerance: float = 5e-3
    part: Callable[[Tensor], Tensor] = whole


def by_pointers(kernel: EagerKernel) -> Any:
    """The same kernel without TMA."""
    disabled = tile2triton.kernel(pass_configs={"tl.disable_tma_lower": True})
    return disabled(kernel.captured.function)


def matrices(dtype: torch.dtype, size: int, transpose_b: bool = False) -> Inputs:
    if dtype == torch.int8:
        return tuple(
            torch.randint(-128, 128, (size, size), device="cuda", dtype=dtype) for _ in range(2)
        )
    return tuple(torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))


def product(inputs: Inputs, transpose_b: bool = False) -> Tensor:
    # What int8 gives needs more than the 24 bits of float32.
    wide = torch.float64 if inputs[0].dtype == torch.int8 else torch.float32
    a, b = (x.to(wide) for x in inputs)
    return a @ (b.T if transpose_b else b)


def gemm_case(
    name: str,
    dtype: torch.dtype,
    size: int,
    variants: dict[str, tuple[Wanted, ...]],
    program: EagerKernel = gemm,
    **given: Any,
) -> Case:
    spelled = str(dtype).removeprefix("torch.")
    sizes = dict.fromkeys("MNK", size)
    transpose_b = given.get("transpose_B", False)
    return Case(
        name=name,
        kernel=partial(transpile, program, target=TARGET, dtype=spelled, **sizes, **given),
        inputs=partial(matrices, dtype, size, transpose_b),
        reference=partial(product, transpose_b=transpose_b),
        work=2.0 * size**3,
        variants=variants,
    )


def residual_case(variants: dict[str, tuple[Wanted, ...]]) -> Case:
    """A short product with a residual that is fetched before the loop."""
    size, width = 8192, 1024
    shapes = ((size, width), (width, size), (size, size))

    def inputs() -> Inputs:
        return tuple(torch.randn(*s, device="cuda", dtype=torch.bfloat16) for s in shapes)

    def reference(inputs: Inputs) -> Tensor:
        a, b, r = (x.float() for x in inputs)
        return a @ b + r

    return Case(
        name="GEMM bf16 and a residual",
        kernel=partial(transpile, residual_gemm, target=TARGET, M=size, N=size, K=width),
        inputs=inputs,
        reference=reference,
        work=2.0 * size**2 * width,
        variants=variants,
    )


def attention_case(
    name: str,
    dtype: torch.dtype,
    seq_len: int,
    variants: dict[str, tuple[Wanted, ...]],
    **given: Any,
) -> Case:
    heads, dim = 16, 128
    spelled = str(dtype).removeprefix("torch.")

    def inputs() -> Inputs:
        shape = (1, heads, seq_len, dim)
        return tuple(torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3))

    def reference(inputs: Inputs) -> Tensor:
        return exact_attention(*(x[0].float() for x in inputs), is_causal=False)[None]

    return Case(
        name=name,
        kernel=partial(
            transpile,
            flash_attention,
            *(1, heads, seq_len, dim, False),
            layout="bhsd",
            dtype=spelled,
            target=TARGET,
            **given,
        ),
        inputs=inputs,
        reference=reference,
        work=4.0 * heads * seq_len**2 * dim,
        variants=variants,
    )


def chunks_case(variants: dict[str, tuple[Wanted, ...]]) -> Case:
    """Causal linear attention, of which the reference covers one batch."""
    batch, seq_len, heads, dim = 4, 4096, 16, 128

    def inputs() -> Inputs:
        shape = (batch, seq_len, heads, dim)
        q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        return q * dim**-0.5, k, v

    def reference(inputs: Inputs) -> Tensor:
        q, k, v = (x.float().transpose(1, 2) for x in inputs)
        return ((q @ k.mT).tril() @ v).transpose(1, 2)

    sizes = {"batch": batch, "seq_len": seq_len, "heads": heads, "dim_K": dim, "dim_V": dim}
    return Case(
        name="linear attention bf16",
        kernel=partial(transpile, linear_attention, target=TARGET, dtype="bfloat16", **sizes),
        inputs=inputs,
        reference=reference,
        work=4.0 * batch * seq_len * heads * dim * (64 + dim),
        variants=variants,
        tolerance=1e-2,
    )


def mamba_case(name: str, variants: dict[str, tuple[Wanted, ...]], **given: Any) -> Case:
    """The chunk scan, of which the reference covers the last batch."""
    return Case(
        name=name,
        kernel=partial(transpile, chunk_scan, target=TARGET, **mamba2.SIZES, **given),
        inputs=mamba2.scan_inputs,
        reference=mamba2.scan_reference,
        part=mamba2.one_batch,
        work=mamba2.TOKENS * (mamba2.CHUNK / 2 + mamba2.STATE),
        variants=variants,
    )


def dequantized_case(name: str, rows: int, variants: dict[str, tuple[Wanted, ...]]) -> Case:
    width = dequantized.K
    sizes = {"M": rows, "N": dequantized.N, "K": width, "bytes_K": width // 2}
    groups = width // dequantized.GROUP
    return Case(
        name=name,
        kernel=partial(transpile, dequantized_gemm, target=TARGET, groups=groups, **sizes),
        inputs=partial(dequantized.inputs, rows),
        reference=dequantized.reference,
        work=2.0 * rows * dequantized.N * width,
        variants=variants,
    )


def policy(anchor: str, name: str) -> Wanted:
    return "gemm_warps", anchor, {"policy": name}


def stages(anchor: str, count: int) -> Wanted:
    return "load_latency", anchor, {"stages": count}


def swizzled(anchor: str, width: int) -> Wanted:
    return "shared_layout", anchor, {"kind": "swizzled", "bytes": width}


def turned(anchor: str) -> Wanted:
    return "turned_operand", anchor, {}


def placed(**places: tuple[int, int]) -> Wanted:
    """The stage and the order in a turn of each load and product of a loop."""
    stages = tuple(part for name, (stage, _) in places.items() for part in (name, stage))
    orders = tuple(part for name, (_, order) in places.items() for part in (name, order))
    return "pipeline_schedule", next(iter(places)), {"stages": stages, "orders": orders}


OF_GEMM: dict[str, tuple[Wanted, ...]] = {
    "warps FullCol": (policy("C_local", "FullCol"),),
    "A 4 stages, B 3": (stages("A_shared", 4), stages("B_shared", 3)),
    "A 2 stages, B 3": (stages("A_shared", 2), stages("B_shared", 3)),
    "A swizzled by 64 bytes": (swizzled("A_shared", 64),),
    "B swizzled by 64 bytes": (swizzled("B_shared", 64),),
    "A two turns ahead, B one": (placed(A_shared=(0, 2), B_shared=(1, 0), C_local=(2, 1)),),
    "mma.sync": (("mma_version", "", {"version": 2}),),
}
TURNED = {"B turned": (turned("B_shared"),)}

CASES = (
    gemm_case("GEMM bf16 A·B", torch.bfloat16, 8192, OF_GEMM, out_dtype="bfloat16"),
    gemm_case(
        "GEMM bf16 A·Bᵀ", torch.bfloat16, 8192, OF_GEMM, out_dtype="bfloat16", transpose_B=True
    ),
    gemm_case(
        "GEMM tf32 A·B",
        torch.float32,
        4096,
        TURNED,
        out_dtype="float32",
        **{"block_N": 128, "block_K": 32},
    ),
    gemm_case(
        "GEMM fp8 A·B",
        torch.float8_e4m3fn,
        4096,
        TURNED,
        out_dtype="float32",
        **{"block_N": 128, "block_K": 128},
    ),
    gemm_case(
        "GEMM int8 A·B",
        torch.int8,
        4096,
        TURNED,
        **{"out_dtype": "int32", "accum_dtype": "int32", "block_N": 128, "block_K": 128},
    ),
    gemm_case(
        "GEMM tf32 A·B, by pointers",
        torch.float32,
        4096,
        TURNED,
        by_pointers(gemm),
        **{"out_dtype": "float32", "block_N": 128, "block_K": 32},
    ),
    gemm_case(
        "GEMM fp8 A·B, by pointers",
        torch.float8_e4m3fn,
        4096,
        TURNED,
        by_pointers(gemm),
        **{"out_dtype": "float32", "block_N": 128, "block_K": 128},
    ),
    residual_case({"R copied asynchronously": (("async_outside_loop", "R_shared", {}),)}),
    attention_case(
        "attention bf16 d128, 16k",
        torch.bfloat16,
        16384,
        {
            "K 4 stages, V 3": (stages("K_shared", 4), stages("V_shared", 3)),
            "K 3 stages, V 2": (stages("K_shared", 3), stages("V_shared", 2)),
            "K 2 stages, V 3": (stages("K_shared", 2), stages("V_shared", 3)),
            "scores FullCol": (policy("scores", "FullCol"),),
            "V swizzled by 64 bytes": (swizzled("V_shared", 64),),
        },
        **{"block_M": 128, "block_N": 64, "num_stages": 3, "threads": 256},
    ),
    attention_case(
        "attention tf32 d128, 4k",
        torch.float32,
        4096,
        {"V turned": (turned("V_shared"),)},
        **{"block_M": 64, "block_N": 64, "num_stages": 2, "threads": 128},
    ),
    chunks_case(
        {
            "v 3 stages, q and k 2": (stages("v", 3), stages("q", 2), stages("k", 2)),
            "k 3 stages, q and v 2": (stages("k", 3), stages("q", 2), stages("v", 2)),
            "o FullCol": (policy("o", "FullCol"),),
            "state FullCol": (policy("state", "FullCol"),),
        }
    ),
    mamba_case(
        "chunk scan fp16",
        {
            "X 3 stages, CB 2": (stages("X_shared", 3),),
            "CB 3 stages, X 2": (stages("CB_shared", 3),),
            "sums and dt 3 stages": (stages("dA_k", 3), stages("dt_k", 3)),
            "X swizzled by 64 bytes": (swizzled("X_shared", 64),),
        },
    ),
    mamba_case(
        "chunk scan fp16, 8 warps",
        {
            "acc FullCol": (policy("acc", "FullCol"),),
            "X 3 stages, CB 2": (stages("X_shared", 3),),
        },
        **{"block_M": 128, "threads": 256},
    ),
    dequantized_case(
        "int4 GEMM fp16",
        4096,
        {
            "A 4 stages, W 3": (stages("A_shared", 4),),
            "W 4 stages, A 3": (stages("W_shared", 4),),
            "A 2 stages, W 3": (stages("A_shared", 2),),
            "W 2 stages, A 3": (stages("W_shared", 2),),
            "C FullCol": (policy("C_local", "FullCol"),),
        },
    ),
)
BY_NAME = {case.name: case for case in CASES}
