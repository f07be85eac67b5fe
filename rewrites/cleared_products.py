"""Products that are added to a tile of zeros, which they need not read."""

import ast

from rewrites.environment import Environment
from rewrites.facts import Facts
from rewrites.quote import place
from rewrites.tree import blocks_of, index_list, loop_kind, names_in, operator_call


def clear_products(body: list[ast.stmt], known: Environment, facts: Facts) -> None:
    """Let products clear the tiles that loops fill with zeros in front of them."""
    for at, statement in reversed(list(enumerate(body))):
        for block in blocks_of(statement):
            clear_products(block, known, facts)
        tile = _zeroed(statement, known, facts)
        users = [one for one in body[at + 1 :] if tile in names_in(one)]
        call = operator_call(users[0], "gemm") if users else None
        if tile is None or call is None:
            continue
        arguments = facts.operators["gemm"].arguments(call)
        factors = names_in(arguments["A"]) | names_in(arguments["B"])
        if isinstance(arguments["C"], ast.Name) and tile not in factors:
            kept = [one for one in call.keywords if one.arg != "clear_accum"]
            call.keywords = [*kept, ast.keyword("clear_accum", ast.Constant(True))]
            place(call, users[0])
            del body[at]


def _zeroed(statement: ast.stmt, known: Environment, facts: Facts) -> str | None:
    """The tile all of whose elements a loop over T.Parallel sets to 0."""
    match statement:
        case ast.For(
            target=target,
            iter=ast.Call(args=extents),
            body=[
                ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=name)) as stored],
                    value=ast.Constant(value=0),
                )
            ],
        ) if loop_kind(statement) == "Parallel" and name in facts.tiles:
            variables = target.elts if isinstance(target, ast.Tuple) else [target]
            is_plain = [ast.unparse(one) for one in index_list(stored)] == [
                ast.unparse(one) for one in variables
            ]
            covered = [known.range(extent).low for extent in extents]
            return name if is_plain and covered == [*facts.tiles[name].shape] else None
    return None
