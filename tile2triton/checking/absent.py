"""Packages that are not installed, as stand-ins that take part in everything and know nothing.

Scripts import packages for the references that they compare with. What a stand-in gives is never
compared; a kernel refuses it as an argument.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any


class Absent:
    """Anything of a package that is not there: a function, a class, a tensor, a number."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Absent:
        return self

    def __getitem__(self, _: Any) -> Absent:
        return self

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __iter__(self) -> Iterator[Absent]:
        return iter((self,) * _wanted(sys._getframe(1)))

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def __format__(self, _: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<{self.__name__}, which is not installed>"

    def __enter__(self) -> Absent:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return next(x for x in _leaves((args, kwargs or {})) if isinstance(x, Absent))


def _wanted(frame: FrameType) -> int:
    """How many values the code that iterates unpacks; one where it does something else."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if code[at] == dis.opmap["UNPACK_SEQUENCE"] else 1


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _same(self: Absent, *_: Any) -> Absent:
    return self


def _holds(self: Absent, other: Any) -> Any:
    return True if isinstance(other, (int, float)) else self


def _exceeds(self: Absent, other: Any) -> Any:
    return False if isinstance(other, (int, float)) else self


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    setattr(Absent, f"__{_name}__", _same)
    setattr(Absent, f"__r{_name}__", _same)
for _name in "neg pos invert abs".split():
    setattr(Absent, f"__{_name}__", _same)
# Scripts ask whether errors, which are small, exceed tolerances, and whether there are dimensions.
for _name, _answer in (("lt", _holds), ("le", _holds), ("ge", _holds), ("gt", _exceeds)):
    setattr(Absent, f"__{_name}__", _answer)


class AbsentPackages(MetaPathFinder, Loader):
    """Imports the packages of these names, and all that is in them, as stand-ins."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.names:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...

    def install(self) -> None:
        sys.meta_path.append(self)


class Missed(MetaPathFinder):
    """Notes the packages that are asked for and are not there, whoever then does without."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if "." not in fullname and fullname not in self.names and _is_of_script(sys._getframe(1)):
            self.names.append(fullname)

    def install(self) -> None:
        sys.meta_path.append(self)


def _is_of_script(frame: FrameType | None) -> bool:
    """Whether the file that imports is none of an installed package."""
    while frame is not None and frame.f_code.co_filename.startswith("<"):
        frame = frame.f_back
    installed = ("site-packages", "dist-packages", "/tile2triton/", sys.base_prefix)
    return frame is not None and not any(x in frame.f_code.co_filename for x in installed)


class _AbsentModule(ModuleType):
    __all__: tuple[str, ...] = ()
    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")
