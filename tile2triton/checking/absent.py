"""Packages that are not installed, as stand-ins that take part in everything and know nothing.

Scripts import packages for the references that they compare with. What a stand-in gives is never
compared; a kernel refuses it as an argument.
"""

from __future__ import annotations

import dis
import functools
import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

_OF_TENSORS = frozenset(
    "shape dtype device layout ndim size dim numel stride is_cuda element_size".split()
)


class Absent:
    """Anything of a package that is not there: a function, a class, a tensor, a number."""

    def __init__(self, name: str, tensors: Sequence[torch.Tensor] = ()) -> None:
        self.__name__ = self.__qualname__ = name
        # What it was made from, which a backward pass would have given gradients.
        self._tensors = tuple(tensors)

    def backward(self, *_: Any, **__: Any) -> None:
        """Give the tensors that it was made from gradients."""
        for tensor in self._tensors:
            if tensor.requires_grad:
                torch.autograd.backward(tensor, torch.empty_like(tensor), retain_graph=True)

    @property
    def grad(self) -> Absent:
        return Absent(f"{self.__name__}.grad", self._tensors)

    @grad.setter
    def grad(self, value: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OF_TENSORS and self._tensors:
            # Most functions give something of the shape of what they get.
            return getattr(self._tensors[0], name)
        return Absent(f"{self.__name__}.{name}", self._tensors)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (FunctionType, type)):
            # As a decorator it leaves what it decorates.
            return args[0]
        return self._with((args, kwargs))

    def _with(self, given: Any) -> Absent:
        made_from = list(self._tensors)
        for value in _leaves(given):
            made_from += value._tensors if isinstance(value, Absent) else ()
            made_from += (value,) if isinstance(value, torch.Tensor) else ()
        alone = {id(tensor): tensor for tensor in made_from}
        return Absent(self.__name__, tuple(alone.values()))

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
        given = (args, kwargs or {})
        first = next(x for x in _leaves(given) if isinstance(x, Absent))
        return first._with(given)


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


def _same(self: Absent, *others: Any) -> Absent:
    return self._with(others)


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
        if self.names:
            _let_pass("einops", "rearrange reduce repeat einsum pack unpack")


def _let_pass(module_name: str, functions: str) -> None:
    """Let functions of an installed package give stand-ins for stand-ins, which they refuse."""
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError:
        return
    for name in functions.split():
        setattr(module, name, _passing(getattr(module, name)))


def _passing(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = next((x for x in _leaves((args, kwargs)) if isinstance(x, Absent)), None)
        return function(*args, **kwargs) if given is None else given._with((args, kwargs))

    return call


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
    __file__ = "not installed"

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")
