"""Put a barrier between accesses of one program to one tensor that must not overtake each other.

A Triton program's threads share a tensor's elements out anew at every load and store, so that what
one thread stored another may load. A loop with a barrier is not pipelined: its loads would run
ahead of its stores. No barrier is needed where a loop moves an operand on by at least its length
(`apart.py`), nor before a store to exactly what the program loaded.

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
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.apart import ONE, Place, Version, are_apart, moved_extents, place_of
from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, place, stmts
from rewrites.tree import base_name, function_of, names_in, operator_call, walk
from rewrites.wide import wide_operands

LOOPS = ("serial", "Serial", "Pipelined", "unroll", "Unroll")


@dataclass(frozen=True)
class Access:
    """One operand that reads or writes a tensor, by its own name or that of a view."""

    tensor: str
    name: str
    writes: bool
    place: Place
    is_atomic: bool = False


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Insert `T.sync_threads` where a later access meets an earlier one."""
    for block in function_of(tree).body:
        if isinstance(block, ast.With):
            _Order(facts).kernel(block)
    return tree


def overwritten(function: ast.FunctionDef, facts: Facts) -> set[str]:
    """The tensors of which one program may store an element twice, barriers or not."""
    found: set[str] = set()
    for block in function.body:
        if isinstance(block, ast.With):
            order = _Order(facts, heeds_barriers=False)
            order.kernel(copy_tree(block))
            found |= order.overwritten
    return found


class _Order:
    def __init__(self, facts: Facts, heeds_barriers: bool = True) -> None:
        self.facts = facts
        self.heeds_barriers = heeds_barriers
        self.overwritten: set[str] = set()
        self.count = itertools.count(1)
        # What the names stand for at this point; a name of another version is another value.
        self.versions: dict[str, Version] = {}
        # The steps of the loops around, and the extents of T.Parallel loops, by their variables.
        self.steps: dict[str, ast.expr] = {}
        self.lanes: dict[str, ast.expr] = {}
        # Of tensors at addresses: where the address comes from, which others may share.
        self.memories: dict[str, str] = {}
        # Names that were given to indices, such as `row = k * 64`.
        self.lets: dict[str, ast.expr] = {}
        # The names of the tensors that somebody writes; others are read in any order.
        self.written: set[str] = set()

    def kernel(self, block: ast.With) -> None:
        """Put barriers into the body of one T.Kernel."""
        self.written = _written(block, self.facts)
        block.body = self.block(block.body, [])

    def block(self, body: list[ast.stmt], since: list[Access]) -> list[ast.stmt]:
        """The statements with barriers; `since` gathers the accesses after the last barrier."""
        result: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, (Comment, Blank)):
                result.append(statement)
                continue
            if isinstance(statement, ast.Assign) or _is_parallel(statement):
                self._bind(statement)
            accesses = list(self._accesses(statement))
            if self._is_barrier(statement):
                since.clear()
            elif self._must_wait(since, accesses):
                at = len(result)
                while at and isinstance(result[at - 1], Comment):
                    at -= 1
                result.insert(at, _barrier(statement))
                since.clear()
            since += accesses
            if _is_parallel(statement):
                outer = self.lanes
                self.lanes = {**outer, **_parallel_lanes(statement)}
                self._compound(statement, [])
                self.lanes = outer
            elif isinstance(statement, (ast.For, ast.While, ast.If)) and self._orders(statement):
                self._compound(statement, since)
            for name in changed_names(statement, self.facts):
                self.versions[name] = next(self.count)
            result.append(statement)
        return result

    def _compound(self, statement: ast.stmt, since: list[Access]) -> None:
        """Loops are followed twice, so that an iteration meets the one before it."""
        is_serial = isinstance(statement, ast.While)
        variable = run = None
        if isinstance(statement, ast.For) and not _is_parallel(statement):
            # What programs would do is not ordered.
            is_serial = ast.unparse(statement.target) not in self.facts.program_loops
            variable, run = ast.unparse(statement.target), next(self.count)
            self.steps[variable] = self._step(statement)
        for turn in range(2 if is_serial else 1):
            if variable is not None and run is not None:
                self.versions[variable] = (run, turn)
            before = list(since)
            for field in ("body", "orelse"):
                block = getattr(statement, field)
                if block:
                    branch = list(before)
                    setattr(statement, field, self.block(block, branch))
                    # What one branch leaves open is open behind both.
                    since += [access for access in branch if access not in since]
            if isinstance(statement, ast.While) and not self._is_barrier(statement.body[-1]):
                # The condition is read again behind the body.
                if self._must_wait(since, list(self._accesses(statement))):
                    statement.body.append(_barrier(statement))
        has_barrier = any(
            self._is_barrier(node) for node in walk(statement) if isinstance(node, ast.stmt)
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
        lanes = {**self.lanes, **_parallel_lanes(statement)}
        extents = None if lanes else moved_extents(statement, self.facts)
        operands = set()
        if extents is not None:
            call = operator_call(statement, *self.facts.operators)
            operands = {id(argument) for argument in call.args} if call is not None else set()
        # Names that the statement itself changes have no one value in it.
        versions = dict(self.versions)
        inner = changed_names(statement, self.facts) if _is_parallel(statement) else set()

        def access(tree: ast.expr, writes: bool, is_atomic: bool = False) -> list[Access]:
            buffer = base_name(tree)
            if buffer is None or buffer not in self.written:
                return []
            for name in inner:
                versions[name] = next(self.count)
            moved = extents if id(tree) in operands else None
            spelled_out = _Spelled(self.lets).visit(copy_tree(tree))
            where = place_of(spelled_out, moved, lanes, versions)
            if id(tree) in wide:
                # Which threads reach the neighbours is not how they reach the elements named.
                where = Place(f"{where.text} {next(self.count)}", where.versions, ())
            storage = self.memories.get(buffer) or self.facts.tensors[buffer].storage
            return [Access(storage, buffer, writes, where, is_atomic)]

        writes: list[Access] = []
        wide = {id(operand) for operand in wide_operands(statement, self.facts)}
        # The bare names of subscripts, and the destinations that are not read.
        skipped = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name() as target]):
                    # A tensor that gets its address is not written.
                    skipped.add(id(target))
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

    def _bind(self, statement: ast.stmt) -> None:
        """Learn the lets that are arithmetic of values that do not change while they are used."""
        memory = self.facts.variables.keys() | self.facts.tiles.keys() | self.facts.tensors.keys()
        plain = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp)
        for node in walk(statement):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Attribute(attr="make_tensor"), args=[address, *_]),
                ):
                    self.memories[name] = self._pointed_to(address)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if all(
                    isinstance(part, plain) for part in walk(value)
                ) and not memory & {name, *names_in(value)}:
                    self.lets[name] = _Spelled(self.lets).visit(copy_tree(value))

    def _pointed_to(self, address: ast.expr) -> str:
        """What two tensors share that may be one memory: the parameter or table of addresses."""
        table = base_name(address) or ""
        is_known = table in self.facts.pointers or table in self.facts.tensors
        return f"memory at {table}" if is_known else _ANY

    def _must_wait(self, since: list[Access], accesses: list[Access]) -> bool:
        met = [(a, b) for a in since for b in accesses if self._meet(a, b)]
        self.overwritten |= {a.tensor for a, b in met if a.writes and b.writes}
        return bool(met) and self.heeds_barriers

    def _meet(self, earlier: Access, later: Access) -> bool:
        """Whether the later access must wait for the earlier one.

        A store where the program loaded before goes by the same threads, and needs no barrier.
        """
        if not self._may_share(earlier, later) or not (earlier.writes or later.writes):
            return False
        if earlier.is_atomic and later.is_atomic:
            return False
        is_same = (earlier.place.text, earlier.place.versions) == (
            later.place.text,
            later.place.versions,
        )
        if not earlier.writes and is_same:
            return False
        if earlier.name != later.name:
            return True
        return not are_apart(earlier.place, later.place, self.steps)

    def _may_share(self, earlier: Access, later: Access) -> bool:
        """Whether two accesses are to one memory; an unknown address may be any other's."""
        memories = {earlier.tensor, later.tensor}
        if len(memories) == 1:
            return True
        return _ANY in memories and not memories & self.facts.tensors.keys()

    def _step(self, loop: ast.For) -> ast.expr:
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        step = self.facts.operators[loop.iter.func.attr].arguments(loop.iter).get("step", ONE)
        return ONE if isinstance(step, ast.Constant) and step.value is None else step

    def _orders(self, statement: ast.stmt) -> bool:
        """Whether the order of accesses matters somewhere in a loop or branch."""
        return any(
            (isinstance(node, ast.Name) and node.id in self.written)
            or (isinstance(node, ast.stmt) and operator_call(node, "sync_threads") is not None)
            for node in walk(statement)
        )

    def _is_barrier(self, statement: ast.stmt) -> bool:
        return self.heeds_barriers and operator_call(statement, "sync_threads") is not None


def _written(block: ast.With, facts: Facts) -> set[str]:
    """The tensors with whose memory a kernel does anything but read; with pointers, all of them."""
    if facts.pointers:
        return set(facts.tensors)
    names: set[str] = set()
    for node in walk(block):
        match node:
            case ast.Call(func=ast.Attribute(attr="make_tensor" | "make_tensor_from_addr")):
                return set(facts.tensors)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                names.add(base_name(target) or "")
            case ast.Call(func=ast.Attribute(attr=function)):
                operator = facts.operators.get(function)
                if operator is not None and operator.writes:
                    names.add(base_name(operator.arguments(node)[operator.writes]) or "")
    storages = {facts.tensors[name].storage for name in names & facts.tensors.keys()}
    return {name for name, tensor in facts.tensors.items() if tensor.storage in storages}


# The memory at an address that comes from no parameter or table directly.
_ANY = "any memory"


class _Spelled(ast.NodeTransformer):
    """Puts the values of lets where their names stand."""

    def __init__(self, lets: dict[str, ast.expr]) -> None:
        self.lets = lets

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.lets.get(node.id, node)


def _barrier(like: ast.stmt) -> ast.stmt:
    (barrier,) = stmts("T.sync_threads()")
    return place(barrier, like)


def _is_parallel(statement: ast.AST) -> bool:
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=function))):
            return function not in LOOPS
    return False


def _parallel_lanes(statement: ast.stmt) -> dict[str, ast.expr]:
    """The variables of the T.Parallel loops of a statement with their extents."""
    lanes: dict[str, ast.expr] = {}
    for node in walk(statement) if _is_parallel(statement) else ():
        match node:
            case ast.For(target=target, iter=ast.Call(args=args)) if _is_parallel(node):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name, extent in zip(names, args, strict=True):
                    lanes[ast.unparse(name)] = extent
    return lanes
