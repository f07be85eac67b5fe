"""Vectors of bits, as numbers, under XOR: how many are independent, and what makes up which."""

from collections.abc import Callable, Iterable

_Pivots = list[tuple[int, int]]


def rank(vectors: Iterable[int]) -> int:
    """How many of these vectors are independent."""
    pivots: _Pivots = []
    for vector in vectors:
        rest, _ = _reduced(vector, 0, pivots)
        if rest:
            pivots.append((rest, 0))
    return len(pivots)


def solver(columns: Iterable[int]) -> Callable[[int], int | None]:
    """A function from a vector to the set of columns, as bits, whose XOR it is, or to None.

    Columns that earlier ones make up are never chosen.
    """
    pivots: _Pivots = []
    for number, column in enumerate(columns):
        rest, chosen = _reduced(column, 1 << number, pivots)
        if rest:
            pivots.append((rest, chosen))

    def solve(vector: int) -> int | None:
        rest, chosen = _reduced(vector, 0, pivots)
        return None if rest else chosen

    return solve


def _reduced(vector: int, chosen: int, pivots: _Pivots) -> tuple[int, int]:
    # Each pivot lacks the leading bits of the ones before it, so that one pass is enough.
    for pivot, columns in pivots:
        if vector >> (pivot.bit_length() - 1) & 1:
            vector, chosen = vector ^ pivot, chosen ^ columns
    return vector, chosen
