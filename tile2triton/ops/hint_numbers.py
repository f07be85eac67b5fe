"""Checks of the numbers that hints take."""

import ast
from collections.abc import Callable, Iterator

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.regions import as_written, static_value

Check = Callable[[ast.Call, Facts], Iterator[Problem]]

# What chips can give a thread: TileLang's compiler takes no other numbers, either.
REGISTERS = (24, 256)
# More programs than a multiprocessor holds are a hint like others, that is not applied.
PROGRAMS = (1, 1024)


def checked_number(what: str, limits: tuple[int, int], example: str) -> Check:
    """Whether the first argument, if there is one, is a whole number within the limits."""
    least, most = limits

    def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
        for tree in [*call.args, *(keyword.value for keyword in call.keywords)][:1]:
            value = static_value(tree, facts)
            if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
                continue
            yield Problem(
                tree,
                "T2T296",
                f"`{as_written(tree)}` is no number of {what}",
                (),
                f"write a whole number from {least} to {most}, such as {example}",
            )

    return check
