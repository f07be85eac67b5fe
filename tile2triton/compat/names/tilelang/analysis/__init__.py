"""`tilelang.analysis`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.analysis",
        "ASTPrinter FragmentLoopChecker NestedLoopChecker LayoutVisual",
        COMPILER,
    )
)
