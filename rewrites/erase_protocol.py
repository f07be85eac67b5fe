"""Leave out barriers, waits and fences, and make asynchronous copies and products plain ones.

The statements are in one order (`sequence_roles`), which keeps the order of every thread's own. If
every wait in it is satisfied by what stands before (`prove_waits`), then it is one of the orders in
which the threads may run. If the waits also order all accesses of different threads to one memory
(`role_races`), then the result is the same in all of them.

before:
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            full = T.alloc_barrier((128,))
            tile = T.alloc_shared((64,), "float32")
            T.tma_copy(A, tile, barrier=full)
            T.mbarrier_arrive(full, count=128)
            T.mbarrier_wait_parity(full, 0)
            T.copy(tile, C)

after:
    def k(A: T.Tensor((64,), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((64,), 'float32')
            T.copy(A, tile)
            T.copy(tile, C)
"""

import ast

from rewrites.barriers import ARRIVALS, WAITS
from rewrites.erasures import set_down
from rewrites.facts import Facts
from rewrites.nodes import Comment
from rewrites.prove_waits import prove
from rewrites.threads import kernel_blocks, thread_count, threads_of
from rewrites.tree import blocks_of, function_of, walk

PLAIN = {
    "async_copy": "copy",
    "tma_copy": "copy",
    "wgmma_gemm": "gemm",
    "tcgen05_gemm": "gemm",
}
# What plain copies and products do not take.
# What T.copy prefers where it stands for T.async_copy.
ASYNCHRONOUS = "async_copy"
DROPPED = ("barrier", "cluster_mask", "leader_scope_threads", "mbar", "use_2cta")
REASONS = {
    **dict.fromkeys(WAITS, "proved: what stands before it satisfies it"),
    **dict.fromkeys(ARRIVALS, "every wait for it is proved to be satisfied"),
    "tcgen05_mma_arrive": "every wait for it is proved to be satisfied",
    "alloc_barrier": "all waits are proved to be satisfied in the order of the text",
    "async_copy": "a copy that is complete where it stands",
    "tma_copy": "a copy that is complete where it stands",
    "wgmma_gemm": "a product that is complete where it stands",
    "tcgen05_gemm": "a product that is complete where it stands",
}
FENCE = "copies and products are complete where they stand"


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Prove the waits of every T.Kernel block, then drop what only orders threads."""
    for block in kernel_blocks(function_of(tree)):
        everybody = (1 << thread_count(block, facts)) - 1
        is_shared_out = any(
            threads_of(node, everybody) != everybody
            for node in walk(block)
            if isinstance(node, ast.stmt)
        )
        if facts.barriers or is_shared_out:
            prove(block, everybody, facts)
        block.body = _without_protocol(block.body, facts) or [ast.Pass()]
    return tree


def _without_protocol(body: list[ast.stmt], facts: Facts) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for statement in body:
        for inner in blocks_of(statement):
            inner[:] = _without_protocol(inner, facts)
        if isinstance(statement, (ast.For, ast.While, ast.With, ast.If)) and not statement.body:
            if not (isinstance(statement, ast.If) and statement.orelse):
                continue
            statement.body = [ast.copy_location(ast.Pass(), statement)]
        call = _called(statement)
        if call is not None and _is_protocol(call, facts):
            assert isinstance(call.func, ast.Attribute)
            function = call.func.attr
            set_down(facts, statement, _as_written(call), REASONS.get(function, FENCE))
            # A comment on it says nothing about what comes next.
            while result and isinstance(result[-1], Comment):
                result.pop()
            continue
        _make_plain(statement, facts)
        result.append(statement)
    return result


def _called(statement: ast.stmt) -> ast.Call | None:
    match statement:
        case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
            return call
    return None


def _is_protocol(call: ast.Call, facts: Facts) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    operator = facts.operators.get(call.func.attr)
    return operator is not None and (
        operator.kind == "protocol" or operator.name == "alloc_barrier"
    )


def _make_plain(statement: ast.stmt, facts: Facts) -> None:
    """`T.tma_copy` is T.copy, a product with a barrier is one without, tensor memory is a tile."""
    for node in walk(statement) if not isinstance(statement, (ast.For, ast.While, ast.If)) else ():
        match node:
            case ast.Call(func=ast.Attribute(attr=function) as called) if function in PLAIN:
                set_down(facts, node, _as_written(node), REASONS[function])
                called.attr = PLAIN[function]
                node.keywords = [k for k in node.keywords if k.arg not in DROPPED]
                if function == "async_copy":
                    said = ast.keyword("prefer_instruction", ast.Constant(ASYNCHRONOUS))
                    node.keywords.append(said)
            case ast.Call(func=ast.Attribute(attr="alloc_tmem") as called):
                set_down(facts, node, "T.alloc_tmem(…)", "tensor memory is a tile as any other")
                called.attr = "alloc_fragment"
            case ast.Call(func=ast.Attribute(attr="gemm")):
                node.keywords = [k for k in node.keywords if k.arg != "mbar"]


def _as_written(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    words = [ast.unparse(argument) for argument in call.args]
    return f"T.{call.func.attr}({', '.join(words)})"
