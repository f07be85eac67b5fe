"""Move a reduction of a tile behind the GEMM that reads the same tile transposed.

Triton 3.6.0 on Hopper computes that GEMM wrong, silently, when the reduction stands first in a
pipelined loop (`known_miscompiles.py`); in the other order it is right.

before:
    def sums(A: T.Tensor((512, 128), "float16"), s: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 128), "float16")
            total = T.alloc_fragment((128,), "float32")
            acc = T.alloc_fragment((128, 128), "float32")
            for k in T.Pipelined(8, num_stages=4):
                T.copy(A[k * 64, 0], a)
                T.reduce_sum(a, total, dim=0, clear=False)
                T.gemm(a, a, acc, transpose_A=True)

after:
    def sums(A: T.Tensor((512, 128), 'float16'), s: T.Tensor((128,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 128), 'float16')
            total = T.alloc_fragment((128,), 'float32')
            acc = T.alloc_fragment((128, 128), 'float32')
            for k in T.Pipelined(8, num_stages=4):
                T.copy(A[k * 64, 0], a)
                T.gemm(a, a, acc, transpose_A=True)
                T.reduce_sum(a, total, dim=0, clear=False)
"""

import ast

from rewrites.facts import Facts
from rewrites.quote import place
from rewrites.tree import base_name, function_of, names_in, operator_call, walk

REDUCTIONS = ("reduce", "reduce_sum", "reduce_max", "reduce_min", "reduce_absmax", "reduce_abssum")


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Reorder such reductions; where data flow forbids it, pipeline the loop by two stages."""
    for node in walk(function_of(tree)):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Pipelined")) as header):
                if not _reorder(node.body, facts):
                    _limit_stages(header)
    return tree


def _reorder(body: list[ast.stmt], facts: Facts) -> bool:
    """Move reductions behind their GEMMs; False where one has to stay in front."""
    settled = True
    for index in range(len(body) - 1, -1, -1):
        reduction = operator_call(body[index], *REDUCTIONS)
        if reduction is None:
            continue
        arguments = facts.operators["reduce_sum"].arguments(reduction)
        source, out = base_name(arguments["buffer"]), base_name(arguments["out"])
        gemm = _transposed_use(body, index, source, facts)
        if gemm is None:
            continue
        between = body[index + 1 : gemm + 1]
        if any(out in names_in(other) or _writes(other, source, facts) for other in between):
            settled = False
            continue
        body[index : gemm + 1] = [*between, body[index]]
    return settled


def _transposed_use(body: list[ast.stmt], start: int, tile: str | None, facts: Facts) -> int | None:
    """The last statement after `start` that multiplies the tile transposed."""
    found = None
    for index in range(start + 1, len(body)):
        call = operator_call(body[index], "gemm")
        if call is None:
            continue
        arguments = facts.operators["gemm"].arguments(call)
        for operand, flag in (("A", "transpose_A"), ("B", "transpose_B")):
            flagged = arguments[flag]
            is_set = isinstance(flagged, ast.Constant) and flagged.value
            if is_set and base_name(arguments[operand]) == tile:
                found = index
    return found


def _writes(statement: ast.stmt, tile: str | None, facts: Facts) -> bool:
    call = operator_call(statement, *facts.operators)
    if call is None:
        return tile in names_in(statement)
    assert isinstance(call.func, ast.Attribute)
    operator = facts.operators[call.func.attr]
    target = operator.arguments(call).get(operator.writes)
    return target is not None and base_name(target) == tile


def _limit_stages(header: ast.Call) -> None:
    for keyword in header.keywords:
        match keyword:
            case ast.keyword(arg="num_stages", value=ast.Constant(value=int(stages))):
                keyword.value = place(ast.Constant(min(stages, 2)), keyword.value)
