"""`tvm.tirx.stmt_functor`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.tirx.stmt_functor",
        "ir_transform post_order_visit substitute",
        COMPILER,
    )
)
