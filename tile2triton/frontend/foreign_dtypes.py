"""Element types of TileLang that no Triton tile has: they can be named and asked, not used."""

import re

# What TVM and torch call types that have another name here.
ALIASES = {
    "custom[float4_e2m1_unpacked]8": "float4_e2m1_unpacked",
    "float4_e2m1fn_x2": "float4_e2m1fnx2",
}
# The bits of one element, and the torch type that holds such elements in memory, if there is one.
_NARROW = {
    "int4": (4, "int8"),
    "int2": (2, "int8"),
    "int1": (1, "int8"),
    "uint4": (4, "uint8"),
    "uint2": (2, "uint8"),
    "uint1": (1, "uint8"),
    "float4_e2m1fn": (4, "float4_e2m1fn_x2"),
    "float4_e2m1_unpacked": (8, ""),
    "float6_e2m3fn": (6, ""),
    "float6_e3m2fn": (6, ""),
    "float8_e3m4": (8, ""),
    "float8_e4m3b11fnuz": (8, ""),
    "float8_e8m0fnu": (8, "float8_e8m0fnu"),
}
_WIDE = {
    **{f"{kind}{bits}": bits for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{"float16": 16, "bfloat16": 16, "float32": 32, "tfloat32": 32, "float64": 64},
    **{f"float8_{kind}": 8 for kind in ("e4m3", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
}
_LANES = (2, 4, 8, 16, 32, 64)


def foreign_bits(name: str) -> int | None:
    """The width of one element, all lanes together; None where TileLang has no such type."""
    if name in _NARROW:
        return _NARROW[name][0]
    element, lanes = _parted(name)
    if lanes not in _LANES:
        return None
    known = _WIDE.get(element) or _NARROW.get(element, (None, ""))[0]
    return None if known is None else known * lanes


def foreign_torch(name: str) -> tuple[str, ...]:
    """The names of the torch types that such elements are stored as, the best one first."""
    stored_as = "float4_e2m1fn_x2" if name == "float4_e2m1fnx2" else _NARROW.get(name, (0, ""))[1]
    # Before torch had a type for pairs of 4 bits, any byte held them.
    others = ("int8",) if stored_as == "float4_e2m1fn_x2" else ()
    return (stored_as, *others) if stored_as else ()


def is_vector(name: str) -> bool:
    return _parted(name)[1] > 1


def _parted(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.+)x(\d+)", name)
    return (match[1], int(match[2])) if match else (name, 1)


NAMES = (
    *_NARROW,
    *(
        f"{element}x{lanes}"
        for element in (*_WIDE, *_NARROW)
        for lanes in _LANES
        if element != "float4_e2m1_unpacked"
    ),
)
