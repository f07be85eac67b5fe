"""Lower the stages of a loop whose copies would not fit into the target's shared memory.

Every stage holds a copy of the tiles that a GEMM reads. A number of stages is a hint: one that can
only fail to compile is lowered, with a comment that says so. No other number is touched.

before:
    def k(A: T.Tensor((128, 512), "float16"), B: T.Tensor((512, 256), "float16")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((128, 64), "float16")
            b = T.alloc_shared((64, 256), "float16")
            c = T.alloc_fragment((128, 256), "float32")
            for k in T.Pipelined(8, num_stages=6):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)

after:
    def k(A: T.Tensor((128, 512), 'float16'), B: T.Tensor((512, 256), 'float16')):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((128, 64), 'float16')
            b = T.alloc_shared((64, 256), 'float16')
            c = T.alloc_fragment((128, 256), 'float32')
            # 6 stages would take 240 KiB of shared memory or more; cuda:90 has 227 KiB.
            for k in T.Pipelined(8, num_stages=4):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
"""

import ast
import math
from collections.abc import Iterator

from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two
from rewrites.erasures import set_down
from rewrites.facts import Facts
from rewrites.hint_notes import note
from rewrites.nodes import Comment
from rewrites.quote import place
from rewrites.ranges import Range, range_of
from rewrites.tree import base_name, blocks_of, function_of, operator_call, walk

KIB = 1024


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Lower `num_stages` where it is certain that it does not fit."""
    function = function_of(tree)
    _fit(function.body, factors_of(function, facts), facts)
    return tree


def _fit(body: list[ast.stmt], operands: set[str], facts: Facts) -> None:
    for statement in list(body):
        for block in blocks_of(statement):
            _fit(block, operands, facts)
        match statement:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Pipelined")) as header):
                size = staged_bytes(statement.body, operands, facts)
                for keyword in header.keywords:
                    if size and keyword.arg == "num_stages":
                        said = _lower(keyword, size, facts)
                        if said:
                            comment = ast.copy_location(Comment(said), statement)
                            body.insert(body.index(statement), comment)


def _lower(keyword: ast.keyword, size: int, facts: Facts) -> str:
    """Lower a number of stages of `size` bytes each, if it must be; what is said of it."""
    stages, limit = _number(keyword.value, facts), facts.shared_memory
    # Triton's pipeliner makes one buffer less than stages, or as many under NVIDIA's wgmma.
    least = size * max(1, stages - 1)
    buffers = (limit - 1) // size
    fitting = max(1, buffers if facts.target.startswith("cuda") else buffers + bool(buffers))
    if least < limit or fitting >= stages:
        return ""
    said = (
        f"{stages} stages would take {least // KIB} KiB of shared memory or more; "
        f"{facts.target} has {limit // KIB} KiB."
    )
    set_down(facts, keyword, f"num_stages={stages}", f"{said} {fitting} are kept.")
    if not facts.stored:
        written, kept = f"T.Pipelined(…, num_stages={stages})", f"{fitting} of them: {said}"
        note(facts, keyword.value, written, "native", kept)
    keyword.value = place(ast.Constant(fitting), keyword.value)
    return said


def staged_bytes(body: list[ast.stmt], operands: set[str], facts: Facts) -> int:
    """The bytes of what GEMMs read and every turn of the loop copies or gathers from tensors."""
    moved = {target or "" for one in body for source, target in _moves(one, facts) if source}
    size = 0
    for name in sorted(operands & moved):
        tile = facts.tiles[name]
        lanes = math.prod(next_power_of_two(extent) for extent in tile.shape)
        size += lanes * bits(tile.dtype) // 8
    return size


def _moves(statement: ast.stmt, facts: Facts) -> Iterator[tuple[bool, str | None]]:
    """What a statement moves unchanged into a tile: whether from a tensor, and which tile."""
    call = operator_call(statement, "copy")
    if call is not None:
        arguments = facts.operators["copy"].arguments(call)
        yield base_name(arguments["src"]) in facts.tensors, base_name(arguments["dst"])
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
            for node in walk(statement):
                if isinstance(node, ast.Assign):
                    yield _gathers(node, facts), base_name(node.targets[0])


def _gathers(store: ast.Assign, facts: Facts) -> bool:
    """Whether elements of a tensor are stored to a tile as they are."""
    tile = facts.tiles.get(base_name(store.targets[0]) or "")
    tensor = facts.tensors.get(base_name(_chosen(store.value)) or "")
    # What is converted is staged as it was, and takes another size.
    return tile is not None and tensor is not None and tile.dtype == tensor.dtype


def _chosen(value: ast.expr) -> ast.expr:
    """The element that a guard lets through."""
    match value:
        case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[_, chosen, ast.Constant()]):
            return chosen
    return value


def factors_of(function: ast.FunctionDef, facts: Facts) -> set[str]:
    """The tiles that GEMMs read."""
    found: set[str] = set()
    for node in walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="gemm")):
                arguments = facts.operators["gemm"].arguments(node)
                found |= {base_name(arguments[one]) or "" for one in ("A", "B")}
    return found & facts.tiles.keys()


def _number(tree: ast.expr, facts: Facts) -> int:
    numbers = {
        name: Range(value, value)
        for name, value in facts.constants.items()
        if isinstance(value, int)
    }
    return range_of(tree, numbers).high or 0
