"""`tilelang.language.tir.ir`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.language.tir.ir",
        "_VALID_CAST_ROUNDING_MODES Shuffle",
        COMPILER,
    )
)
