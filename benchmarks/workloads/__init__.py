"""All workloads by name; those of `MUST` are what the project promises speed for."""

from benchmarks.contest import Workload
from benchmarks.workloads import (
    attention,
    attention_backward,
    block_scaled_gemm,
    dequantized_gemm,
    gated_delta_rule,
    gemm,
    gqa_decode,
    linear_attention,
    mamba2,
    mla_decode,
    retention,
    rows,
    selective_scan,
    streams,
    top_k,
)

PRODUCTS = (gemm, block_scaled_gemm, dequantized_gemm)
ATTENTIONS = (attention, attention_backward, gqa_decode, mla_decode)
RECURRENCES = (linear_attention, retention, gated_delta_rule, mamba2, selective_scan)
WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for module in (*PRODUCTS, *ATTENTIONS, *RECURRENCES, rows, streams, top_k)
    for workload in module.WORKLOADS
}
MUST = (
    *(f"gemm-{form}{size}" for size in ("", "-4k") for form in gemm.FORMS),
    *(f"fp8-block-scaled-{size}" for size in ("8k", "4096x7168x2048")),
    *("int4-gemm-m16", "int4-gemm-m4096"),
    *(
        f"attention-d{dim}-{length}-{mask}"
        for dim in (128, 64)
        for length in ("4k", "16k")
        for mask in ("full", "causal")
    ),
    *("attention-backward-4k-causal", "attention-backward-16k-causal"),
    *(f"gqa-decode-{size}" for size in gqa_decode.SIZES),
    *("linear-attention", "retention", "chunk-scan", "chunk-state", "selective-scan"),
    *("softmax", "softmax-wide", "rms-norm", "layer-norm", "bias-gelu", "row-sum", "full-sum"),
    *top_k.SIZES,
)
