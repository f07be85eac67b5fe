"""`tilelang.ir`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.ir",
        """
    Fill AtomicAdd Copy Gemm ReduceOp CumSumOp get_buffer_span get_stmt_span make_span
    set_buffer_span set_stmt_span span_coverage span_to_location
    """,
        COMPILER,
    )
)
