"""T.ceildiv and its kind: division of integers, rounded up, down or toward zero."""

import ast
from typing import Any

import numpy as np

from rewrites.dtypes import promoted
from rewrites.quote import expr
from rewrites.scalars import floor_divide, floor_modulo
from rewrites.space import Space
from rewrites.values import Value as Typed
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import pair_lowering
from tile2triton.reference.values import Value, common, compute


def ceildiv(a: Any, b: Any) -> Any:
    """The quotient rounded up: how many tiles of `b` cover `a`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ceildiv(a, b)` | (a + b - 1) // b | `tl.cdiv(a, b)` |
    """


def floordiv(a: Any, b: Any) -> Any:
    """The quotient rounded down, also for negative numbers; `a // b` means the same.

    | form | meaning | Triton |
    |---|---|---|
    | `T.floordiv(-4, 3)` | -2 | `a // b`, with a correction where a may be negative |
    """


def floormod(a: Any, b: Any) -> Any:
    """The rest of `floordiv`, which has the sign of `b`; `a % b` means the same.

    | form | meaning | Triton |
    |---|---|---|
    | `T.floormod(-4, 5)` | 1 | `a % b`, with a correction where a may be negative |
    """


def truncdiv(a: Any, b: Any) -> Any:
    """The quotient rounded toward zero.

    | form | meaning | Triton |
    |---|---|---|
    | `T.truncdiv(-4, 3)` | -1 | `a // b` |
    """


def truncmod(a: Any, b: Any) -> Any:
    """The rest of `truncdiv`, which has the sign of `a`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.truncmod(-4, 3)` | -1 | `a % b` |
    """


def align_up(a: Any, b: Any) -> Any:
    """The smallest multiple of `b` that is not below `a`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.align_up(5, 4)` | 8 | `tl.cdiv(a, b) * b` |
    """


def reference_of_floordiv(a: Value, b: Value) -> Value:
    return compute(np.floor_divide, *common(a, b))


def reference_of_floormod(a: Value, b: Value) -> Value:
    return compute(np.mod, *common(a, b))


def reference_of_truncdiv(a: Value, b: Value) -> Value:
    return compute(lambda x, y: (x - np.fmod(x, y)) // y, *common(a, b))


def reference_of_truncmod(a: Value, b: Value) -> Value:
    return compute(np.fmod, *common(a, b))


def reference_of_ceildiv(a: Value, b: Value) -> Value:
    return compute(lambda x, y: (x + y - y.dtype.type(1)) // y, *common(a, b))


def reference_of_align_up(a: Value, b: Value) -> Value:
    return compute(lambda x, y: (x + y - y.dtype.type(1)) // y * y, *common(a, b))


def fold_ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def fold_floordiv(a: int, b: int) -> int:
    return a // b


def fold_floormod(a: int, b: int) -> int:
    return a % b


def fold_truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def fold_truncmod(a: int, b: int) -> int:
    return a - fold_truncdiv(a, b) * b


def fold_align_up(a: int, b: int) -> int:
    return -(-a // b) * b


def lower_ceildiv(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    """`tl.cdiv` rounds like T.ceildiv where both operands are natural numbers."""
    a, b = arguments["a"], arguments["b"]
    ranges = space.environment
    if not (ranges.range(a).is_natural and ranges.range(b).is_natural):
        return space.value(expr("(a + b - 1) // b", a=a, b=b))
    left, right = space.value(a), space.value(b)
    tree = expr("tl.cdiv(a, b)", a=left.tree, b=right.tree)
    dtype = promoted(left.dtype, right.dtype)
    return Typed(tree, dtype, left.axes | right.axes, weak=left.weak and right.weak)


def lower_floordiv(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    a, b = arguments["a"], arguments["b"]
    return floor_divide(space, space.value(a), space.value(b), a, b)


def lower_floormod(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    a, b = arguments["a"], arguments["b"]
    return floor_modulo(space, space.value(a), space.value(b), a, b)


def lower_align_up(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    return space.value(expr("T.ceildiv(a, b) * b", a=arguments["a"], b=arguments["b"]))


CEILDIV = Operator(
    surface=ceildiv,
    lower=lower_ceildiv,
    kind="expression",
    reference=reference_of_ceildiv,
    fold=fold_ceildiv,
    aliases=("cdiv",),
)
FLOORDIV = Operator(
    surface=floordiv,
    lower=lower_floordiv,
    kind="expression",
    reference=reference_of_floordiv,
    fold=fold_floordiv,
)
FLOORMOD = Operator(
    surface=floormod,
    lower=lower_floormod,
    kind="expression",
    reference=reference_of_floormod,
    fold=fold_floormod,
)
TRUNCDIV = Operator(
    surface=truncdiv,
    lower=pair_lowering("a // b"),
    kind="expression",
    reference=reference_of_truncdiv,
    fold=fold_truncdiv,
)
TRUNCMOD = Operator(
    surface=truncmod,
    lower=pair_lowering("a % b"),
    kind="expression",
    reference=reference_of_truncmod,
    fold=fold_truncmod,
)
ALIGN_UP = Operator(
    surface=align_up,
    lower=lower_align_up,
    kind="expression",
    reference=reference_of_align_up,
    fold=fold_align_up,
)

OPERATORS = (CEILDIV, FLOORDIV, FLOORMOD, TRUNCDIV, TRUNCMOD, ALIGN_UP)
