"""`tilelang.transform`: the keys of `pass_configs`; TileLang's passes are not here."""

from tile2triton.tilelang.absent import COMPILER, absent
from tile2triton.tilelang.pass_configs import PassConfigKey, normalize_pass_configs
from tile2triton.tilelang.transform import PassContext, simplify_prim_func

__all__ = [
    "PassConfigKey",
    "PassContext",
    "normalize_pass_configs",
    "simplify_prim_func",
]

globals().update(
    absent(
        "tilelang.transform",
        """
        LegalizeNegativeIndex LowerAccessPtr Simplify MergeSharedMemoryAllocations LowerOpaqueBlock
        FlattenBuffer LayoutInference LowerTileOp InjectSoftwarePipeline PipelinePlanning
        """,
        COMPILER,
    )
)
