"""Move a reduction of a tile behind the GEMM that reads the same tile transposed.

Triton 3.6.0 on Hopper computes that GEMM wrong, silently, when the reduction stands first in a
pipelined loop that loads the tile (`known_miscompiles.py`); in the other order it is right. Where
the reduction, or any other use of the tile's value (an element-wise loop, a cast), has to stay in
front, the loop is pipelined by two stages at most, which was not seen to go wrong.

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

from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.quote import place
from rewrites.ranges import Range, range_of
from rewrites.tree import base_name, function_of, is_view, names_in, operator_call, walk

REDUCTIONS = ("reduce", "reduce_sum", "reduce_max", "reduce_min", "reduce_absmax", "reduce_abssum")
MOST_STAGES = 2


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Reorder such reductions; a loop where a use has to stay in front keeps to two stages."""
    for node in walk(function_of(tree)):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Pipelined")) as header):
                turned = _transposed(node, facts)
                if not turned:
                    continue
                _reorder(node.body, facts)
                loaded = [tiles for tiles in _loaded(node, facts) if tiles & turned]
                if any(_is_used_before(node.body, tiles, facts) for tiles in loaded):
                    _limit_stages(header, facts)
    return tree


def _reorder(body: list[ast.stmt], facts: Facts) -> None:
    """Move reductions behind the last GEMM that reads their tile transposed, where they may."""
    for index in range(len(body) - 1, -1, -1):
        reduction = operator_call(body[index], *REDUCTIONS)
        if reduction is None:
            continue
        arguments = facts.operators["reduce_sum"].arguments(reduction)
        source, out = base_name(arguments["buffer"]), base_name(arguments["out"])
        later = range(index + 1, len(body))
        gemms = [n for n in later if source in _transposed(body[n], facts)]
        if not gemms:
            continue
        between = body[index + 1 : gemms[-1] + 1]
        read = names_in(reduction)
        if any(out in names_in(other) or read & changed_names(other, facts) for other in between):
            continue
        body[index : gemms[-1] + 1] = [*between, body[index]]


def _loaded(loop: ast.For, facts: Facts) -> list[set[str]]:
    """The tiles that the loop loads, each with the tiles that are other names of its value."""
    groups: list[set[str]] = []
    renamed: list[set[str]] = []
    for node in walk(loop):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="copy")) as call):
                arguments = facts.operators["copy"].arguments(call)
                source, target = base_name(arguments["src"]), base_name(arguments["dst"])
                if source in facts.tensors and target in facts.tiles:
                    groups.append({target})
                elif source is not None and target is not None and _is_rename(call, facts):
                    renamed.append({source, target})
            case ast.Assign(
                targets=[ast.Name(id=viewed)], value=ast.Call(args=[ast.Name(id=source), *_])
            ) if is_view(node.value):
                renamed.append({source, viewed})
            case ast.Assign(targets=[ast.Subscript() as element], value=value):
                target = base_name(element)
                if target in facts.tiles and names_in(value) & facts.tensors.keys():
                    groups.append({target})
    for group in groups:
        for _ in renamed:
            for pair in renamed:
                if group & pair:
                    group |= pair
    return groups


def _is_used_before(body: list[ast.stmt], tiles: set[str], facts: Facts) -> bool:
    """Whether a GEMM reads one of the tiles transposed behind another use of their value."""
    used = False
    for statement in body:
        is_compound = isinstance(statement, (ast.For, ast.While, ast.If))
        # Inside of an inner loop, what stands behind the GEMM is before its next turn.
        used_here = is_compound and _is_used(statement, tiles, facts)
        if (used or used_here) and _transposed(statement, facts) & tiles:
            return True
        used = used or _is_used(statement, tiles, facts)
    return False


def _is_used(statement: ast.stmt, tiles: set[str], facts: Facts) -> bool:
    """Whether a statement needs the value of one of the tiles other than as a GEMM's operand."""
    spared: set[int] = set()
    for node in walk(statement):
        match node:
            case ast.Assign(targets=[target]):
                spared.add(_base(target))
            case ast.Call(func=ast.Attribute(attr=function)):
                operator = facts.operators.get(function)
                if operator is None:
                    continue
                arguments = operator.arguments(node)
                if operator.name == "gemm":
                    spared |= {_base(arguments["A"]), _base(arguments["B"])}
                if operator.kind == "hint" or _is_rename(node, facts):
                    spared |= {id(inner) for inner in walk(node)}
                if operator.writes and not operator.keeps(arguments):
                    spared.add(_base(arguments[operator.writes]))
    return any(
        isinstance(node, ast.Name) and node.id in tiles and id(node) not in spared
        for node in walk(statement)
    )


def _transposed(statement: ast.stmt, facts: Facts) -> set[str]:
    """The tiles that GEMMs of a statement read transposed."""
    found: set[str] = set()
    for node in walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(attr="gemm")):
                arguments = facts.operators["gemm"].arguments(node)
                for operand, flag in (("A", "transpose_A"), ("B", "transpose_B")):
                    flagged = arguments[flag]
                    if not isinstance(flagged, ast.Constant) or flagged.value:
                        found.add(base_name(arguments[operand]) or "")
    return found


def _is_rename(call: ast.Call, facts: Facts) -> bool:
    """Whether a copy only gives the value of a whole tile another name."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="copy"), args=[ast.Name(id=source), ast.Name(id=target)]
        ):
            one, other = facts.tiles.get(source), facts.tiles.get(target)
            if one is not None and other is not None:
                return (one.shape, one.dtype) == (other.shape, other.dtype)
    return False


def _base(operand: ast.expr) -> int:
    return id(operand.value if isinstance(operand, ast.Subscript) else operand)


def _limit_stages(header: ast.Call, facts: Facts) -> None:
    numbers = {
        name: Range(value, value)
        for name, value in facts.constants.items()
        if isinstance(value, int)
    }
    for keyword in header.keywords:
        if keyword.arg == "num_stages":
            most = range_of(keyword.value, numbers).high
            # A number, not a name: constants of an emitted file may be edited.
            stages = MOST_STAGES if most is None else min(most, MOST_STAGES)
            keyword.value = place(ast.Constant(stages), keyword.value)
