"""Find the loop of a T.Kernel block whose turns are shared out: one, or several ranges of one."""

import ast
from collections.abc import Mapping

from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import loop_kind, names_in

KINDS = ("Pipelined", "serial")


def loop_ranges(block: ast.With, splits: Mapping[str, int], facts: Facts) -> list[ast.For]:
    """The loops of a block that are meant: those of a name, those with stages, or all.

    Several are ranges of one loop where each goes on with what the one before it carries.
    """
    loops = [one for one in block.body if isinstance(one, ast.For) and loop_kind(one) in KINDS]
    wanted = {one for one in splits if one}
    if wanted:
        loops = [one for one in loops if written_name(one.target, facts) in wanted]
    else:
        loops = [one for one in loops if has_stages(one)] or loops
    ranges = loops[:1]
    for loop in loops[1:]:
        body = block.body
        between = body[body.index(ranges[-1]) + 1 : body.index(loop)]
        if not _goes_on(loop, ranges, between, facts):
            break
        ranges.append(loop)
    return ranges


def has_stages(loop: ast.For) -> bool:
    return loop_kind(loop) == "Pipelined"


def _goes_on(loop: ast.For, ranges: list[ast.For], between: list[ast.stmt], facts: Facts) -> bool:
    """Whether a loop does nothing but to go on with what others carry, as they left it."""
    carried = _memory(set().union(*(changed_names(one, facts) for one in ranges)), facts)
    used = set().union(*(names_in(one) for one in between if not _declares(one, facts)))
    own = changed_names(loop, facts)
    is_as_left = not _memory(used, facts) & carried and not own & facts.tensors.keys()
    return is_as_left and bool(_memory(own, facts) & carried)


def _memory(names: set[str], facts: Facts) -> set[str]:
    """The tiles, by whatever name, and variables among names."""
    tiles = {facts.tiles[one].storage for one in names if one in facts.tiles}
    return tiles | {one for one in names if one in facts.variables}


def written_name(target: ast.expr, facts: Facts) -> str:
    """What the user calls a loop's variable."""
    assert isinstance(target, ast.Name)
    return facts.written_names.get(target.id, target.id)


def _declares(statement: ast.stmt, facts: Facts) -> bool:
    match statement:
        case Comment() | Blank():
            return True
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr=called))) if (
            called in facts.operators
        ):
            return facts.operators[called].kind == "allocation"
    return False
