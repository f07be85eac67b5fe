"""`tilelang.language.tir.ir`: how casts may round, and names without a meaning here."""

from tile2triton.ops.cast import ROUNDINGS
from tile2triton.tilelang.absent import COMPILER, absent

_VALID_CAST_ROUNDING_MODES = frozenset(ROUNDINGS)
globals().update(absent("tilelang.language.tir.ir", "Shuffle", COMPILER))
