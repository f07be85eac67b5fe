"""Branches and loops of the kernel while their bodies are traced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, cast

from tile2triton.frontend.builder import Block, Builder
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.failures import failure
from tile2triton.frontend.long_lanes import in_blocks
from tile2triton.frontend.loops import Loop, loop_values
from tile2triton.frontend.native import truth
from tile2triton.frontend.nests import join_nest
from tile2triton.frontend.positions import here
from tile2triton.frontend.scopes import Binding, Scope
from tile2triton.frontend.written_hints import write_down_loop


class Choice:
    """An `if`: decided while tracing, or with both of its sides recorded."""

    def __init__(
        self, builder: Builder, scope: Scope, decided: bool | None, test: Dynamic | None
    ) -> None:
        self.builder = builder
        self.scope = scope
        self.decided = decided
        if test is None:
            return
        self.sides = (Block("branch"), Block("branch"))
        self.before = scope.snapshot()
        self.after_first: dict[str, Binding] = {}
        statement = ast.If(test.tree, [], [])
        settled = builder.record(statement)
        assert isinstance(settled, ast.If)
        self.statement = settled
        self.parent = builder.block
        builder.open(self.sides[0])

    def then(self) -> bool:
        """Whether to run the first side."""
        return self.decided is not False

    def otherwise(self) -> bool:
        """Whether to run the second side, which sees the names as they were before the first."""
        if self.decided is not None:
            return not self.decided
        self.builder.close()
        self.after_first = self.scope.snapshot()
        self.scope.restore(self.before)
        self.builder.open(self.sides[1])
        return True

    def end(self) -> None:
        """Close what is open and keep what was recorded."""
        if self.decided is not None:
            return
        self.builder.close()
        first, second = self.sides
        # What either side bound is bound to a block that is over.
        for name, binding in self.after_first.items():
            if self.before.get(name) is not binding:
                self.scope.bindings[name] = binding
        if not first.body and not second.body:
            self.parent.body.remove(self.statement)
            return
        placeholder = ast.copy_location(ast.Pass(), self.statement)
        self.statement.body = first.body or [placeholder]
        self.statement.orelse = second.body


def loop_turns(
    builder: Builder, loop: Loop, targets: Any, carried: tuple[str, ...]
) -> Iterator[Any]:
    """Record a `for`; its body is traced once."""
    block = Block("parallel" if loop.is_parallel else "loop", carried=frozenset(carried))
    names, target = loop.counters(builder, block, targets)
    statement = ast.For(target, loop.header(builder), [], [])
    statement.type_comment = None
    settled = builder.record(statement, loop.position)
    assert isinstance(settled, ast.For)
    parent = builder.block
    builder.open(block)
    yield loop_values(loop, names, targets, block)
    builder.close()
    settled.body = block.body
    if loop.hints:
        write_down_loop(builder, loop, block.body)
    if not block.body:
        parent.body.remove(settled)
    elif loop.is_parallel:
        join_nest(settled)
        in_blocks(settled, parent, builder)


def while_turns(
    builder: Builder, scope: Scope, test: Callable[[], Any], carried: tuple[str, ...]
) -> Iterator[None]:
    """Record a `while`; its body is traced once."""
    start = here()
    settled = builder.record(ast.While(ast.Constant(True), [], []), start)
    assert isinstance(settled, ast.While)
    parent, block = builder.block, Block("loop", carried=frozenset(carried))
    builder.open(block)
    condition = test()
    is_dynamic = isinstance(condition, Dynamic)
    if not is_dynamic and not truth(condition):
        builder.close()
        parent.body.remove(settled)
        return
    if is_dynamic and not block.body:
        settled.test = cast(ast.expr, builder.settle(condition.tree, settled))
    elif is_dynamic:
        # What the condition took is done in every turn, so it stands in the body.
        leave = ast.If(ast.UnaryOp(ast.Not(), condition.tree), [ast.Break()], [])
        builder.record(leave)
    yield
    builder.close()
    settled.body = block.body or [ast.copy_location(ast.Pass(), settled)]
    if isinstance(settled.test, ast.Constant) and not _may_leave(block.body):
        raise failure(
            "T2T168",
            "this loop would never end: its condition is the same in every turn",
            found=(f"condition: {condition!r}",),
            hint="compare a variable from T.alloc_var, which the loop changes, or leave the loop "
            "with `break`",
            at=start,
        )


def _may_leave(body: list[ast.stmt]) -> bool:
    """Whether a `break` of this loop or a `return` stands in its body."""
    for statement in body:
        match statement:
            case ast.Break() | ast.Return():
                return True
            case ast.For() | ast.While():
                if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                    return True
            case ast.If():
                if _may_leave(statement.body) or _may_leave(statement.orelse):
                    return True
    return False
