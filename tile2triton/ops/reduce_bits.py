"""T.reduce_bitand and its kind: combine the bits of a tile along one dimension."""

from typing import Any

from tile2triton.ops.reduce import reduction


def reduce_bitand(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> Any:
    """The bits that all elements along `dim` have, of integers or bool. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_bitand(x, out, dim=1)` | bits of every x[i, :] | `out = ~tl.reduce_or(~x, 1)` |
    """


def reduce_bitor(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> Any:
    """The bits that any element along `dim` has, of integers or bool. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_bitor(x, out, dim=1)` | bits of any x[i, :] | `out = tl.reduce_or(x, 1)` |
    """


def reduce_bitxor(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> Any:
    """The bits that an odd number of elements along `dim` has. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_bitxor(x, out, dim=1)` | parity of each bit of x[i, :] | `out = tl.xor_sum(x, 1)` |
    """


OPERATORS = (
    reduction(reduce_bitand, "bitand"),
    reduction(reduce_bitor, "bitor"),
    reduction(reduce_bitxor, "bitxor"),
)
