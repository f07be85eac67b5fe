"""`T.static_assert`: a condition on constants, without which the kernel does not compile."""

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.scalars import as_condition
from rewrites.shapes import plain_extent
from rewrites.space import Space
from rewrites.tree import names_in
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written
from tile2triton.ops.static import static_value
from tile2triton.reference.named import value_of


def static_assert(cond: Any) -> Any:
    """A condition on named constants that the kernel relies on; another value is an error.

    | form | meaning | Triton |
    |---|---|---|
    | `T.static_assert(M % block_M == 0)` | an error where it is false | `tl.static_assert(…)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The condition is known when the kernel is compiled, and true."""
    condition = STATIC_ASSERT.arguments(call)["cond"]
    written = as_written(condition)
    value = static_value(condition, facts)
    if value is None:
        yield Problem(
            condition,
            "T2T294",
            f"`{written}` is not known when the kernel is compiled",
            (),
            f"write T.assume({written}) for what holds at run time",
        )
    elif not value:
        yield Problem(condition, "T2T295", "the condition of T.static_assert does not hold")


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """A literal was true when the program was traced and needs no check any more."""
    if isinstance(arguments["cond"], ast.Constant):
        return
    tree = plain_extent(arguments["cond"])
    if names_in(tree).isdisjoint(("min", "max")):
        tree = as_condition(space.value(arguments["cond"])).tree
    # Triton's own minimum and maximum of constants are no constants.
    space.lowering.emit("tl.static_assert(condition)", condition=tree)


def reference(cond: Any) -> None:
    assert bool(value_of(cond)), "the condition does not hold"


STATIC_ASSERT = Operator(
    surface=static_assert, kind="statement", check=check, lower=lower, reference=reference
)
OPERATORS = (STATIC_ASSERT,)
