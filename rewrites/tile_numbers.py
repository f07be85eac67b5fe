"""Number the programs of a grid, and say which indices the one of a number has."""

import ast
import functools

from rewrites.environment import Names, environment_of
from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.hint_notes import note
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, name, stmts
from rewrites.tree import operator_call


def number_of_tiles(extents: list[ast.expr], facts: Facts) -> tuple[ast.expr, ast.expr]:
    """The product of a grid's extents, and the same in 64 bits where 32 may not hold it."""
    total = functools.reduce(lambda a, b: expr("a * b", a=a, b=b), map(copy_tree, extents))
    if not _is_wide(total, facts):
        return total, total
    first = expr('T.cast(extent, "int64")', extent=copy_tree(extents[0]))
    rest = map(copy_tree, extents[1:])
    return total, functools.reduce(lambda a, b: expr("a * b", a=a, b=b), [first, *rest])


def tile_indices(
    block: ast.With, tile: str, is_wide: bool, names: Names, facts: Facts
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What gives the variables of a grid their values for a tile's number, and the block's body.

    An order of programs that the body asks for becomes that of the numbers, which have 64 bits
    where they are wide.
    """
    header, target = block.items[0].context_expr, block.items[0].optional_vars
    assert isinstance(header, ast.Call) and target is not None
    variables = target.elts if isinstance(target, ast.Tuple) else [target]
    extents = header.args
    swizzles = [one for one in block.body if operator_call(one, "use_swizzle") is not None]
    indices, body = _without_swizzles(block.body)
    rest: ast.expr = name(tile)
    if swizzles and len(extents) > 1:
        made, rest = _panels(swizzles[0], tile, extents, variables, names, facts)
        indices += made
        note(facts, swizzles[0], ast.unparse(swizzles[0]), "native", "the order of the tiles")
        extents, variables = extents[2:], variables[2:]
    for number, (extent, variable) in enumerate(zip(extents, variables, strict=True), 1):
        is_last = number == len(extents)
        index = rest if is_last else expr("i % n", i=rest, n=copy_tree(extent))
        indices += stmts("target = tree", target=_identifier(variable), tree=index)
        rest = expr("i // n", i=copy_tree(rest), n=copy_tree(extent))
    if is_wide:
        indices = [_narrowed(one) for one in indices]
    return indices, body


def refuse_negative(extents: list[ast.expr], annotation: str, facts: Facts) -> None:
    """Two extents below 0 would give a number of tiles above it."""
    for extent in extents:
        low = environment_of(facts).range(extent).low
        if low is None or low < 0:
            raise refuse(
                extent,
                "T2T877",
                f"{annotation} counts tiles, but `{ast.unparse(extent)}` may be below 0",
                (),
                f"leave {annotation} out, or take the extents from shapes of tensors",
            )


def _is_wide(total: ast.expr, facts: Facts) -> bool:
    high = environment_of(facts).range(total).high
    return high is None or high >= 2**31


def _narrowed(statement: ast.stmt) -> ast.stmt:
    """An index of 32 bits along a dimension, of the number of a tile that may have more."""
    if isinstance(statement, ast.Assign):
        statement.value = expr('T.cast(index, "int32")', index=statement.value)
    return statement


def _without_swizzles(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The comments above T.use_swizzle, and what is left without both."""
    comments: list[ast.stmt] = []
    rest: list[ast.stmt] = []
    for statement in body:
        if operator_call(statement, "use_swizzle") is None:
            rest.append(statement)
            continue
        while rest and isinstance(rest[-1], Comment):
            comments.insert(0, rest.pop())
    return comments, rest


def _panels(
    swizzle: ast.stmt,
    tile: str,
    extents: list[ast.expr],
    variables: list[ast.expr],
    names: Names,
    facts: Facts,
) -> tuple[list[ast.stmt], ast.expr]:
    """The indices along the first two dimensions, in panels, and the number of the rest."""
    call = operator_call(swizzle, "use_swizzle")
    assert call is not None
    arguments = facts.operators["use_swizzle"].arguments(call)
    order = arguments["order"]
    is_by_columns = isinstance(order, ast.Constant) and order.value == "column"
    (columns, rows), (x, y) = extents[:2], map(_identifier, variables[:2])
    if is_by_columns:
        columns, rows, x, y = rows, columns, y, x
    trees = {"columns": columns, "rows": rows, "panel": arguments["panel_size"]}
    flat: ast.expr = name(tile)
    if len(extents) > 2:
        flat = expr(
            "t % (columns * rows)", t=tile, columns=copy_tree(columns), rows=copy_tree(rows)
        )
    made = stmts(
        "first = flat // (panel * columns) * panel\n"
        "height = T.min(rows - first, panel)\n"
        "inside = flat % (panel * columns)\n"
        "y = first + inside % height\n"
        "x = inside // height",
        first=names.fresh("panel_start"),
        height=names.fresh("panel_height"),
        inside=names.fresh("panel_tile"),
        flat=flat,
        x=x,
        y=y,
        **{key: copy_tree(tree) for key, tree in trees.items()},
    )
    rest = expr("t // (columns * rows)", t=tile, columns=copy_tree(columns), rows=copy_tree(rows))
    return made, rest


def _identifier(variable: ast.expr) -> str:
    assert isinstance(variable, ast.Name)
    return variable.id
