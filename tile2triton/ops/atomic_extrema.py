"""T.atomic_max, T.atomic_min, T.atomic_or: combine with a tensor that several programs change."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rewrites.combinations import BIT_OR, MAX, MIN, Combination
from tile2triton.ops.atomic_lowering import WHOLE_DTYPES, update_check, update_lowering
from tile2triton.ops.base import Operator

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

ORDERED_DTYPES = ("float32", "float64", *WHOLE_DTYPES)


def atomic_max(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    annotations: Any = None,
) -> Any:
    """Keep the larger of `dst` and `value`; NaN as `value` changes nothing. Forms as `atomic_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_max(C[i], x)` | C[i] = max(C[i], x) | `tl.atomic_max(…, x, mask=…)` |
    | `T.atomic_max(C[i, j], tile)` | the same for each element | `tl.atomic_max(…, tile, mask=…)` |
    """


def atomic_min(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    annotations: Any = None,
) -> Any:
    """Keep the smaller of `dst` and `value`; NaN as `value` changes nothing. Forms as `atomic_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_min(C[i], x)` | C[i] = min(C[i], x) | `tl.atomic_min(…, x, mask=…)` |
    | `T.atomic_min(C[i, j], tile)` | the same for each element | `tl.atomic_min(…, tile, mask=…)` |
    """


def atomic_or(dst: Any, value: Any, memory_order: Any = None) -> Any:
    """Set in `dst` the bits that `value` has. Forms as `atomic_add`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_or(flags[i], 4)` | bit 2 of flags[i] is set | `tl.atomic_or(flags + i, 4)` |
    """


def _operator(
    surface: Callable[..., Any], function: str, combination: Combination, dtypes: tuple[str, ...]
) -> Operator:
    def reference(
        dst: "Operand",
        value: Any,
        memory_order: Any = None,
        return_prev: bool = False,
        annotations: Any = None,
    ) -> Any:
        return dst.update(combination.name, value, return_prev)

    return Operator(
        surface=surface,
        lower=update_lowering(function, combination),
        writes="dst",
        keeps=lambda arguments: True,
        kind="statement",
        check=update_check(dtypes, f"T.{surface.__name__}"),
        reference=reference,
    )


OPERATORS = (
    _operator(atomic_max, "tl.atomic_max", MAX, ORDERED_DTYPES),
    _operator(atomic_min, "tl.atomic_min", MIN, ORDERED_DTYPES),
    _operator(atomic_or, "tl.atomic_or", BIT_OR, WHOLE_DTYPES),
)
