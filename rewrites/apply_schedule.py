"""Give a kernel with T.Kernel the threads, stages and order of programs that its schedule says.

before:
    def k(A: T.Tensor((256, 64), "float16"), C: T.Tensor((256, 64), "float16")):
        with T.Kernel(4, 2, threads=128) as (bx, by):
            a = T.alloc_fragment((64,), "float16")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[by * 4 + bx, 0], a)
                T.copy(a, C[by * 4 + bx, 0])

after:
    def k(A: T.Tensor((256, 64), 'float16'), C: T.Tensor((256, 64), 'float16')):
        with T.Kernel(4, 2, threads=128) as (bx, by):
            a = T.alloc_fragment((64,), 'float16')
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[by * 4 + bx, 0], a)
                T.copy(a, C[by * 4 + bx, 0])
"""

import ast

from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.quote import literal, place, stmts
from rewrites.tree import function_of, operator_call, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Change what the schedule says; a schedule that says nothing changes nothing."""
    schedule = facts.schedule
    function = function_of(tree)
    for statement in function.body:
        if isinstance(statement, ast.With):
            _refuse_what_is_for_operands(statement, facts)
            if schedule.threads is not None:
                _set_keyword(_header(statement), "threads", schedule.threads)
    grids = [one for one in function.body if isinstance(one, ast.With)]
    if schedule.swizzle is not None:
        _set_swizzles(grids, function, schedule.swizzle)
    if schedule.num_stages is not None:
        _set_stages(function, schedule.num_stages)
    return tree


def _set_swizzles(grids: list[ast.With], function: ast.FunctionDef, panel: int) -> None:
    """Panels of programs; a grid of one dimension has none."""
    wide = [grid for grid in grids if len(_header(grid).args) > 1]
    if not wide:
        raise _idle(function, "T.swizzle", "its grid has one dimension")
    for grid in wide:
        _set_swizzle(grid, panel)


def _set_stages(function: ast.FunctionDef, num_stages: int) -> None:
    loops = [
        node.iter
        for node in walk(function)
        if isinstance(node, ast.For)
        and isinstance(node.iter, ast.Call)
        and isinstance(node.iter.func, ast.Attribute)
        and node.iter.func.attr == "Pipelined"
    ]
    if not loops:
        raise _idle(function, "T.pipeline", "it has no loop over T.Pipelined(…)")
    for loop in loops:
        _set_keyword(loop, "num_stages", num_stages)


def _idle(function: ast.FunctionDef, annotation: str, why: str) -> RewriteError:
    return refuse(
        function,
        "T2T840",
        f"{annotation} changes nothing in this kernel: {why}",
        (),
        "leave it out of the schedule of this kernel",
    )


def _header(block: ast.With) -> ast.Call:
    call = block.items[0].context_expr
    assert isinstance(call, ast.Call)
    return call


def _set_keyword(call: ast.Call, name: str, value: int) -> None:
    made = place(literal(value), call)
    for keyword in call.keywords:
        if keyword.arg == name:
            keyword.value = made
            return
    call.keywords.append(ast.copy_location(ast.keyword(name, made), call))


def _set_swizzle(block: ast.With, panel: int) -> None:
    """Panels instead of those that the program asks for."""
    rest = [one for one in block.body if operator_call(one, "use_swizzle") is None]
    (swizzle,) = stmts("T.use_swizzle(panel)", panel=literal(panel))
    block.body = [place(swizzle, block), *rest]


def _refuse_what_is_for_operands(block: ast.With, facts: Facts) -> None:
    schedule = facts.schedule
    for name in schedule.tiles:
        if name not in facts.constants:
            raise refuse(
                block,
                "T2T876",
                f"the schedule says `{name}`, which is no tile size of this kernel",
                (f"its constants: {', '.join(facts.constants) or 'none'}",),
                "T.tile names parameters of the kernel, such as T.tile(block_M=64)",
            )
    said = {
        "T.recompute": schedule.recompute,
        "T.vectorize": schedule.width is not None,
    }
    for name, is_said in said.items():
        if is_said:
            raise refuse(
                block,
                "T2T877",
                f"{name} is for programs on whole operands, and this kernel has a grid of its own",
                (),
                "write it into the kernel: its grid and its loops say how the work is shared out",
            )
