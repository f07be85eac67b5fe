"""What a loop over tiles carries from turn to turn: recurrences along the extent, and totals.

| in the loop | meaning |
|---|---|
| `h = T.fma(a, h, b)`, `h = a * h + b`, `h = h + b`, `h = a * h` | h_t = a_t h_{t-1} + b_t |
| `m = T.max(m, x)`, `T.min` | the largest of all up to t, and of `m` before |
| `s = s + T.sum(x, axis=...)` over the extent, `T.max(m, T.amax(...))` | a total |

In the loop the name then stands for the values at every index, and behind it for the last one. A
total is known behind the loop only. What is made of the value of the turn before is the name's own
next value, and nothing else: any other use of it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from rewrites.operands.terms import Size
from tile2triton.diagnostics import TileError
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import Position, here
from tile2triton.frontend.whole_operands import OwnArithmetic, WholeOperand, bound_operand

_FORMS = (
    "it takes h = a * h + b, h = T.fma(a, h, b), h = T.max(h, x), and for totals "
    "s = s + T.sum(x, axis)"
)


class Carried(OwnArithmetic):
    """A name's value from the turn before, which only recurrences and totals may use."""

    def __init__(self, name: str, start: Any, size: Size, factor: Any = None) -> None:
        self.name = name
        self.start = start
        self.size = size
        # What the value is multiplied by.
        self.factor = factor
        self.origin = self
        # Where the value was made a new one; all but the one that the name gets are errors.
        self.states: list[State] = []

    def __repr__(self) -> str:
        return self.name

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Carried):
            raise self.refusal()
        scaled = Carried(self.name, self.start, self.size, _product(self.factor, other))
        scaled.origin = self.origin
        return scaled

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1.0 / other)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Carried):
            raise self.refusal()
        return self._added(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return self * -1.0 + other

    def _added(self, other: Any) -> Any:
        """The recurrence h = factor * h + other, or a total."""
        from tile2triton.frontend.operators import call

        if isinstance(other, WholeOperand) and other.whole.partial:
            if self.factor is not None or other.whole.partial != "sum":
                raise self.refusal()
            return self._total(other.complete() + self.start)
        factor = 1.0 if self.factor is None else self.factor
        dimension = self._dimension(factor, other)
        plain = [_unmarked(one) for one in (factor, other)]
        options = {"axis": dimension, "tile": self.size.tile}
        if not _is_zero(self.start):
            options = {"start": self.start, **options}
        states = call("linear_scan", tuple(plain), options)
        return self._made(_marked(states, dimension, self.size))

    def extreme(self, operator: str, other: Any) -> Any:
        """The largest or smallest of all up to each index, or of all."""
        from tile2triton.frontend.operators import call

        how = operator.removesuffix("imum")
        if self.factor is not None or not isinstance(other, WholeOperand):
            raise self.refusal()
        if other.whole.partial:
            if other.whole.partial != how:
                raise self.refusal()
            return self._total(call(f"{how}imum", (other.complete(), self.start), {}))
        dimension = self._dimension(other)
        found = call(f"cum{how}", (_unmarked(other),), {"axis": dimension})
        start = self.start
        if isinstance(start, WholeOperand) and start.ndim >= -dimension:
            start = start.expanded(dimension)
        states = call(operator, (found, start), {})
        return self._made(_marked(states, dimension, self.size))

    def _dimension(self, *operands: Any) -> int:
        """The loop's own dimension of what the recurrence is made of, from the last one."""
        for operand in operands:
            if isinstance(operand, WholeOperand):
                for at, size in enumerate(operand.whole.shape):
                    if size.tile:
                        return at - operand.ndim
        raise self.refusal("nothing in it is of the tiles of this loop")

    def _made(self, states: WholeOperand) -> WholeOperand:
        states.carried = State(self.origin, here())
        self.origin.states.append(states.carried)
        return states

    def _total(self, value: WholeOperand) -> Total:
        """The total under its name, which the loop only hands on."""
        return Total(self.origin, bound_operand(self.name, self._made(value)))

    def refusal(self, why: str = "", at: Position | None = None) -> TileError:
        """An error: the value is used in a way that is no recurrence."""
        return failure(
            "T2T854",
            f"`{self.name}` is carried from one tile to the next in a way that is no recurrence",
            found=(why,) if why else (),
            hint=_FORMS,
            at=at,
        )

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("shape", "dtype", "ndim"):
            return getattr(self.start, attribute)
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise self.refusal(f"`.{attribute}` of it")

    def __getitem__(self, index: Any) -> Any:
        raise self.refusal("a part of it is used before the loop gives it its value")

    def _used(self, *_: Any) -> NoReturn:
        raise self.refusal()

    __neg__ = __pow__ = __matmul__ = __rmatmul__ = __rtruediv__ = __floordiv__ = __mod__ = _used
    __rfloordiv__ = __rmod__ = __rpow__ = __abs__ = __invert__ = __iter__ = __len__ = _used
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = __int__ = __float__ = _used
    __eq__ = __ne__ = _used
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class State:
    """Which carried value an operand is the next one of, and where it was made."""

    origin: Carried
    position: Position


class Total(Carried):
    """What a loop adds up, while it runs: only behind the loop is it all that was added."""

    def __init__(self, origin: Carried, value: WholeOperand) -> None:
        super().__init__(origin.name, value, origin.size)
        self.origin = origin
        self.value = value

    def refusal(self, why: str = "", at: Position | None = None) -> TileError:
        return failure(
            "T2T854",
            f"`{self.name}` is a total, which is not known before the loop ends",
            found=(why,) if why else (),
            hint="read it behind the loop; what has been added up to each element is "
            "T.cumsum(x, axis)",
            at=at,
        )

    def extreme(self, operator: str, other: Any) -> Any:
        raise self.refusal()

    def _used(self, *_: Any) -> NoReturn:
        raise self.refusal()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _used


def carried_call(name: str, arguments: tuple[Any, ...]) -> Any:
    """An operator of the language that is given a carried value."""
    values = list(arguments)
    own = next(one for one in values if isinstance(one, Carried))
    total = next((one for one in values if isinstance(one, Total)), None)
    if total is not None:
        raise total.refusal(f"T.{name} of it")
    if name == "fma" and len(values) == 3:
        a, b, c = values
        return a * b + c
    if name in ("max", "min", "maximum", "minimum") and len(values) == 2:
        (other,) = [one for one in values if one is not own] or [own]
        return own.extreme(name, other)
    raise own.refusal(f"T.{name} of it")


def after_loop(before: Carried, value: Any) -> Any:
    """What a name stands for behind the loop: the last of the values that it has had."""
    value = value.value if isinstance(value, Total) else value
    state = value.carried if isinstance(value, WholeOperand) else None
    for other in before.states:
        if other is not state:
            raise before.refusal(
                "what is made of it here is not its value in the next turn", other.position
            )
    if value is before:
        return before.start
    if state is None or state.origin is not before:
        raise before.refusal(f"at the end of a turn it is `{value!r}`")
    dimension = next((at for at, size in enumerate(value.whole.shape) if size.tile), None)
    if dimension is None:
        return value
    index = [slice(None)] * value.ndim
    index[dimension] = -1  # type: ignore[call-overload]
    return value.unmarked()[tuple(index)]


def _product(factor: Any, other: Any) -> Any:
    return other if factor is None else factor * other


def _is_zero(start: Any) -> bool:
    return isinstance(start, (int, float)) and start == 0


def _unmarked(operand: Any) -> Any:
    return operand.unmarked() if isinstance(operand, WholeOperand) else operand


def _marked(states: WholeOperand, dimension: int, size: Size) -> WholeOperand:
    shape = list(states.whole.shape)
    shape[dimension] = replace(shape[dimension], tile=size.tile)
    return states.with_sizes(tuple(shape))
