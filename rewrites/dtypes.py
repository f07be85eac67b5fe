"""The element types as a table, and TileLang's rules for what two of them make together."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """One element type: TileLang's name, Triton's and torch's, its kind and width in bits."""

    name: str
    triton: str
    torch: str
    kind: str  # "float", "int", "uint" or "bool"
    bits: int


TABLE = (
    DType("bool", "int1", "bool", "bool", 8),
    DType("int8", "int8", "int8", "int", 8),
    DType("int16", "int16", "int16", "int", 16),
    DType("int32", "int32", "int32", "int", 32),
    DType("int64", "int64", "int64", "int", 64),
    DType("uint8", "uint8", "uint8", "uint", 8),
    DType("uint16", "uint16", "uint16", "uint", 16),
    DType("uint32", "uint32", "uint32", "uint", 32),
    DType("uint64", "uint64", "uint64", "uint", 64),
    DType("float8_e4m3fn", "float8e4nv", "float8_e4m3fn", "float", 8),
    DType("float8_e5m2", "float8e5", "float8_e5m2", "float", 8),
    DType("float8_e4m3fnuz", "float8e4b8", "float8_e4m3fnuz", "float", 8),
    DType("float8_e5m2fnuz", "float8e5b16", "float8_e5m2fnuz", "float", 8),
    DType("float16", "float16", "float16", "float", 16),
    DType("bfloat16", "bfloat16", "bfloat16", "float", 16),
    DType("float32", "float32", "float32", "float", 32),
    DType("float64", "float64", "float64", "float", 64),
)

BY_NAME = {row.name: row for row in TABLE}

ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "uint": "uint32",
    "float8_e4m3": "float8_e4m3fn",
    "tfloat32": "float32",
}


def promoted(left: str, right: str) -> str:
    """The type of an arithmetic result in TileLang: kind first, then width; ties go left.

    A literal takes part as int32 or float32, so `half * 1.5` is float32 and `half * 2` half.
    """
    a, b = BY_NAME[left], BY_NAME[right]
    if a.name == b.name:
        return "int32" if a.kind == "bool" else a.name
    if a.kind == "float" or b.kind == "float":
        if a.kind != "float":
            return b.name
        if b.kind != "float" or a.bits >= b.bits:
            return a.name
        return b.name
    if a.kind == "bool":
        return b.name
    if b.kind == "bool":
        return a.name
    if a.bits != b.bits:
        return a.name if a.bits > b.bits else b.name
    return a.name if a.kind == "uint" else b.name


def is_float(dtype: str) -> bool:
    return BY_NAME[dtype].kind == "float"


def is_integer(dtype: str) -> bool:
    return BY_NAME[dtype].kind in ("int", "uint", "bool")


def bits(dtype: str) -> int:
    return BY_NAME[dtype].bits
