"""Which extents of whole operands Python's own numbers depend on, so that a kernel has them fixed.

Most of what Python computes from an extent keeps its name, but not all of it: `1.0 / n`, `[0] * n`,
`math.log(n)` and what functions of the user's make of it are numbers alone. So the program is
traced again for other sizes that one kernel might serve, the least and the largest: an extent is
free only where each of them gives the same program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rewrites.facts import Program
from tile2triton.frontend.whole_programs import Outline, least_alike

# Tiles depend on larger sizes no more; so much larger ones are tried.
_FURTHER = 4


def decided_extents(
    program: Program, arguments: dict[str, Any], trace: Callable[[dict[str, Any]], Program]
) -> frozenset[str]:
    """The names of extents without which the program would be another one."""
    shapes = [program.facts.tensors[name].shape for name in program.facts.parameters]
    outlines = [one for one in arguments.values() if isinstance(one, Outline)]
    places = [
        (extent.id, size, at)
        for shape, outline in zip(shapes, outlines, strict=True)
        for at, (extent, size) in enumerate(zip(shape, outline.shape, strict=True))
        if isinstance(extent, ast.Name)
    ]
    wanted = program.facts.free_sizes
    tried = dict.fromkeys(size for name, size, at in places if at == 0 or name in wanted)
    known = {size for outline in outlines for size in outline.shape}
    text = _text(program)
    return frozenset(
        name
        for name, size, _ in places
        if size in tried
        and any(
            _traced(trace, _changed(arguments, shapes, size, other)) != text
            for other in _others(size, known)
        )
    )


def _others(size: int, known: set[int]) -> Iterator[int]:
    """The least and the largest of the sizes for which a kernel may be the same."""
    least = least_alike(size)
    is_large = least_alike(2 * size) == least
    most = _FURTHER * size + 3 if is_large else 2 * least - 1
    for sizes in (range(least, size), range(most, size, -1)):
        other = next((one for one in sizes if one not in known), None)
        if other is not None:
            yield other


def _changed(
    arguments: dict[str, Any], shapes: list[tuple[ast.expr, ...]], size: int, other: int
) -> dict[str, Any]:
    """The arguments with another size in place of each named extent of one."""
    changed = dict(arguments)
    names = [name for name, value in arguments.items() if isinstance(value, Outline)]
    for name, shape in zip(names, shapes, strict=True):
        outline: Outline = arguments[name]
        sizes = tuple(
            other if one == size and isinstance(extent, ast.Name) else one
            for one, extent in zip(outline.shape, shape, strict=True)
        )
        changed[name] = replace(outline, shape=sizes)
    return changed


def _traced(trace: Callable[[dict[str, Any]], Program], arguments: dict[str, Any]) -> str:
    try:
        return _text(trace(arguments))
    except Exception:  # the user's code does not take this size, whatever it raises
        return ""


def _text(program: Program) -> str:
    """The program without the values of its constants."""
    functions = [one for one in program.tree.body if isinstance(one, ast.FunctionDef)]
    shapes = [ast.unparse(extent) for one in program.facts.tensors.values() for extent in one.shape]
    return "\n".join([*map(ast.unparse, functions), *shapes])
