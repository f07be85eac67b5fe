"""Functions of the device that lowered kernels may call: small ones that Triton does not offer."""

import ast

from rewrites.nodes import Blank
from rewrites.tree import names_in

# No name of a user's begins with an underscore in the emitted text, so that none clashes.
TEXTS = {
    "_larger": '''
@triton.jit
def _larger(a, b):
    """The larger of two; of a number and NaN, the number."""
    return tl.maximum(a, b)
''',
}


def device_functions(kernels: list[ast.stmt]) -> list[ast.stmt]:
    """The definitions of those that the kernels name."""
    used = names_in(ast.Module(kernels, []))
    found: list[ast.stmt] = []
    for name, text in TEXTS.items():
        if name in used:
            found += [*ast.parse(text).body, Blank()]
    return found
