"""Names of TileLang that have no meaning here: importing one is fine, using it is the error."""

from __future__ import annotations

from typing import Any, NoReturn

from tile2triton.frontend.failures import failure
from tile2triton.ops.refused import Refusal


class RefusedName:
    """Stands for `T.name`; whatever a kernel or a factory does with it raises the reason."""

    def __init__(self, name: str, refusal: Refusal) -> None:
        self._name = name
        self.refusal = refusal

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise failure(
            self.refusal.code,
            f"T.{self._name} {self.refusal.reason}",
            hint=self.refusal.instead,
        )

    def __getattr__(self, attribute: str) -> RefusedName:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return RefusedName(f"{self._name}.{attribute}", self.refusal)

    def __repr__(self) -> str:
        return f"T.{self._name}"

    __call__ = __getitem__ = __bool__ = __index__ = __int__ = __float__ = __iter__ = refuse
    __enter__ = __exit__ = __mro_entries__ = __len__ = __add__ = __radd__ = __sub__ = refuse
    __rsub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = refuse
