"""Join an `if`/`else` in T.Parallel whose branches store to one element into one store.

before:
    def pick(C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                if i < 8:
                    C[i] = 1.0
                else:
                    C[i] = 2.0

after:
    def pick(C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                C[i] = T.if_then_else(i < 8, T.cast(1.0, 'float32'), T.cast(2.0, 'float32'))
"""

import ast

from rewrites.facts import Facts
from rewrites.quote import expr, literal, place, stmts
from rewrites.tree import base_name, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Turn such branches into stores of `T.if_then_else`."""
    for node in walk(tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
                node.body = [_joined(statement, facts) for statement in node.body]
    return tree


def _stored(value: ast.expr, target: ast.Subscript, facts: Facts) -> ast.expr:
    """Each branch is stored in the destination's type, before the two are brought together."""
    buffer = base_name(target) or ""
    declared = facts.tiles.get(buffer) or facts.tensors.get(buffer)
    if declared is None:
        return value
    return expr("T.cast(value, dtype)", value=value, dtype=literal(declared.dtype))


def _joined(statement: ast.stmt, facts: Facts) -> ast.stmt:
    match statement:
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Subscript() as first], value=a)],
            orelse=[ast.Assign(targets=[ast.Subscript() as second], value=b)],
        ) if ast.unparse(first) == ast.unparse(second):
            (store,) = stmts(
                "target = T.if_then_else(test, a, b)",
                test=test,
                a=_stored(a, first, facts),
                b=_stored(b, first, facts),
            )
            assert isinstance(store, ast.Assign)
            store.targets = [first]
            return place(store, statement)
    return statement
