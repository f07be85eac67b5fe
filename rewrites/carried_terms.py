"""Values inside a loop as sums of terms, as far as they depend on what the loop carries.

A term is c * s * exp(e): a coefficient c that nothing carried is in, at most one element s of what
the turn found when it began, and an exponent e that is linear in such elements. A coefficient or a
value that is more than its rules can say is None.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

# The product of named scalars times a number, for each product; equal ones are equal in value.
Coefficient = frozenset[tuple[tuple[str, ...], Fraction]]
# Where an element is: a variable, a dimension of its tile ("@0") or a number, for each dimension.
Index = tuple[str | int, ...]

ONE: Coefficient = frozenset({((), Fraction(1))})


@dataclass(frozen=True)
class Element:
    """An element of a carried tile or variable.

    `version` is 0 for what the turn found, and further numbers for extremes of that and of values
    that nothing carried is in; `kind` is then "max" or "min".
    """

    name: str
    index: Index = ()
    version: int = 0
    kind: str = ""

    def at(self, places: Mapping[str | int, str | int]) -> "Element | None":
        """The element by other names of its indices; None where one has no other name."""
        if not all(isinstance(one, int) or one in places for one in self.index):
            return None
        index = tuple(one if isinstance(one, int) else places[one] for one in self.index)
        return Element(self.name, index, self.version, self.kind)


# A linear form over elements, under exp2 ("2") or exp ("e").
Exponent = tuple[str, frozenset[tuple[Element, Coefficient]]]
NOTHING: Exponent = ("", frozenset())
Key = tuple[Element | None, Exponent]
Terms = Mapping[Key, Coefficient | None]
# None is a value of which nothing is known.
Value = Terms | None

FREE: Terms = {(None, NOTHING): None}
ZERO: Terms = {}


def places(shape: tuple[int, ...]) -> Index:
    """Each element of a tile by its own place; a dimension of one element has no other than 0."""
    return tuple(f"@{number}" if extent != 1 else 0 for number, extent in enumerate(shape))


def number(value: int | float) -> Terms:
    """A number, exactly."""
    if value != value or value in (float("inf"), float("-inf")):
        return FREE
    return {(None, NOTHING): frozenset({((), Fraction(value))})} if value else ZERO


def scalar(name: str) -> Terms:
    """A named number that the loop does not change."""
    return {(None, NOTHING): frozenset({((name,), Fraction(1))})}


def element(one: Element) -> Terms:
    return {(one, NOTHING): ONE}


def is_free(value: Value) -> bool:
    """Whether nothing carried is in it."""
    return value is not None and all(key == (None, NOTHING) for key in value)


def single(value: Value) -> Element | None:
    """The element that a value is, where it is one."""
    if value is None or len(value) != 1:
        return None
    ((one, exponent), coefficient) = next(iter(value.items()))
    return one if exponent == NOTHING and coefficient == ONE else None


def elements_in(value: Terms) -> set[Element]:
    """All elements of a value, in exponents too."""
    found = {one for one, _ in value if one is not None}
    return found | {one for _, (_, form) in value for one, _ in form}


def added(left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    result = dict(left)
    for key, coefficient in right.items():
        if key in result:
            coefficient = plus(result[key], coefficient)
        if coefficient == frozenset():
            result.pop(key, None)
        else:
            result[key] = coefficient
    return result


def negated(value: Value) -> Value:
    return multiplied(value, number(-1))


def multiplied(left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    if is_free(left) and is_free(right):
        nothing: Coefficient = frozenset()
        plain = (None, NOTHING)
        free = times(left.get(plain, nothing), right.get(plain, nothing))
        return ZERO if free == nothing else {plain: free}
    result: Value = ZERO
    for (one, exponent), coefficient in left.items():
        for (two, other), factor in right.items():
            both = joined(exponent, other)
            if (one is not None and two is not None) or both is None:
                return None
            result = added(result, {(one or two, both): times(coefficient, factor)})
    return result


def exponential(base: str, value: Value) -> Value:
    """exp2 or exp of a linear form; what is free in it becomes a coefficient."""
    if value is None:
        return None
    form: set[tuple[Element, Coefficient]] = set()
    coefficient: Coefficient | None = ONE
    for (one, exponent), factor in value.items():
        if one is None and exponent == NOTHING:
            coefficient = None
        elif one is None or exponent != NOTHING or factor is None:
            return None
        else:
            form.add((one, factor))
    return {(None, (base, frozenset(form)) if form else NOTHING): coefficient}


def either(left: Value, right: Value) -> Value:
    """One or the other, by a condition that nothing carried is in."""
    if left is None or right is None:
        return None
    return {
        key: left[key] if key in left and key in right and left[key] == right[key] else None
        for key in (*left, *(key for key in right if key not in left))
    }


def blurred(value: Terms) -> Terms:
    """Sums over many of a value's kind: coefficients are no longer known."""
    return dict.fromkeys(value, None)


def renamed(value: Value, places: Mapping[str | int, str | int]) -> Value:
    """A value by other names of indices; None where one of them has none."""
    return mapped(value, lambda one: one.at(places))


def mapped(value: Value, change: Callable[[Element], Element | None]) -> Value:
    """A value with other elements in the place of its own."""
    if value is None:
        return None
    result: Value = ZERO
    for (one, (base, form)), coefficient in value.items():
        made = None if one is None else change(one)
        moved = [(change(inner), factor) for inner, factor in form]
        if (one is not None and made is None) or any(inner is None for inner, _ in moved):
            return None
        exponent = (base, frozenset((inner, factor) for inner, factor in moved if inner))
        result = added(result, {(made, exponent): coefficient})
    return result


def plus(left: Coefficient | None, right: Coefficient | None) -> Coefficient | None:
    if left is None or right is None:
        return None
    total = dict(left)
    for names, factor in right:
        total[names] = total.get(names, Fraction(0)) + factor
    return frozenset((names, factor) for names, factor in total.items() if factor)


def times(left: Coefficient | None, right: Coefficient | None) -> Coefficient | None:
    if left == frozenset() or right == frozenset():
        return frozenset()
    if left is None or right is None:
        return None
    total: Coefficient = frozenset()
    for names, factor in left:
        for others, other in right:
            product = frozenset({(tuple(sorted((*names, *others))), factor * other)})
            total = plus(total, product) or frozenset()
    return total


def joined(left: Exponent, right: Exponent) -> Exponent | None:
    """The exponent of a product; None for powers of different bases."""
    if not left[1] or not right[1]:
        return left if left[1] else right
    if left[0] != right[0]:
        return None
    form = dict(left[1])
    for one, factor in right[1]:
        form[one] = plus(form.get(one, frozenset()), factor) or frozenset()
    rest = frozenset((one, factor) for one, factor in form.items() if factor)
    return (left[0], rest) if rest else NOTHING
