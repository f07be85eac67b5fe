"""Launches of Triton kernels that run nothing: what they would write to is no longer known."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tile2triton.checking.tensors import forget
from tile2triton.posing.driver import Driver
from tile2triton.targets import Target

# Functions of Triton's language that only read what they are given.
_WRITING = ("store", "atomic", "scatter", "inline_asm")
_LOADING = ("tl.load", "triton.language.load")


@contextmanager
def launching_nothing(gpu: Target) -> Iterator[None]:
    """Let every launch of a Triton kernel in this process only mark what it writes."""
    before = JITFunction.run, driver._active
    JITFunction.run = _run
    driver.set_active(Driver(gpu))
    try:
        yield
    finally:
        JITFunction.run, driver._active = before


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
    names = tuple(self.arg_names)
    given = dict(zip(names, args, strict=False)) | kwargs
    if callable(grid):
        grid = grid(given)
    if any(not isinstance(extent, int) for extent in grid):
        raise TypeError(f"the grid of {self.__name__} must be integers, found {grid}")
    for name in _written(self.src):
        value = given.get(name)
        tensor = getattr(value, "base", None) if not isinstance(value, torch.Tensor) else value
        if isinstance(tensor, torch.Tensor):
            forget(tensor)


@functools.cache
def _written(source: str) -> frozenset[str]:
    """The parameters of a kernel through which it may write."""
    tree = ast.parse(source)
    # What a name is made of, so that a pointer made of a parameter leads back to it.
    parts: dict[str, set[str]] = {}
    written: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (name for target in targets for name in _names(target)):
                parts.setdefault(name, set()).update(_names(node.value))
        elif isinstance(node, ast.Call):
            written |= _written_by(node)
    while True:
        more = written.union(*(parts.get(name, set()) for name in written))
        if more == written:
            return frozenset(written)
        written = more


def _written_by(call: ast.Call) -> set[str]:
    text = ast.unparse(call.func)
    owner, _, name = text.rpartition(".")
    if owner in ("tl", "triton.language", "libdevice") or owner.startswith("tl."):
        return _names(call.args[0]) if name.startswith(_WRITING) and call.args else set()
    if name.startswith(_WRITING) and isinstance(call.func, ast.Attribute):
        return _names(call.func.value)
    # Another function may write through whatever it gets.
    return set().union(*(_names(argument) for argument in call.args), set())


def _names(tree: ast.AST) -> set[str]:
    """The names that a pointer may be made of: what is loaded is an offset, and no pointer."""
    if isinstance(tree, ast.Name):
        return {tree.id}
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) in _LOADING:
        return set()
    return set().union(*(_names(child) for child in ast.iter_child_nodes(tree)), set())
