"""Functions of the device that lowered kernels may call: small ones that Triton does not offer."""

import ast

from rewrites.gluon.layouts import GLUON
from rewrites.nodes import Blank
from rewrites.tree import names_in

# Casts to fp8, for `rewrites.guard_fp8_casts`; TRITON, UPPER and LOWER are names of one type.
TO_FP8 = '''
@triton.jit
def _float8TRITON(x, zero):
    """Floats as UPPER numbers. The zero keeps ptxas from using a pair of them twice, wrongly."""
    bits = tl.inline_asm_elementwise(
        """
        {
            .reg .b16 low, high, zero;
            cvt.u16.u32 zero, $5;
            cvt.rn.satfinite.LOWERx2.f32 low, $2, $1;
            cvt.rn.satfinite.LOWERx2.f32 high, $4, $3;
            xor.b16 low, low, zero;
            xor.b16 high, high, zero;
            mov.b32 $0, {low, high};
        }
        """,
        "=r,f,f,f,f,r,r,r,r",
        [x, zero],
        dtype=tl.uint8,
        is_pure=True,
        pack=4,
    )
    return bits.to(tl.float8TRITON, bitcast=True)
'''


def _to_fp8(triton: str, ptx: str) -> str:
    named = TO_FP8.replace("TRITON", triton)
    return named.replace("UPPER", ptx.upper()).replace("LOWER", ptx)


# No name of a user's begins with an underscore in the emitted text, so that none clashes.
TEXTS = {
    "_larger": '''
@triton.jit
def _larger(a, b):
    """The larger of two; of a number and NaN, the number."""
    return tl.maximum(a, b)
''',
    "_larger_or_nan": '''
@triton.jit
def _larger_or_nan(a, b):
    """The larger of two; NaN where either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "_smaller_or_nan": '''
@triton.jit
def _smaller_or_nan(a, b):
    """The smaller of two; NaN where either is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
''',
    "_chained": '''
@triton.jit
def _chained(a, b, c, d):
    """The step h -> a * h + b and the step h -> c * h + d after it, as one step."""
    return a * c, c * b + d
''',
    "_draw": '''
@triton.jit
def _draw(seed, sequence, number):
    """The 32 random bits with a number in a sequence; Philox makes four at once."""
    block = number >> 2
    place = number & 3
    a, b, c, d = tl.philox(
        seed,
        block.to(tl.uint32),
        (block >> 32).to(tl.uint32),
        sequence.to(tl.uint32),
        (sequence >> 32).to(tl.uint32),
    )
    return tl.where(place < 2, tl.where(place == 0, a, b), tl.where(place == 2, c, d))
''',
    "_float8e4nv": _to_fp8("e4nv", "e4m3"),
    "_float8e5": _to_fp8("e5", "e5m2"),
}


def device_functions(kernels: list[ast.stmt]) -> list[ast.stmt]:
    """The definitions of those that the kernels name."""
    used = names_in(ast.Module(kernels, []))
    found: list[ast.stmt] = []
    for name, text in TEXTS.items():
        if name in used:
            found += [*ast.parse(text).body, Blank()]
        if f"{GLUON}{name}" in used:
            own = text.replace("triton.jit", "gluon.jit").replace("tl.", "gl.")
            own = own.replace("gl.PropagateNan", "tl.PropagateNan").replace(name, GLUON + name)
            found += [*ast.parse(own).body, Blank()]
    return found
