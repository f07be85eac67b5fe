"""Runs a tile program as groups of threads do: beside each other, in any order that waits allow.

It knows nothing of rewrites. Each group of 128 threads, or each single thread where a program asks
for its number, is a generator over the program's own statements, which Python runs on arrays.
Copies by TMA land whenever the order lets them, and a barrier is complete when as many threads
arrived as it expects and all copies to it have landed.
"""

import ast
import random
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Choice = Callable[[list[int]], int]


class StuckError(Exception):
    """No group of threads can go on."""


class Barrier:
    def __init__(self, count: int) -> None:
        self.count = count
        self.completed = self.arrived = self.landing = 0

    def settle(self) -> None:
        if self.arrived > self.count:
            raise StuckError("too many threads arrived")
        if self.arrived == self.count and not self.landing:
            self.completed += 1
            self.arrived = 0

    def passes(self, parity: int) -> bool:
        return (self.completed - 1) % 2 == parity % 2


class Operators:
    """What `T` is to a group of threads, or to a thread of that number."""

    def __init__(self, machine: "Machine", number: int = 0) -> None:
        self.machine = machine
        self.number = number
        self.serial = self.Pipelined = self.Parallel = range

    def clear(self, tile: np.ndarray) -> None:
        tile[...] = 0

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        target[...] = source

    def tma_copy(self, source: np.ndarray, target: np.ndarray, barrier: Barrier) -> None:
        barrier.landing += 1
        self.machine.agents.append(self.machine.landing(source, target, barrier))

    def barrier_arrive(self, barrier: Barrier) -> None:
        barrier.arrived += 128
        barrier.settle()

    def get_thread_binding(self) -> int:
        return self.number

    def reshape(self, source: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return source.reshape(shape)


class Machine:
    """The memory and the threads of one program."""

    def __init__(
        self, text: str, arrays: dict[str, np.ndarray], groups: int, is_single: bool = False
    ) -> None:
        """`is_single` says that the agents are threads, not groups of 128 that sync as one."""
        self.meets = groups if is_single else 1
        self.met = 0
        (function,) = ast.parse(textwrap.dedent(text)).body
        assert isinstance(function, ast.FunctionDef)
        (kernel,) = function.body
        assert isinstance(kernel, ast.With)
        self.shared: dict[str, Any] = {**arrays, "T": Operators(self), "bx": 0}
        own: list[tuple[str, tuple[int, ...]]] = []
        scalars: dict[str, int] = {}
        body: list[ast.stmt] = []
        for statement in kernel.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Attribute(attr=function_name), args=arguments),
                ) if function_name == "reshape" or function_name.startswith("alloc_"):
                    if function_name == "reshape":
                        self.shared[name] = self._value(statement.value, self.shared)
                        continue
                    first = ast.literal_eval(arguments[0])
                    if function_name == "alloc_var":
                        scalars[name] = ast.literal_eval(arguments[1])
                    elif function_name == "alloc_barrier":
                        self.shared[name] = [Barrier(count) for count in first]
                    elif function_name == "alloc_shared":
                        self.shared[name] = np.full(first, -999, np.int32)
                    else:
                        own.append((name, first))
                case _:
                    body.append(statement)
        self.agents: list[Iterator[Callable[[], bool]]] = []
        for group in range(groups):
            arrays = {name: np.full(shape, -999) for name, shape in own}
            names = {**self.shared, **arrays, **scalars, "T": Operators(self, group)}
            self.agents.append(self._group(body, group, names))

    def run(self, choose: Choice) -> None:
        """Let one agent after the other go to its next step, as `choose` says."""
        waiting: dict[int, Callable[[], bool]] = {}
        done: set[int] = set()
        while len(done) < len(self.agents):
            ready = [
                at
                for at in range(len(self.agents))
                if at not in done and (at not in waiting or waiting[at]())
            ]
            if not ready:
                raise StuckError("all wait for each other")
            at = choose(ready)
            try:
                waiting[at] = next(self.agents[at])
            except StopIteration:
                done.add(at)

    def landing(
        self, source: np.ndarray, target: np.ndarray, barrier: Barrier
    ) -> Iterator[Callable[[], bool]]:
        """A copy that lands when it is chosen."""
        target[...] = source
        barrier.landing -= 1
        barrier.settle()
        yield lambda: True

    def _group(
        self, body: list[ast.stmt], group: int, names: dict[str, Any]
    ) -> Iterator[Callable[[], bool]]:
        for statement in body:
            match statement:
                case ast.With(items=[ast.withitem(context_expr=ast.Call(args=numbers))]):
                    if group in [ast.literal_eval(number) for number in numbers]:
                        yield from self._group(statement.body, group, names)
                case ast.For(
                    target=ast.Name(id=name), iter=ast.Call(func=ast.Attribute(attr="serial"))
                ):
                    for value in self._value(statement.iter, names):
                        names[name] = value
                        yield from self._group(statement.body, group, names)
                case ast.If(test=test):
                    chosen = statement.body if self._value(test, names) else statement.orelse
                    yield from self._group(chosen, group, names)
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="barrier_wait"), args=[which, parity])
                ):
                    barrier, phase = self._value(which, names), self._value(parity, names)
                    yield lambda barrier=barrier, phase=phase: barrier.passes(phase)
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="sync_threads"))):
                    # The threads of one group are one agent, which waits for nobody.
                    everybody = (self.met // self.meets + 1) * self.meets
                    self.met += 1
                    yield lambda everybody=everybody: self.met >= everybody
                case _:
                    yield lambda: True
                    module = ast.Module([statement], [])
                    exec(compile(module, "<group>", "exec"), names)

    def _value(self, tree: ast.expr, names: dict[str, Any]) -> Any:
        return eval(compile(ast.Expression(tree), "<value>", "eval"), names)


def choices(groups: int, count: int, seed: int) -> Iterator[Choice]:
    """Orders to try: each group and each landing first or last, then at random."""
    for favourite in range(min(groups, 3) + 1):
        yield lambda ready, one=favourite: one if one in ready else ready[-1]
        yield lambda ready, one=favourite: next((at for at in ready if at != one), ready[0])
    yield lambda ready: ready[0]
    generator = random.Random(seed)
    for _ in range(count):
        yield generator.choice
