"""Which loop variables move an access of a tensor to elements that no other iteration touches."""

import ast
from collections.abc import Iterable, Mapping

from rewrites.facts import Facts
from rewrites.tree import base_name


def apart(tree: ast.expr, extents: tuple[str, ...], widths: Mapping[str, str]) -> frozenset[str]:
    """The variables `v` of which some index of `tree` is `v * n` where the access is `n` long.

    `extents` are the texts of the lengths of a start's dimensions, aligned at the last one;
    `widths` those of the variables of the T.Parallel loops around.
    """
    if not isinstance(tree, ast.Subscript):
        return frozenset()
    indices = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    missing = len(indices) - len(extents)
    lengths = (*("" for _ in range(missing)), *extents[max(-missing, 0) :])
    found = (_step(index, length, widths) for index, length in zip(indices, lengths, strict=True))
    return frozenset(variable for variable in found if variable is not None)


def lengths(call: ast.Call, facts: Facts) -> tuple[str, ...]:
    """The extents of the tile that an operator moves, as text; none where it has no tile."""
    for argument in call.args:
        tile = facts.tiles.get(base_name(argument) or "")
        if tile is not None and isinstance(argument, ast.Name):
            return tuple(ast.unparse(extent) for extent in tile.trees)
    return ()


def parallel_widths(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """The variables of T.Parallel loops with the texts of their extents."""
    widths: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.For(target=target, iter=ast.Call(func=ast.Attribute(attr="Parallel")) as call):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name, extent in zip(names, call.args, strict=True):
                    widths[ast.unparse(name)] = ast.unparse(extent)
    return widths


def _step(index: ast.expr, length: str, widths: Mapping[str, str]) -> str | None:
    match index:
        case ast.Slice(lower=ast.BinOp() as start, upper=ast.expr() as stop):
            variable, step = _product(start)
            ends = (f"({variable} + 1) * {step}", f"{variable} * {step} + {step}")
            return variable if ast.unparse(stop) in ends else None
        case ast.BinOp(op=ast.Add(), left=start, right=ast.Name(id=lane)):
            variable, step = _product(start)
            return variable if step and widths.get(lane) == step else None
        case _:
            variable, step = _product(index)
            return variable if step and length == step else None


def _product(tree: ast.expr) -> tuple[str | None, str]:
    match tree:
        case ast.BinOp(left=ast.Name(id=variable), op=ast.Mult(), right=step):
            return variable, ast.unparse(step)
    return None, ""
