"""T.atomic_add: add to a tensor that several programs add to."""

from typing import TYPE_CHECKING, Any

from rewrites.combinations import SUM
from tile2triton.ops.atomic_lowering import WHOLE_DTYPES, update_check, update_lowering
from tile2triton.ops.base import Operator
from tile2triton.ops.whole.stores import ATOMIC_ADD as WHOLE_ATOMIC_ADD

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

DTYPES = ("float16", "bfloat16", "float32", "float64", *WHOLE_DTYPES)


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: Any = None,
) -> Any:
    """Add `value`, cast to the type of `dst`, so that no addition of another program is lost.

    With two regions, `dst` is the part of a tensor and `value` the tile, with the rules of
    `T.copy`; one number is added to all of a region. With one element, `value` is an expression.
    What lies outside of the tensor is dropped. A tile of the program is updated in order. Outside
    of T.Parallel every thread would add to one element, so that it stands under a condition that
    picks one, such as `if tx == 0:`. `use_tma` is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_add(C[i, j], tile)` | C from i, j on += tile | `tl.atomic_add(…, tile, mask=…)` |
    | `T.atomic_add(C[i, j], x)` in `T.Parallel` | C[i, j] += x | `tl.atomic_add(…, x, mask=…)` |
    | `p = T.atomic_add(n[i], 1, return_prev=True)` | the value before | `p = tl.atomic_add(…, 1)` |
    """


def reference(
    dst: "Operand",
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: Any = None,
) -> Any:
    return dst.update(SUM.name, value, return_prev)


ATOMIC_ADD = Operator(
    surface=atomic_add,
    lower=update_lowering("tl.atomic_add", SUM),
    writes="dst",
    keeps=lambda arguments: True,
    kind="statement",
    check=update_check(DTYPES, "atomic addition"),
    reference=reference,
    whole=WHOLE_ATOMIC_ADD,
)

OPERATORS = (ATOMIC_ADD,)
