"""What the interpreter knows while it runs one program of a grid."""

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewrites.facts import Facts, Number
from tile2triton.ops.static import static_value
from tile2triton.reference.errors import UnsupportedError
from tile2triton.reference.jumps import Loop
from tile2triton.reference.memory import Mask, Memory
from tile2triton.reference.values import Value


@dataclass
class State:
    """Names and memories of the running program, and the iterations it is in.

    Inside T.Parallel, `space` is the shape of the iteration space and every value is an array that
    broadcasts to it; `mask` says for which iterations a statement runs.
    """

    facts: Facts
    tensors: dict[str, Memory]
    statics: dict[int, Number]
    names: dict[str, Value] = field(default_factory=dict)
    tiles: dict[str, Memory] = field(default_factory=dict)
    # The memory of each declaration that was executed, by the identity of its call.
    allocated: dict[int, Memory] = field(default_factory=dict)
    safe_values: dict[str, Value] = field(default_factory=dict)
    # Variables that are one scalar for each iteration of the T.Parallel loop they stand in.
    per_element: set[str] = field(default_factory=set)
    space: tuple[int, ...] = ()
    mask: Mask = None
    # The loops that the running statement is in, the innermost last.
    loops: list[Loop] = field(default_factory=list)
    program: int = 0
    # How many threads have arrived at each barrier of the program.
    arrived: Counter[tuple[str, int]] = field(default_factory=Counter)
    # The block indices of the program, x first.
    point: tuple[int, ...] = ()

    @property
    def is_parallel(self) -> bool:
        return self.space != ()

    def memory(self, name: str, node: ast.AST) -> Memory:
        memory = self.tiles.get(name) or self.tensors.get(name)
        if memory is None:
            raise UnsupportedError(node, f"`{name}` is used before it is allocated.")
        return memory

    def safe_value(self, name: str) -> Value:
        return self.safe_values.get(name, 0)

    @contextmanager
    def where(self, condition: Value) -> Iterator[None]:
        """Run what follows only for the iterations for which `condition` holds."""
        outer = self.mask
        self.mask = condition if outer is None else np.logical_and(outer, condition)
        try:
            yield
        finally:
            self.mask = outer

    @contextmanager
    def loop(self, is_parallel: bool = False) -> Iterator[Loop]:
        """Run what follows as turns of a loop, which its jumps may leave."""
        self.loops.append(Loop(self, is_parallel))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()

    @contextmanager
    def where_not_left(self) -> Iterator[bool]:
        """Run what follows for the iterations that no jump took away; whether there are any."""
        left = self.loops[-1].left if self.loops else None
        if left is None:
            yield True
            return
        with self.where(np.logical_not(left)):
            yield not bool(np.all(left))


def find_statics(tree: ast.AST, facts: Facts) -> dict[int, Number]:
    """The numbers in a tree that Python would have computed while it traced, by the node's id."""
    found: dict[int, Number] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            value: Any = static_value(node, facts)
            if value is not None:
                found[id(node)] = value
    return found
