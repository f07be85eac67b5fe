"""How the warps of a program share a product out where a policy of T.gemm says so."""

import math

POLICIES = ("Square", "FullRow", "FullCol")
# The least part of a product that a warp computes under mma.sync and wgmma.
NVIDIA_PART = (16, 8)
# The warps that multiply together under wgmma, and have 64 rows between them.
WGMMA_GROUP = 4


def shared_out(
    policy: str, shape: tuple[int, int], part: tuple[int, int], count: int, group: int = 1
) -> tuple[int, int] | None:
    """How many of `count` warps share out rows and columns; all sizes are powers of two.

    No warp gets less than a `part`; rows are shared out by groups of `group` warps. None where
    there are too many warps for that.
    """
    choices = [(rows, count // rows) for rows in (2**n for n in range(count.bit_length()))]
    fitting = [
        (rows, columns)
        for rows, columns in choices
        if rows % group == 0 and shape[0] >= rows * part[0] and shape[1] >= columns * part[1]
    ]
    if not fitting:
        return None
    if policy == "Square":
        return min(fitting, key=lambda c: abs(math.log2(shape[0] / c[0] * c[1] / shape[1])))
    return max(fitting, key=lambda choice: choice[0 if policy == "FullRow" else 1])


def too_many(shape: tuple[int, int], part: tuple[int, int], count: int) -> str:
    """Why there is no way to share the product out."""
    extents, least = ("x".join(map(str, sizes)) for sizes in (shape, part))
    return f"{count} warps cannot share out {extents} in parts of at least {least}"


def runs_on_groups(shape: tuple[int, int], warps: int) -> bool:
    """Whether Hopper's wgmma multiplies: groups of four warps, 64 rows at once."""
    return warps % WGMMA_GROUP == 0 and shape[0] % 64 == 0 and shape[1] % 8 == 0


def made_by_groups(shape: tuple[int, int], warps: int) -> tuple[int, int]:
    """What Triton does under wgmma: rows as far as they go."""
    rows, columns = WGMMA_GROUP, 1
    while rows * columns < warps:
        if shape[0] > NVIDIA_PART[0] * rows:
            rows *= 2
        else:
            columns *= 2
    return rows, columns
