"""What is known about a random expression, so that its value is the same whoever rounds it.

Floats hold small multiples of a power of two: as long as the bound and the grain of a value fit
its mantissa nothing is rounded, whatever the order of additions, and results compare exactly.
"""

from dataclasses import dataclass

from rewrites.dtypes import BY_NAME, promoted

# Significant bits, with the hidden one.
MANTISSA = {
    "float64": 53,
    "float32": 24,
    "float16": 11,
    "bfloat16": 8,
    "float8_e4m3fn": 4,
    "float8_e5m2": 3,
}
# What a tile or tensor of a type may hold: the largest magnitude, and the bits behind the point.
SMALL = {
    "float64": (2**12, 4),
    "float32": (2**8, 2),
    "float16": (16, 1),
    "bfloat16": (8, 1),
    "float8_e4m3fn": (4, 1),
    "float8_e5m2": (4, 0),
}
# The same for tiles that sums are collected in.
LARGE = {
    **SMALL,
    "float64": (2**30, 4),
    "float32": (2**18, 2),
    "float16": (2**9, 1),
    "bfloat16": (2**6, 1),
}


@dataclass(frozen=True)
class Value:
    """An expression: its text, its type, |value| <= bound, value a multiple of 2**-grain."""

    text: str
    dtype: str
    bound: float
    grain: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype in MANTISSA


def is_integer(dtype: str) -> bool:
    return BY_NAME[dtype].kind in ("int", "uint")


def widest(dtype: str) -> int:
    """The bound that every integer of the type keeps."""
    row = BY_NAME[dtype]
    if row.kind == "bool":
        return 1
    return 2**row.bits if row.kind == "uint" else 2 ** (row.bits - 1)


def fits(dtype: str, bound: float, grain: int) -> bool:
    return dtype not in MANTISSA or bound * 2**grain <= 2 ** MANTISSA[dtype]


def wrapped(text: str, dtype: str, bound: float) -> Value:
    """An integer result, which wraps around at the ends of its type."""
    return Value(text, dtype, min(bound, widest(dtype)))


def limited(value: Value, bound: int, grain: int) -> Value:
    """The value brought into a bound and onto a grain, by operators that round nothing."""
    if value.is_float and value.grain > grain:
        value = Value(f"T.floor({value.text})", value.dtype, value.bound + 1)
    if value.bound > bound:
        text = f"T.min({value.text}, {bound})"
        if BY_NAME[value.dtype].kind != "uint":
            text = f"T.max({text}, {-bound})"
        dtype = promoted(value.dtype, "int32")
        value = Value(text, dtype, bound, value.grain)
    return value


def stored(value: Value, dtype: str, limits: tuple[int, int] | None = None) -> Value:
    """The value made fit for a store to `dtype`; integers wrap, so only floats need care."""
    if dtype == "bool":
        return Value(f"{value.text} != 0", "bool", 1)
    if dtype in MANTISSA:
        return limited(value, *(limits or SMALL[dtype]))
    if not value.is_float:
        return value
    row = BY_NAME[dtype]
    value = limited(value, 2 ** min(row.bits - 1, 20) - 1, 0)
    if row.kind == "uint":
        value = Value(f"T.max({value.text}, 0)", value.dtype, value.bound)
    return value


def cast(value: Value, dtype: str, form: str = "T.cast({}, {!r})") -> Value:
    value = stored(value, dtype)
    bound = value.bound if dtype in MANTISSA else min(value.bound, widest(dtype))
    if BY_NAME[dtype].kind == "uint":
        bound = widest(dtype)
    grain = value.grain if dtype in MANTISSA else 0
    text = value.text if value.text.isidentifier() or "(" in value.text else f"({value.text})"
    return Value(form.format(text, dtype).replace("'", '"'), dtype, bound, grain)


def together(left: Value, right: Value) -> tuple[Value, Value, str]:
    """Two operands that keep their values in the type that both are computed in."""
    dtype = promoted(left.dtype, right.dtype)
    if dtype in MANTISSA:
        sides = []
        for side in (left, right):
            if not fits(dtype, side.bound, side.grain):
                side = limited(side, *SMALL[dtype])
            sides.append(side)
        left, right = sides
        # Limits may have widened an integer; its type gives way to the float's all the same.
    return left, right, dtype


def product_fits(left: Value, right: Value, dtype: str) -> bool:
    return fits(dtype, left.bound * right.bound, left.grain + right.grain)


def sum_fits(left: Value, right: Value, dtype: str) -> bool:
    return fits(dtype, left.bound + right.bound, max(left.grain, right.grain))
