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
                C[i] = T.if_then_else(i < 8, 1.0, 2.0)
"""

import ast

from rewrites.facts import Facts
from rewrites.quote import place, stmts
from rewrites.tree import walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Turn such branches into stores of `T.if_then_else`."""
    for node in walk(tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
                node.body = [_joined(statement) for statement in node.body]
    return tree


def _joined(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Subscript() as first], value=a)],
            orelse=[ast.Assign(targets=[ast.Subscript() as second], value=b)],
        ) if ast.unparse(first) == ast.unparse(second):
            (store,) = stmts("target = T.if_then_else(test, a, b)", test=test, a=a, b=b)
            assert isinstance(store, ast.Assign)
            store.targets = [first]
            return place(store, statement)
    return statement
