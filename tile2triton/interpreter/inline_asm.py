"""Inline assembly on the CPU: the one instruction that emitted kernels have there."""

import re
from dataclasses import dataclass

import triton.language as tl

from .numbers import convert, numpy_dtype
from .values import Value

# Two floats become two fp8 numbers; a block of assembly repeats it for each pair.
_TO_FP8 = re.compile(r"cvt\.rn\.satfinite\.(e4m3|e5m2)x2\.f32 \w+, \$\d, \$\d;")
_TYPES = {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5}


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a block of assembly leaves."""

    values: tuple[Value, ...]

    def get_result(self, index: int) -> Value:
        return self.values[index]


def run(text: str, inputs: list[Value]) -> Outputs:
    """The bits of the first operand as fp8, rounded to the nearest, finite."""
    kinds = set(_TO_FP8.findall(text))
    if len(kinds) != 1:
        raise NotImplementedError(
            "inline assembly other than fp8 conversion has no meaning on the CPU; "
            "run this kernel on a GPU"
        )
    narrow = convert(inputs[0].data, numpy_dtype(_TYPES[kinds.pop()]))
    return Outputs((Value(narrow.view("uint8"), tl.uint8),))
