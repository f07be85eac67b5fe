"""T.interleave: the columns of two tiles in turn."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import name
from rewrites.space import Space
from rewrites.values import Value, cast
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, read_region, region_problems

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def interleave(a: Any, b: Any, dst: Any) -> Any:
    """Set `dst[…, 2 * j]` to `a[…, j]` and `dst[…, 2 * j + 1]` to `b[…, j]`.

    All are whole tiles; `a` and `b` have one shape, and `dst` twice their last extent. Loops over
    unpacked numbers, such as `w[i, j] = s[i, j // 2] >> 4 * (j % 2) & 15`, are made of it.

    | form | meaning | Triton |
    |---|---|---|
    | `T.interleave(low, high, w)` | their columns in turn | `w = tl.interleave(low, high)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Two tiles of one shape, and one of twice their last extent."""
    arguments = INTERLEAVE.arguments(call)
    problems = [p for side in arguments.values() for p in region_problems(side, facts)]
    yield from problems
    sides = [read_region(side, facts) for side in arguments.values()]
    if problems:
        return
    first, second, target = (side for side in sides if side is not None)
    whole = all(side.whole and not side.is_tensor for side in (first, second, target))
    *outer, last = first.sizes
    doubled = (*outer, 2 * (last or 0))
    if not whole or first.sizes != second.sizes or tuple(target.sizes) != doubled:
        yield Problem(
            call,
            "T2T347",
            "T.interleave takes two whole tiles of one shape, and one with twice their last extent",
            tuple(
                f"{as_written(side.node)}: {side.shape_text}" for side in (first, second, target)
            ),
            "name the whole tiles: T.interleave(low, high, both)",
        )


def reference(a: "Operand", b: "Operand", dst: "Operand") -> None:
    first, second = a.read(), b.read()
    both = np.stack((first, second), -1)
    dst.write(both.reshape(*first.shape[:-1], 2 * first.shape[-1]))


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """Values of the type of the destination, put together."""
    first, second, target = (
        read_region(arguments[side], space.facts) for side in ("a", "b", "dst")
    )
    assert first is not None and second is not None and target is not None
    parts = [
        cast(Value(name(side.buffer), side.dtype), target.dtype).tree for side in (first, second)
    ]
    space.lowering.emit(
        "target = tl.interleave(a, b)", target=target.buffer, a=parts[0], b=parts[1]
    )


INTERLEAVE = Operator(
    surface=interleave,
    kind="statement",
    writes="dst",
    check=check,
    lower=lower,
    reference=reference,
)

OPERATORS = (INTERLEAVE,)
