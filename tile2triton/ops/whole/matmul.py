"""T.gemm of whole operands: batches of matrix products."""

from typing import Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.operands.terms import Size
from rewrites.operands.values import ONE, Indices, Making, Operand, Whole, free_axis
from tile2triton.ops.base import WholeForm
from tile2triton.ops.gemm_rules import OPERAND_DTYPES


def gemm(A: Any, B: Any, transpose_A: bool = False, transpose_B: Any = None) -> Any:
    """A @ B over the last two dimensions; the ones before are batches, and broadcast.

    A's last dimension is contracted with B's second to last, or with B's last where only that one
    has its extent; where both have it, `transpose_B` must say which. A batch dimension of B that
    divides A's is shared by groups: grouped-query attention. What is computed rather than loaded is
    rounded to the type of its tensors before it is multiplied; sums are float32 (int32 of int8).
    """


def make(
    making: Making,
    A: Operand,
    B: Operand,
    transpose_A: bool = False,
    transpose_B: bool | None = None,
) -> Whole:
    left, right = (_matrix(making, operand) for operand in (A, B))
    depth, rows = left.shape[-2:] if transpose_A else left.shape[:-3:-1]
    is_transposed = _is_transposed(making, left, right, depth, transpose_B)
    columns, other = right.shape[-2:] if is_transposed else right.shape[:-3:-1]
    making.sizes.same(depth, other)
    making.suggest(depth, "K", "D")
    making.suggest(rows, "M", "L")
    making.suggest(columns, "N", "E")
    dtype = _operand_dtype(making, left, right)
    batch, groups = _batches(making, left, right)
    for size, wanted in zip(batch[::-1], (("H", "G"), ("B",)), strict=False):
        making.suggest(size, *(wanted if len(batch) > 1 else ("B",)))

    def at(indices: Indices) -> Any:
        terms = making.terms
        *lead, row, column = indices
        axis = free_axis(depth, indices)
        along = terms.position(axis)
        zero = terms.number(0)
        first = making.batch(left, tuple(lead))
        second = making.batch(right, tuple(lead), groups)
        own = (zero if rows == ONE else row, zero if depth == ONE else along)
        a = left.at((*first, *(own[::-1] if transpose_A else own)))
        own = (zero if depth == ONE else along, zero if columns == ONE else column)
        b = right.at((*second, *(own[::-1] if is_transposed else own)))
        kind = "int32" if dtype == "int8" else "float64" if dtype == "float64" else "float32"
        return terms.dot(axis, making.stored(a, dtype), making.stored(b, dtype), kind)

    partial = "sum" if depth.tile else ""
    stored = "int32" if dtype == "int8" else dtype
    return Whole((*batch, rows, columns), stored, at, partial=partial)


def _matrix(making: Making, operand: Operand) -> Whole:
    if not isinstance(operand, Whole) or operand.rank < 2:
        found = operand.shape_text if isinstance(operand, Whole) else repr(operand)
        raise making.refuse(
            "T2T820",
            "T.gemm multiplies matrices: operands of two or more dimensions",
            (f"{making.said(operand)}: {found}",),
            "a vector is a matrix of one column: v[:, None]",
        )
    return operand


def _is_transposed(
    making: Making, left: Whole, right: Whole, depth: Size, said: bool | None
) -> bool:
    """Whether B is (N, K)."""
    above, last = right.shape[-2:]
    fits = (above.value == depth.value, last.value == depth.value)
    found = (
        f"{making.said(left)}: {left.shape_text}",
        f"{making.said(right)}: {right.shape_text}",
    )
    wanted = fits[said] if said is not None else any(fits)
    if not wanted:
        raise making.refuse(
            "T2T821",
            f"T.gemm has nothing to contract: {depth.value} is no extent of "
            f"{making.said(right)} there",
            found,
            "A is (..., M, K), and B is (..., K, N) or (..., N, K)",
        )
    if said is not None:
        return said
    if not all(fits):
        return fits[1]
    if above == last == ONE:
        # One element is its own transpose.
        return False
    raise making.refuse(
        "T2T822",
        "T.gemm could contract with either dimension of its second operand",
        found,
        "write transpose_B=False for A @ B, or transpose_B=True for A @ B.T"
        + _named_together(left, right, depth),
    )


def _named_together(left: Whole, right: Whole, depth: Size) -> str:
    """How parameters say it by the names of their dimensions; one that is shared needs both."""
    if not (left.tensor and right.tensor and left.rank == right.rank == 2):
        return ""
    own = "M K" if depth == left.shape[-1] else "K M"
    return (
        f', or name what both share: {left.tensor}: T.Tensor["{own}"], '
        f'{right.tensor}: T.Tensor["K N"]'
    )


def _operand_dtype(making: Making, left: Whole, right: Whole) -> str:
    """The type that is multiplied: what is computed takes that of the tensor beside it."""
    dtypes = {one.dtype for one in (left, right) if one.tensor} or {left.dtype, right.dtype}
    if len(dtypes) == 1 and all(map(is_float, (left.dtype, right.dtype))):
        return dtypes.pop()
    for one in (left, right):
        if one.dtype not in OPERAND_DTYPES:
            raise making.refuse(
                "T2T224",
                f"tensor cores do not multiply {one.dtype}",
                tuple(f"{making.said(side)}: {side.dtype}" for side in (left, right)),
                f"use one of {', '.join(OPERAND_DTYPES)}",
            )
    if left.dtype != right.dtype:
        raise making.refuse(
            "T2T823",
            "the operands of T.gemm have different types",
            tuple(f"{making.said(one)}: {one.dtype}" for one in (left, right)),
            "convert one of them, such as T.cast(B, A.dtype)",
        )
    return left.dtype


def _batches(making: Making, left: Whole, right: Whole) -> tuple[tuple[Size, ...], set[int]]:
    """The batch dimensions, and which of B's (from the last) are shared by groups."""
    a, b = left.shape[:-2], right.shape[:-2]
    batch = list(a)
    groups: set[int] = set()
    if len(b) > len(a):
        batch = [*b[: len(b) - len(a)], *a]
    for at in range(1, len(b) + 1):
        own = a[-at] if at <= len(a) else ONE
        other = b[-at]
        if own == ONE:
            batch[-at] = other
        elif other != ONE and not making.sizes.same(own, other):
            if own.value % other.value:
                raise making.refuse(
                    "T2T824",
                    "the batch dimensions of T.gemm do not meet",
                    tuple(f"{making.said(one)}: {one.shape_text}" for one in (left, right)),
                    "they are equal, or 1, or those of B divide those of A",
                )
            groups.add(at)
            # Keys and values have one number of heads.
            kind = (making.sizes.name_of(own.name), other.value)
            making.sizes.same(making.shared.setdefault(kind, other), other)
    return tuple(batch), groups


def complete(
    making: Making,
    A: Operand,
    B: Operand,
    transpose_A: bool = False,
    transpose_B: bool | None = None,
) -> dict[str, bool]:
    """Which dimension of B is contracted, where both would fit and names decide."""
    if transpose_B is not None or not (isinstance(A, Whole) and isinstance(B, Whole)):
        return {}
    if A.rank < 2 or B.rank < 2:
        return {}
    depth = A.shape[-2] if transpose_A else A.shape[-1]
    above, last = B.shape[-2:]
    own = making.sizes.name_of(depth.name)
    names = [making.sizes.name_of(size.name) for size in (above, last)]
    if above.value == last.value == depth.value and making.is_said(depth):
        if names.count(own) == 1:
            return {"transpose_B": names[1] == own}
    return {}


def reference(A: Any, B: Any, transpose_A: bool = False, transpose_B: bool | None = None) -> Any:
    """In float64, so that no order of sums is preferred."""
    a = np.asarray(A, np.float64)
    b = np.asarray(B, np.float64)
    if transpose_A:
        a = a.swapaxes(-1, -2)
    if transpose_B or (transpose_B is None and b.shape[-2] != a.shape[-1]):
        b = b.swapaxes(-1, -2)
    for at in range(3, min(a.ndim, b.ndim) + 1):
        if 1 != b.shape[-at] != a.shape[-at] != 1:
            b = b.repeat(a.shape[-at] // b.shape[-at], axis=-at)
    return a @ b


FORM = WholeForm(gemm, make, reference, complete)
