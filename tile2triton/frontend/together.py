"""Several loop or block variables under one name of the user's."""

from __future__ import annotations

from typing import Any, NoReturn

from tile2triton.frontend.failures import failure


class Together(tuple[Any, ...]):
    """A tuple of variables, to be taken apart; as a number it is refused."""

    def refuse(self, *others: Any) -> NoReturn:
        names = ", ".join(("i", "j", "k", "l")[: len(self)])
        raise failure(
            "T2T162",
            f"one name stands for {len(self)} variables here, which are no number together",
            hint=f"name each of them, as in `for {names} in …`, or take one by position: `t[0]`",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = refuse
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = refuse
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = refuse


def as_named(values: tuple[Any, ...], wanted: Any) -> Any:
    """The variables as the names that are wanted take them: one by itself, or all together."""
    if isinstance(wanted, tuple):
        return values
    return values[0] if len(values) == 1 else Together(values)
