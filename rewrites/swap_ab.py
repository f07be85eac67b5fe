"""Compute a product's transpose where its second factor is made in registers.

Hopper's wgmma reads its first factor from registers or shared memory, and its second one from
shared memory only. A second factor that is computed, such as unpacked weights, would have to be
stored there in every turn of a loop: as the first factor of (bᵀ aᵀ) it stays where it is.

So are products made whose second factor ptxas would lose (`turned_products.py`), where nothing but
products is added to their sum until it is complete; others are turned round one by one.

before with swap_ab=1:
    def k(A: T.Tensor((64, 512), "float16"), B: T.Tensor((512, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            twice = T.alloc_fragment((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                for i, j in T.Parallel(64, 64):
                    twice[i, j] = b[i, j] * 2
                T.gemm(a, twice, c)
            T.copy(c, C[0, 0])

after:
    def k(A: T.Tensor((64, 512), 'float16'), B: T.Tensor((512, 64), 'float16'), C: T.Tensor((64, 64), 'float16')):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 64), 'float16')
            b = T.alloc_shared((64, 64), 'float16')
            twice = T.alloc_fragment((64, 64), 'float16')
            c = T.alloc_fragment((64, 64), 'float32')
            c_transposed = T.alloc_fragment((64, 64), 'float32')
            T.clear(c_transposed)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                for i, j in T.Parallel(64, 64):
                    twice[i, j] = b[i, j] * 2
                T.gemm(twice, a, c_transposed, transpose_A=True, transpose_B=True)
            T.transpose(c_transposed, c)
            T.copy(c, C[0, 0])
"""  # noqa: E501

import ast
from collections.abc import Iterator
from dataclasses import replace

from rewrites.dtypes import bits
from rewrites.environment import Names
from rewrites.facts import Facts, Tile
from rewrites.hint_notes import WRITTEN
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, literal, place, stmts
from rewrites.tree import base_name, blocks_of, function_of, names_in, operator_call, walk
from rewrites.turned_products import loaded_and_computed, turned_products

_EXCHANGED = {"FullRow": "FullCol", "FullCol": "FullRow"}


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Exchange the factors of products that the schedule asks for, or that ptxas would lose."""
    if facts.target != "cuda:90":
        return tree
    names = Names.of(tree, facts)
    function = function_of(tree)
    turned = turned_products(function, facts)
    for block in function.body:
        if isinstance(block, ast.With):
            products = _products(block, facts)
            loaded, computed = loaded_and_computed(block, facts)
            for accumulator, calls in products.items():
                if all(id(call) in turned for call in calls):
                    lost = [
                        ast.unparse(facts.operators["gemm"].arguments(one)["B"]) for one in calls
                    ]
                    said = f"Turned round: ptxas 12.8 may lose where {' and '.join(lost)} lies."
                    _swap(block, accumulator, names, facts, said)
                elif facts.schedule.swap_ab and _is_computed(calls, loaded, computed, facts):
                    if _swap(block, accumulator, names, facts):
                        facts.swapped.append(accumulator)
    return tree


def _lost(calls: list[ast.Call], facts: Facts) -> str:
    sides = [facts.operators["gemm"].arguments(call)["B"] for call in calls]
    seconds = " or ".join(dict.fromkeys(ast.unparse(side) for side in sides))
    return f"Turned round: ptxas 12.8 may lose where {seconds} lies."


def _products(block: ast.With, facts: Facts) -> dict[str, list[ast.Call]]:
    """The products of whole tiles that are added to each tile of two dimensions."""
    found: dict[str, list[ast.Call]] = {}
    for node in walk(block):
        match node:
            case ast.Call(func=ast.Attribute(attr="gemm")):
                target = facts.operators["gemm"].arguments(node)["C"]
                found.setdefault(base_name(target) or "", []).append(node)
    return {name: calls for name, calls in found.items() if _is_plain(name, calls, facts)}


def _is_plain(accumulator: str, calls: list[ast.Call], facts: Facts) -> bool:
    tile = facts.tiles.get(accumulator)
    if tile is None or tile.rank != 2 or tile.base or tile.scope != "fragment":
        return False
    sides = [facts.operators["gemm"].arguments(call) for call in calls]
    return all(isinstance(one[key], ast.Name) for one in sides for key in "ABC")


def _is_computed(calls: list[ast.Call], loaded: set[str], computed: set[str], facts: Facts) -> bool:
    """Whether all products have a first factor that is loaded and a second one that is computed."""
    sides = [facts.operators["gemm"].arguments(call) for call in calls]
    firsts = {base_name(one["A"]) or "" for one in sides}
    seconds = {base_name(one["B"]) or "" for one in sides}
    is_readable = all(_is_readable(one, facts) for one in sides)
    return is_readable and firsts <= loaded - computed and seconds <= computed - loaded


def _is_readable(sides: dict[str, ast.expr], facts: Facts) -> bool:
    """Whether wgmma reads the first factor as its second one: other than 16 bits along k only."""
    tile = facts.tiles[base_name(sides["A"]) or ""]
    return bits(tile.dtype) == 16 or not _is_set(sides["transpose_A"])


def _swap(block: ast.With, accumulator: str, names: Names, facts: Facts, remark: str = "") -> bool:
    """Put the transpose in the place of an accumulator, up to where the sum is complete.

    Nothing changes where something else is done with it before.
    """
    body = _home(block.body, accumulator)
    uses = [at for at, one in enumerate(body) if accumulator in names_in(one)]
    sums = [at for at in uses if _gemms(body[at], accumulator)]
    first, last = uses[0], sums[-1]
    declaration = body[first]
    before = [body[at] for at in uses if first < at <= last]
    if not isinstance(declaration, ast.Assign) or not all(
        _is_sum(one, accumulator, facts) for one in before
    ):
        return False
    made = names.fresh(f"{accumulator}_transposed")
    tile = facts.tiles[accumulator]
    facts.tiles[made] = replace(tile, name=made, shape=tile.shape[::-1], trees=tile.trees[::-1])
    for statement in before:
        _exchange(statement, accumulator, made, facts)
    (transposed,) = stmts("T.transpose(made, accumulator)", made=made, accumulator=accumulator)
    body.insert(last + 1, place(transposed, body[last]))
    facts.transposed_sums.add(made)
    if remark:
        body.insert(first + 1, ast.copy_location(Comment(remark), body[first]))
    body.insert(first + 1, _declared(declaration, facts.tiles[made]))
    return True


def _home(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """The innermost block that has all uses of a name."""
    uses = [statement for statement in body if name in names_in(statement)]
    if len(uses) == 1:
        for inner in blocks_of(uses[0]):
            if any(name in names_in(statement) for statement in inner):
                return _home(inner, name)
    return body


def _gemms(statement: ast.stmt, accumulator: str) -> bool:
    return any(
        isinstance(node, ast.stmt)
        and operator_call(node, "gemm") is not None
        and accumulator in names_in(node)
        for node in walk(statement)
    )


def _is_sum(statement: ast.stmt, accumulator: str, facts: Facts) -> bool:
    """Whether all that it does with the accumulator is to fill it and to add products to it."""
    if accumulator not in names_in(statement):
        return True
    blocks = list(blocks_of(statement))
    if blocks:
        header = {name for part in _headers(statement) for name in names_in(part)}
        return accumulator not in header and all(
            _is_sum(inner, accumulator, facts) for block in blocks for inner in block
        )
    call = operator_call(statement, "gemm", "clear", "fill")
    if call is None:
        return False
    named = [node for node in walk(call) if isinstance(node, ast.Name) and node.id == accumulator]
    return len(named) == 1 and any(argument is named[0] for argument in call.args)


def _headers(statement: ast.stmt) -> Iterator[ast.AST]:
    for field in ("target", "iter", "test", "items"):
        part = getattr(statement, field, None)
        if isinstance(part, list):
            yield from part
        elif part is not None:
            yield part


def _exchange(statement: ast.stmt, accumulator: str, made: str, facts: Facts) -> None:
    """Name the transpose in fills, and exchange the factors of products."""
    for node in walk(statement):
        if not isinstance(node, ast.stmt) or accumulator not in names_in(node):
            continue
        call = operator_call(node, "gemm", "clear", "fill")
        if call is None:
            continue
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr != "gemm":
            call.args = [
                ast.Name(made, ast.Load()) if base_name(one) == accumulator else one
                for one in call.args
            ]
            continue
        sides = facts.operators["gemm"].arguments(call)
        call.__dict__[WRITTEN] = copy_tree(call)
        call.args = [sides["B"], sides["A"], ast.Name(made, ast.Load())]
        flags = {"transpose_A": not _is_set(sides["transpose_B"])}
        flags |= {"transpose_B": not _is_set(sides["transpose_A"])}
        rest = {
            keyword.arg: keyword.value
            for keyword in call.keywords
            if keyword.arg not in (*"ABC", *flags)
        }
        call.keywords = [ast.keyword(key, literal(True)) for key, value in flags.items() if value]
        for key, value in rest.items():
            if key == "policy" and isinstance(value, ast.Constant):
                policy = str(value.value)
                value = ast.copy_location(ast.Constant(_EXCHANGED.get(policy, policy)), value)
            call.keywords.append(ast.keyword(key, value))
        place(node, node)


def _is_set(flag: ast.expr) -> bool:
    return isinstance(flag, ast.Constant) and bool(flag.value)


def _declared(declaration: ast.Assign, tile: Tile) -> ast.stmt:
    made = copy_tree(declaration)
    assert isinstance(made.value, ast.Call)
    made.targets = [ast.Name(tile.name, ast.Store())]
    made.value.args[0] = ast.Tuple([copy_tree(extent) for extent in tile.trees], ast.Load())
    return place(made, declaration)
