"""`tilelang.cuda.intrinsics.sparse_layout`: how sparse operands are described."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.sparse_layout",
        "GROUP_CONFIG get_e_factor get_e_replicate_factor",
        THREADS,
    )
)
