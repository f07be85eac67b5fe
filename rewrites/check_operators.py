"""Check every operator's rules and every index, and report all problems of a kernel together.

before:
    def fill(C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                C[i] = 1.0

after:
    def fill(C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                C[i] = 1.0
"""

import ast
from collections.abc import Iterator

from rewrites.environment import environment_of
from rewrites.errors import Problem, RewriteError
from rewrites.facts import Facts
from rewrites.outside_of_tiles import outside_of_tiles
from rewrites.tree import function_of, index_list, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Raise one error with all problems; a correct program is returned as it is."""
    problems = [problem for node in walk(tree) for problem in _problems(node, facts)]
    problems += outside_of_tiles(function_of(tree).body, facts)
    problems += _too_long(tree, facts)
    if problems:
        raise RewriteError(*problems)
    return tree


def _too_long(tree: ast.Module, facts: Facts) -> Iterator[Problem]:
    """Indices have 32 bits, so a dimension has less than 2³¹ elements."""
    known = environment_of(facts)
    for tensor in facts.tensors.values():
        for dimension, extent in enumerate(tensor.shape):
            length = known.range(extent).low
            if length is not None and length >= 2**31:
                yield Problem(
                    function_of(tree),
                    "T2T320",
                    f"dimension {dimension} of `{tensor.name}` has {length} elements",
                    hint="a dimension may have up to 2**31 - 1; split it in two",
                )


def _problems(node: ast.AST, facts: Facts) -> Iterator[Problem]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr=function)):
            if function in facts.operators:
                yield from facts.operators[function].check(node, facts)
        case ast.Subscript(value=ast.Name(id=buffer)):
            yield from _rank(node, buffer, facts)
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
            yield from _parallel_body(node, facts)


def _rank(node: ast.Subscript, buffer: str, facts: Facts) -> Iterator[Problem]:
    given = len(index_list(node))
    extents: tuple[ast.expr, ...] = ()
    if buffer in facts.tiles:
        extents = facts.tiles[buffer].trees
    elif buffer in facts.tensors:
        extents = facts.tensors[buffer].shape
    if extents and len(extents) != given:
        shape = ", ".join(ast.unparse(extent) for extent in extents)
        yield Problem(
            node,
            "T2T313",
            f"`{ast.unparse(node)}` has {given} indices, but `{buffer}` has {len(extents)} "
            "dimensions",
            (f"`{buffer}`: ({shape})",),
            "give one index for each dimension",
        )


def _parallel_body(loop: ast.For, facts: Facts) -> Iterator[Problem]:
    """Tile operators act on whole tiles and cannot stand in an element-wise loop."""
    for node in walk(loop):
        if node is loop or not isinstance(node, (ast.Expr, ast.For)):
            continue
        call = node.value if isinstance(node, ast.Expr) else node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        function = call.func.attr
        if function in ("Parallel", "parallel", "Pipelined"):
            yield Problem(
                call,
                "T2T314",
                f"T.{function} stands inside T.Parallel",
                hint="put all loop variables in one T.Parallel, or use T.serial inside it",
            )
        elif isinstance(node, ast.Expr) and function in _WHOLE_TILE:
            yield Problem(
                call,
                "T2T315",
                f"T.{function} acts on whole tiles and cannot stand inside T.Parallel",
                hint=f"move T.{function} out of the loop",
            )


_WHOLE_TILE = (
    "gemm",
    "fill",
    "clear",
    "reduce",
    "reduce_sum",
    "reduce_max",
    "reduce_min",
    "reduce_absmax",
    "reduce_abssum",
    "reduce_bitand",
    "reduce_bitor",
    "reduce_bitxor",
    "cumsum",
    "cummax",
    "reducer_init",
    "finalize_reducer",
)
