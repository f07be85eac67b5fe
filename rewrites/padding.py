"""Which padded tiles hold zeros in their padding, so that sums and GEMMs need no mask."""

import ast

from rewrites.environment import lengths
from rewrites.facts import Facts
from rewrites.tree import base_name, is_view, walk


def zero_padded_tiles(function: ast.FunctionDef, facts: Facts) -> frozenset[str]:
    """The tiles with padding that is written with nothing but zeros.

    Loads fill what they mask with 0, and so do T.clear and T.fill(tile, 0); a tile with any other
    writer may hold anything.
    """
    candidates = {name for name, tile in facts.tiles.items() if lengths(tile) != tile.shape}
    annotated = _annotated(function)
    changed = True
    while changed:
        changed = False
        for node in walk(function):
            if not isinstance(node, ast.stmt):
                continue
            for name in _dirty(node, facts, candidates, annotated):
                if name in candidates:
                    candidates.discard(name)
                    changed = True
    return frozenset(candidates)


def _annotated(function: ast.FunctionDef) -> set[str]:
    """The tensors that T.annotate_safe_value gives another value than 0 outside."""
    return {
        key.id
        for node in walk(function)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Name)
    }


def _dirty(
    statement: ast.stmt, facts: Facts, zero_padded: set[str], annotated: set[str]
) -> list[str]:
    """The tiles whose padding the statement may leave with something other than 0."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return [name]
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_view(value):
            return [name]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
            operator = facts.operators[function]
        case _:
            return []
    arguments = operator.arguments(call)
    written = arguments.get(operator.writes)
    target = base_name(written) if written is not None else None
    if target is None:
        return []
    clean = False
    if operator.name == "copy" and not isinstance(written, ast.Subscript):
        source = base_name(arguments["src"])
        from_tensor = source in facts.tensors and source not in annotated
        whole = isinstance(arguments["src"], ast.Name)
        clean = from_tensor or (whole and source in zero_padded)
    elif operator.name in ("clear", "fill"):
        value = arguments.get("value", ast.Constant(0))
        clean = isinstance(value, ast.Constant) and value.value == 0
    return [] if clean else [target]
