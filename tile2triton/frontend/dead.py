"""What stands for a name after the block that gave it a value."""

from __future__ import annotations

from typing import Any, NoReturn

from tile2triton.diagnostics import TileError
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import Position, here
from tile2triton.frontend.spans import name_position


class Dead:
    """Stands for a name whose value was bound in a block that is over; every use is an error."""

    def __init__(self, name: str, message: str, hint: str) -> None:
        self._dead = (name, message, hint)

    def refusal(self, at: Position) -> TileError:
        """An error where the name stands."""
        name, message, hint = self._dead
        return failure("T2T120", message, hint=hint, at=name_position(at, name))

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.refusal(here())

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self.refuse()

    __call__ = __getitem__ = __bool__ = __index__ = __int__ = __float__ = __iter__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __invert__ = refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __pow__ = __rpow__ = __len__ = refuse
    __eq__ = __ne__ = refuse
    __hash__ = None  # type: ignore[assignment]
