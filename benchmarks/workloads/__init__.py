"""All workloads by name; those of `MUST` are what the project promises speed for."""

from benchmarks.contest import Workload
from benchmarks.workloads import (
    attention,
    attention_backward,
    block_scaled_gemm,
    dequantized_gemm,
    gemm,
    gqa_decode,
    linear_attention,
    mamba2,
    retention,
    rows,
    selective_scan,
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for module in (
        *(
            gemm,
            block_scaled_gemm,
            dequantized_gemm,
            attention,
            attention_backward,
            gqa_decode,
            rows,
        ),
        *(linear_attention, retention, mamba2, selective_scan),
    )
    for workload in module.WORKLOADS
}
MUST = (
    "gemm-nn-bf16",
    "gemm-nt-bf16",
    "attention-d128-4k-full",
    "attention-d128-4k-causal",
    "attention-d128-16k-full",
    "attention-d128-16k-causal",
    "softmax",
    "rms-norm",
)
