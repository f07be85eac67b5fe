"""`tilelang.language.eager.ast`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.language.eager.ast",
        "mutate BaseBuilder",
        COMPILER,
    )
)
