"""Put a barrier between accesses of one program to one tensor that must not overtake each other.

A Triton program's threads share a tensor's elements out anew at every load and store, so that what
one thread stored another may load. A loop with such an access is not pipelined: its loads would run
ahead of its stores.

before:
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                A[i] = 2.0
            for i in T.Parallel(64):
                C[i] = A[63 - i]

after:
    def k(A: T.Tensor((64,), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                A[i] = 2.0
            T.sync_threads()
            for i in T.Parallel(64):
                C[i] = A[63 - i]
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.apart import apart, lengths, parallel_widths
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import place, stmts
from rewrites.tree import base_name, function_of, walk

LOOPS = ("serial", "Serial", "Pipelined", "unroll", "Unroll")


@dataclass(frozen=True)
class Access:
    """One operand that reads or writes a tensor; `where` is its text.

    `apart` are the loop variables that move it to elements of its own in each iteration.
    """

    tensor: str
    writes: bool
    where: str
    is_atomic: bool = False
    apart: frozenset[str] = frozenset()


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Insert `T.sync_threads` where a later access meets an earlier one."""
    for block in function_of(tree).body:
        if isinstance(block, ast.With):
            block.body = _Order(facts).block(block.body, [])
    return tree


class _Order:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        # The variables of the loops around whose second turn is being followed.
        self.carried: set[str] = set()

    def block(self, body: list[ast.stmt], since: list[Access]) -> list[ast.stmt]:
        """The statements with barriers; `since` gathers the accesses after the last barrier."""
        result: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, (Comment, Blank)):
                result.append(statement)
                continue
            accesses = list(self._accesses(statement))
            if _is_barrier(statement):
                since.clear()
            elif any(self._meet(earlier, later) for earlier in since for later in accesses):
                (barrier,) = stmts("T.sync_threads()")
                at = len(result)
                while at and isinstance(result[at - 1], Comment):
                    at -= 1
                result.insert(at, place(barrier, statement))
                since.clear()
            since += accesses
            if _is_parallel(statement):
                self._compound(statement, [])
            elif isinstance(statement, (ast.For, ast.While, ast.If)):
                self._compound(statement, since)
            result.append(statement)
        return result

    def _compound(self, statement: ast.stmt, since: list[Access]) -> None:
        """Loops are followed twice, so that an iteration meets the one before it."""
        is_serial = not isinstance(statement, ast.If) and not _is_parallel(statement)
        variable = ast.unparse(statement.target) if isinstance(statement, ast.For) else ""
        for turn in range(2 if is_serial else 1):
            if turn:
                self.carried.add(variable)
            before = list(since)
            for field in ("body", "orelse"):
                block = getattr(statement, field)
                if block:
                    branch = list(before)
                    setattr(statement, field, self.block(block, branch))
                    # What one branch leaves open is open behind both.
                    since += [access for access in branch if access not in since]
        self.carried.discard(variable)
        has_barrier = any(
            _is_barrier(node) for node in walk(statement) if isinstance(node, ast.stmt)
        )
        if has_barrier and isinstance(statement, ast.For) and isinstance(statement.iter, ast.Call):
            header = statement.iter
            header.keywords = [k for k in header.keywords if k.arg != "num_stages"]

    def _accesses(self, statement: ast.stmt) -> Iterator[Access]:
        """The statement's own accesses to global tensors, reads first; blocks have theirs."""
        parts: list[ast.AST] = [statement]
        if isinstance(statement, (ast.If, ast.While)):
            parts = [statement.test]
        elif isinstance(statement, ast.For) and not _is_parallel(statement):
            parts = [statement.iter]
        nodes = [node for part in parts for node in walk(part)]
        extents = {
            id(argument): lengths(node, self.facts)
            for node in nodes
            if isinstance(node, ast.Call)
            for argument in node.args
        }
        widths = parallel_widths(nodes)

        def access(tree: ast.expr, writes: bool, is_atomic: bool = False) -> list[Access]:
            buffer = base_name(tree)
            if buffer is None or buffer not in self.facts.tensors:
                return []
            free = apart(tree, extents.get(id(tree), ()), widths)
            return [Access(buffer, writes, ast.unparse(tree), is_atomic, free)]

        writes: list[Access] = []
        # The bare names of subscripts, and the destinations that are not read.
        skipped = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
        for node in nodes:
            match node:
                case ast.Assign(targets=[target]):
                    writes += access(target, True)
                    skipped.add(id(target))
                case ast.AugAssign(target=target):
                    writes += access(target, True)
                case ast.Call(func=ast.Attribute(attr=function)):
                    operator = self.facts.operators.get(function)
                    if operator is not None and operator.writes:
                        written = operator.arguments(node)[operator.writes]
                        is_atomic = function.startswith("atomic")
                        writes += access(written, True, is_atomic)
                        skipped.add(id(written))
        for node in nodes:
            if isinstance(node, (ast.Subscript, ast.Name)) and id(node) not in skipped:
                yield from access(node, False)
        yield from writes

    def _meet(self, earlier: Access, later: Access) -> bool:
        """Whether the later access must wait for the earlier one.

        A store where the program loaded before goes by the same threads, and needs no barrier.
        """
        if earlier.tensor != later.tensor or not (earlier.writes or later.writes):
            return False
        if earlier.is_atomic and later.is_atomic:
            return False
        if earlier.where == later.where and earlier.apart & self.carried:
            return False
        return earlier.writes or earlier.where != later.where


def _is_parallel(statement: ast.stmt) -> bool:
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=function))):
            return function not in LOOPS
    return False


def _is_barrier(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="sync_threads"))):
            return True
    return False
