"""`T.meta_class`: objects that live while a kernel is traced and keep their state in variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from tile2triton.frontend.macros import macro
from tile2triton.frontend.tracer import naming_of

Class = TypeVar("Class", bound=type)


def meta_class(cls: Class) -> Class:
    """Trace the methods of the class into the kernels that call them, as T.macro does.

    `__init__`, properties, static and class methods, and methods that use `super()` are run by
    Python. Variables and tiles that become attributes are named after them, and after the argument
    `name` of `__init__` where it has one.
    """
    for name, method in list(vars(cls).items()):
        is_plain = name.startswith("__") or not isinstance(method, FunctionType)
        if not is_plain and "__class__" not in method.__code__.co_freevars:
            setattr(cls, name, macro(method))
    _name_attributes(cls)
    return cls


def _name_attributes(cls: type) -> None:
    is_first = not any("_t2t_prefix" in vars(base) for base in cls.__mro__[1:])
    if is_first:
        _set(cls, "_t2t_prefix", "")
        _set(cls, "__setattr__", _named_by_attribute(cls.__setattr__))
    if is_first or "__init__" in vars(cls):
        _set(cls, "__init__", _keeping_the_name(getattr(cls, "__init__")))  # noqa: B009


def _set(cls: type, name: str, value: Any) -> None:
    setattr(cls, name, value)


def _named_by_attribute(plain: Callable[..., None]) -> Callable[..., None]:
    """Assign an attribute; what has no name yet is named after it."""

    def assign(self: Any, attribute: str, value: Any) -> None:
        naming = naming_of(value)
        wanted = attribute.lstrip("_")
        if naming is not None and naming.is_open and wanted:
            naming.settle(f"{self._t2t_prefix}{wanted}")
        plain(self, attribute, value)

    return assign


def _keeping_the_name(original: Callable[..., None]) -> Callable[..., None]:
    """Remember the argument `name` before the body of `__init__` names anything."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def initialize(self: Any, *arguments: Any, **keywords: Any) -> None:
        name = signature.bind(self, *arguments, **keywords).arguments.get("name")
        if name is not None:
            object.__setattr__(self, "_t2t_prefix", f"{name}_")
        original(self, *arguments, **keywords)

    return initialize
