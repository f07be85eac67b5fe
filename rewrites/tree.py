"""Find the parts of a tile program's tree."""

import ast
from collections.abc import Iterator


def function_of(tree: ast.Module) -> ast.FunctionDef:
    """The one function of a tile program."""
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return function


def is_whole(function: ast.FunctionDef) -> bool:
    """Whether a function is a program on whole operands: it returns what it computes."""
    last = function.body[-1]
    return isinstance(last, ast.Return) and last.value is not None


def kernels_of(tree: ast.Module) -> list[ast.FunctionDef]:
    """The Triton kernels of a lowered module."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def walk(tree: ast.AST) -> list[ast.AST]:
    """The nodes of `ast.walk` without operators and contexts, in half of its time."""
    nodes = [tree]
    for node in nodes:
        for field in _BRANCHES[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


class _Branches(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node in which `walk` finds others."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        leaves = ("ctx", "op", "id", "attr", "arg", "kind", "lineno", "type_comment")
        fields = () if kind is ast.Constant else kind._fields
        found = self[kind] = tuple(field for field in fields if field not in leaves)
        return found


_BRANCHES = _Branches()


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in walk(tree) if isinstance(node, ast.Name)}


def loop_kind(statement: ast.AST) -> str:
    """`Parallel` of `for … in T.Parallel(…)`; empty where it is no loop over a call."""
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=name))):
            return name
    return ""


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists inside a statement: bodies and else branches."""
    for field in ("body", "orelse"):
        block = getattr(statement, field, None)
        if isinstance(block, list) and block:
            yield block


def operator_call(statement: ast.stmt, *functions: str) -> ast.Call | None:
    """The call of a statement `T.function(…)`, where it is one of `functions`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call) if (
            function in functions
        ):
            return call
    return None


def is_view(tree: ast.expr) -> bool:
    """Whether a tree is a T.reshape or T.view of a tile."""
    match tree:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr="reshape" | "view")):
            return True
    return False


def base_name(tree: ast.expr) -> str | None:
    """The buffer of an operand: `A` in `A` and in `A[i, lo:hi]`."""
    base = tree.value if isinstance(tree, ast.Subscript) else tree
    return base.id if isinstance(base, ast.Name) else None


def index_list(subscript: ast.Subscript) -> list[ast.expr]:
    """The index expressions of `buf[i, j]`."""
    if isinstance(subscript.slice, ast.Tuple):
        return list(subscript.slice.elts)
    return [subscript.slice]
