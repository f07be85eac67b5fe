"""`tilelang.language.kernel`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.language.kernel",
        "_normalize_threads KernelLaunchFrame",
        COMPILER,
    )
)
