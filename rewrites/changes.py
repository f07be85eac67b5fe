"""Which names a statement gives new values."""

import ast

from rewrites.facts import Facts
from rewrites.tree import base_name, walk


def changed_names(statement: ast.AST, facts: Facts) -> set[str]:
    """The variables, loop variables, tiles and tensors that a statement writes."""
    changed: set[str | None] = set()
    for node in walk(statement):
        match node:
            case (
                ast.Assign(targets=[target])
                | ast.AugAssign(target=target)
                | ast.For(target=ast.Name() as target)
            ):
                changed.add(base_name(target))
            case ast.For(target=ast.Tuple(elts=targets)):
                changed |= {base_name(target) for target in targets}
            case ast.Call(func=ast.Attribute(attr=function)):
                operator = facts.operators.get(function)
                if operator is not None and operator.writes:
                    changed.add(base_name(operator.arguments(node)[operator.writes]))
    return {name for name in changed if name is not None}


def stored_tensors(tree: ast.AST, facts: Facts) -> set[str]:
    """The tensors that a statement stores to; one that it says the memory of is none of them."""
    said = {
        node.targets[0].id
        for node in walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return (changed_names(tree, facts) & facts.tensors.keys()) - said
