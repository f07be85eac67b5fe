"""What operators that are statements make of tiles, in terms of what a turn of a loop found."""

import ast
from collections.abc import Callable, Mapping
from functools import partial

from rewrites import carried_terms as terms
from rewrites.carried_terms import FREE, ZERO, Value
from rewrites.facts import Tile
from rewrites.tree import base_name
from rewrites.turn_expressions import Expressions, Values

Arguments = Mapping[str, ast.expr]
# The value of the tile that is written.
Follow = Callable[[Expressions, Arguments, Tile, Values], Value]


def follow(function: str, arguments: Arguments) -> Follow | None:
    """What says the value of an operator; None where it is known of free operands only."""
    if {"A", "B", "C", "clear_accum"} <= arguments.keys():
        return _product
    if function.startswith("reduce"):
        kind = arguments.get("reduce_type")
        named = kind.value if isinstance(kind, ast.Constant) else function[len("reduce_") :]
        if named in ("sum", "max", "min"):
            return partial(_reduced, str(named))
    return {"copy": _copied, "fill": _filled, "clear": _cleared}.get(function)


def _copied(turn: Expressions, given: Arguments, tile: Tile, values: Values) -> Value:
    source, target = given["src"], given["dst"]
    if not isinstance(source, ast.Name) or not isinstance(target, ast.Name):
        return None
    other = turn.facts.tiles.get(source.id)
    if other is None:
        return FREE
    own = [number for number, extent in enumerate(tile.shape) if extent != 1]
    its = [number for number, extent in enumerate(other.shape) if extent != 1]
    if [tile.shape[one] for one in own] != [other.shape[one] for one in its]:
        return None
    places: dict[str | int, str | int] = {
        f"@{one}": f"@{two}" for one, two in zip(its, own, strict=True)
    }
    return terms.renamed(values.get(source.id, FREE), places)


def _filled(turn: Expressions, given: Arguments, tile: Tile, values: Values) -> Value:
    return turn.value(given["value"], values)


def _cleared(turn: Expressions, given: Arguments, tile: Tile, values: Values) -> Value:
    return ZERO


def _product(turn: Expressions, given: Arguments, tile: Tile, values: Values) -> Value:
    clear = given["clear_accum"]
    if not isinstance(clear, ast.Constant) or tile.rank != 2:
        return None
    factors = []
    for key, kept in (("A", 0), ("B", 1)):
        side, flag = given[key], given[f"transpose_{key}"]
        if not isinstance(side, ast.Name) or not isinstance(flag, ast.Constant):
            return None
        value = values.get(side.id, FREE)
        if value is None or any(one is not None for one, _ in value):
            return None
        axis = kept if not flag.value else 1 - kept
        factors.append(terms.renamed(value, {f"@{axis}": f"@{kept}"}))
    product = terms.multiplied(factors[0], factors[1])
    product = None if product is None else terms.blurred(product)
    old = ZERO if clear.value else values.get(tile.name, FREE)
    return terms.added(old, product)


def _reduced(kind: str, turn: Expressions, given: Arguments, tile: Tile, values: Values) -> Value:
    source, dim, clear = given["buffer"], given["dim"], given["clear"]
    other = turn.facts.tiles.get(base_name(source) or "")
    axis = _number(dim)
    if not isinstance(clear, ast.Constant) or other is None or axis is None:
        return None
    value = values.get(other.name, FREE)
    axis %= other.rank
    if isinstance(source, ast.Subscript):
        value = value if terms.is_free(value) else None
    kept = [number for number in range(other.rank) if number != axis]
    own = range(tile.rank) if tile.rank < other.rank else kept
    places: dict[str | int, str | int] = {
        f"@{one}": f"@{two}" if tile.shape[two] != 1 else 0
        for one, two in zip(kept, own, strict=False)
    }
    value = terms.renamed(value, places)
    old = values.get(tile.name, FREE)
    if kind != "sum":
        # Extremes of parts pass over NaN.
        propagates = given["nan_propagate"]
        is_plain = isinstance(propagates, ast.Constant) and not propagates.value
        made = FREE if is_plain and terms.is_free(value) else None
        return made if clear.value else turn.extreme(kind, old, made)
    if value is None or any(one is not None for one, _ in value):
        return None
    return terms.added(ZERO if clear.value else old, terms.blurred(value))


def _number(tree: ast.expr) -> int | None:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None
