"""End a T.Kernel block where its programs wait for each other, and go on in another launch.

Launches follow each other, so that all programs see what all others have written before. What a
program has on the chip is gone: declarations and lets are said again, but values of tiles and
variables cannot be kept.

before:
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            start = bx * 32
            tile = T.alloc_fragment((32,), "float32")
            T.copy(A[start], C[start])
            T.sync_grid()
            T.copy(C[32 - start], tile)
            T.copy(tile, A[start])

after:
    def k(A: T.Tensor((64,), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(2, threads=128) as bx:
            start = bx * 32
            T.copy(A[start], C[start])
        with T.Kernel(2, threads=128) as bx:
            start = bx * 32
            tile = T.alloc_fragment((32,), 'float32')
            T.copy(C[32 - start], tile)
            T.copy(tile, A[start])
"""

import ast

from rewrites.changes import changed_names
from rewrites.erasures import set_down
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.hoist_first_values import Flow
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree
from rewrites.role_places import storage_of
from rewrites.tree import function_of, is_view, names_in, operator_call, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Make several T.Kernel blocks of each that holds `T.sync_grid()`."""
    function = function_of(tree)
    body: list[ast.stmt] = []
    for statement in function.body:
        if isinstance(statement, ast.With) and _syncs(statement):
            body += _launches(statement, facts)
        else:
            body.append(statement)
    function.body = body
    return tree


def _syncs(tree: ast.AST) -> list[ast.stmt]:
    return [
        node
        for node in walk(tree)
        if isinstance(node, ast.stmt) and operator_call(node, "sync_grid") is not None
    ]


def _launches(kernel: ast.With, facts: Facts) -> list[ast.stmt]:
    parts: list[list[ast.stmt]] = [[]]
    for statement in kernel.body:
        if operator_call(statement, "sync_grid") is not None:
            set_down(facts, statement, "T.sync_grid()", "what follows is a launch of its own")
            parts.append([])
            continue
        inside = _syncs(statement)
        if inside:
            raise refuse(
                inside[0],
                "T2T717",
                "T.sync_grid stands in a loop or branch, where the kernel cannot be launched anew",
                (),
                "let it stand in the T.Kernel block itself, or use a kernel for each turn",
            )
        parts[-1].append(statement)
    result: list[ast.stmt] = []
    before: list[ast.stmt] = []
    for part in parts:
        made = ast.copy_location(ast.With(kernel.items, [], None), kernel)
        made = copy_tree(made)
        made.body = [*_said_again(before, part, facts), *part] if before else part
        _refuse_kept(before, made.body, part, facts)
        before += part
        result.append(made)
    for launch in result:
        assert isinstance(launch, ast.With)
        launch.body = _used(launch.body, facts) or [ast.Pass()]
    if len(result) == 1:
        return result
    return [launch for launch in result if _does_something(launch, facts)]


def _said_again(before: list[ast.stmt], part: list[ast.stmt], facts: Facts) -> list[ast.stmt]:
    """The declarations and lets of earlier parts that this one uses."""
    wanted = names_in(ast.Module(part, []))
    memory = facts.tiles.keys() | facts.tensors.keys() | facts.variables.keys()
    result: list[ast.stmt] = []
    for statement in reversed(before):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in wanted:
                if not _is_declaration(value, facts) and name not in facts.variables:
                    if names_in(value) & memory:
                        raise _kept(part, name, statement)
                elif name in facts.variables and not _is_declaration(value, facts):
                    continue
                wanted |= names_in(value)
                result.insert(0, copy_tree(statement))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
                operator = facts.operators.get(function)
                on_chip = names_in(call) & (facts.tiles.keys() | facts.variables.keys())
                if operator is not None and operator.kind == "hint" and on_chip <= wanted:
                    result.insert(0, copy_tree(statement))
    return result


def _is_declaration(value: ast.expr, facts: Facts) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=function)):
            operator = facts.operators.get(function)
            return is_view(value) or (operator is not None and operator.kind == "allocation")
    return False


def _refuse_kept(
    before: list[ast.stmt], body: list[ast.stmt], part: list[ast.stmt], facts: Facts
) -> None:
    """Refuse values on the chip that this part needs of an earlier one."""
    written: set[str] = set()
    for statement in before:
        match statement:
            case ast.Assign(value=value) if _is_declaration(value, facts):
                continue
        written |= {storage_of(name, facts) or name for name in changed_names(statement, facts)}
    flow = Flow(facts)
    flow.block(body, set())
    needed = {name for name, statement in flow.declared.items() if statement in flow.needed}
    needed |= names_in(ast.Module(part, [])) & (facts.variables.keys() | facts.barriers.keys())
    written |= {name for name in facts.barriers if name in names_in(ast.Module(before, []))}
    for name in sorted(needed):
        if (storage_of(name, facts) or name) in written and name not in facts.tensors:
            raise _kept(part, name, None)


def _kept(part: list[ast.stmt], name: str, made: ast.stmt | None) -> RewriteError:
    uses = [n for n in walk(ast.Module(part, [])) if isinstance(n, ast.Name) and n.id == name]
    return refuse(
        made or uses[0],
        "T2T718",
        f"`{name}` has a value on the chip that is needed behind T.sync_grid, where another "
        "launch begins",
        (),
        "keep it in a global tensor, or compute it again behind T.sync_grid",
    )


def _used(body: list[ast.stmt], facts: Facts) -> list[ast.stmt]:
    """The statements without declarations of what no other one uses."""
    result: list[ast.stmt] = []
    later: set[str] = set()
    for statement in reversed(body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name not in later and _is_declaration(value, facts)
            ):
                continue
        later |= names_in(statement)
        result.insert(0, statement)
    while result and isinstance(result[-1], (Comment, Blank)):
        result.pop()
    while result and isinstance(result[0], Blank):
        result.pop(0)
    return result


def _does_something(launch: ast.stmt, facts: Facts) -> bool:
    """Whether it writes a tensor, or has operators such as T.print that write nothing."""
    if changed_names(launch, facts) & facts.tensors.keys():
        return True
    found = [
        facts.operators.get(node.func.attr)
        for node in walk(launch)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return any(one is not None and one.kind == "statement" and not one.writes for one in found)
