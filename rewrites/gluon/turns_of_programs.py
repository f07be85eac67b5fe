"""Compute for every program of a grid how far its loops go, as the device would."""

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from rewrites.gluon.device_division import DeviceDivision, quotient
from rewrites.gluon.errors import UnsuitedError
from rewrites.quote import copy_tree
from rewrites.ranges import range_of
from rewrites.tree import names_in, walk

# More programs than these are not gone through.
MOST = 20_000


def bounds_of_programs(
    statements: Sequence[ast.Assign],
    bounds: Sequence[ast.expr],
    constants: Mapping[str, Any],
    grid: Sequence[ast.expr],
    ranges: Mapping[str, Any],
) -> Iterator[tuple[dict[int, int], tuple[int, ...]]]:
    """The places of programs on the axes that matter, and what `bounds` are for each.

    The statements lead to them. Raises UnsuitedError where they depend on what is known at the
    launch only.
    """
    read = set().union(*map(names_in, (*statements, *bounds)))
    set_here = set().union(*(names_in(one.targets[0]) for one in statements))
    unknown = read - set_here - {"tl", *constants}
    if unknown:
        raise UnsuitedError(f"how far its loops go depends on `{min(unknown)}`")
    axes = sorted(
        {
            ast.literal_eval(node.args[0])
            for one in statements
            for node in walk(one)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.program_id"
        }
    )
    extents = [range_of(grid[axis], ranges).high for axis in axes]
    if any(one is None for one in extents) or math.prod(one or 0 for one in extents) > MOST:
        raise UnsuitedError("how far its loops go is not known for every program")
    body: list[ast.stmt] = [DeviceDivision().visit(copy_tree(one)) for one in statements]
    result = ast.Tuple([DeviceDivision().visit(copy_tree(one)) for one in bounds], ast.Load())
    body.append(ast.Assign([ast.Name("_bounds", ast.Store())], result))
    module = ast.fix_missing_locations(ast.Module(body, []))
    code = compile(module, "<bounds>", "exec")
    for places in itertools.product(*(range(one or 0) for one in extents)):
        place = dict(zip(axes, places, strict=True))
        scope = {**constants, "tl": _language(place)}
        scope |= {"_quotient": quotient, "_remainder": lambda a, b: a - b * quotient(a, b)}
        try:
            exec(code, scope)
        except (AttributeError, TypeError) as error:
            raise UnsuitedError(f"how far its loops go is not known: {error}") from error
        yield place, tuple(map(int, scope["_bounds"]))


def is_shared(
    statements: Sequence[ast.Assign],
    name: str,
    axis: int,
    count: int,
    constants: Mapping[str, Any],
    grid: Sequence[ast.expr],
    ranges: Mapping[str, Any],
) -> bool:
    """Whether each `count` programs beside each other on an axis have one value of a name."""
    found: dict[tuple[tuple[int, int], ...], int] = {}
    tree = ast.Name(name, ast.Load())
    try:
        for place, (value,) in bounds_of_programs(statements, [tree], constants, grid, ranges):
            group = tuple(sorted({**place, axis: place[axis] // count}.items()))
            if found.setdefault(group, value) != value:
                return False
    except (UnsuitedError, KeyError):
        return False
    return True


def _language(places: Mapping[int, int]) -> SimpleNamespace:
    return SimpleNamespace(
        program_id=places.__getitem__,
        cdiv=lambda a, b: quotient(a + b - 1, b),
        minimum=min,
        maximum=max,
        where=lambda test, a, b: a if test else b,
    )
