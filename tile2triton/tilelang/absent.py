"""Names that can be imported but have no meaning here: an error is only to use one."""

from __future__ import annotations

from typing import Any, NoReturn

from tile2triton.frontend.failures import failure


class Absent:
    """Stands for an object of TileLang's or TVM's; calling it or asking it anything raises."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = name
        self._reason = reason

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            # Python's own machinery asks for such names; no user writes them.
            raise AttributeError(attribute)
        self._refuse()

    def __getitem__(self, index: Any) -> NoReturn:
        self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self.__name__}, which tile2triton does not have>"

    def _refuse(self) -> NoReturn:
        raise failure(
            "T2T501",
            f"`{self.__name__}` is not there: {self._reason}",
            hint="write what it is needed for with tiles: T.copy, T.gemm, T.Parallel, …",
        )


THREADS = "it is code for single threads and their registers, where Triton has whole tiles"
COMPILER = "it is a part of TileLang's compiler, which does not run here"


def absent(module: str, names: str, reason: str) -> dict[str, Absent]:
    """Stand-ins for names of a module; `names` is text that is split at blanks."""
    return {name: Absent(f"{module}.{name}", reason) for name in names.split()}
