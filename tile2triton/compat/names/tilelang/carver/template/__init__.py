"""`tilelang.carver.template`: computations that tiles are proposed for."""

from tile2triton.tilelang.absent import COMPILER, absent
from tile2triton.tilelang.carver import MatmulTemplate

__all__ = [
    "MatmulTemplate",
]

globals().update(
    absent(
        "tilelang.carver.template",
        """
        ConvTemplate ElementwiseTemplate FlashAttentionTemplate GEMVTemplate
        GeneralReductionTemplate
        """,
        COMPILER,
    )
)
