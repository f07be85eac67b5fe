"""Put what different threads of a program do (roles) one after the other, and drop who does it.

`with T.ws(1):` and conditions on the number of the thread pick the threads of a statement. The
order that comes out keeps the order of every role's own statements, so it is one of the orders in
which the roles may run beside each other, if every wait in it is satisfied: `erase_protocol`
proves that. Each arrival at a barrier gets the count of threads that arrive.

What a thread keeps for itself (variables, fragments) must stay with the role that writes it, and
roles that do not wait for each other must not touch each other's data (`role_races`).

before:
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            full = T.alloc_barrier((128,))
            tile = T.alloc_shared((64,), "float32")
            with T.ws(1):
                T.tma_copy(A, tile, barrier=full)
                T.mbarrier_arrive(full)
            with T.ws(0):
                T.mbarrier_wait_parity(full, 0)
                T.copy(tile, C)

after:
    def k(A: T.Tensor((64,), 'float32'), C: T.Tensor((64,), 'float32')):
        with T.Kernel(1, threads=256) as bx:
            full = T.alloc_barrier((128,))
            tile = T.alloc_shared((64,), 'float32')
            T.tma_copy(A, tile, barrier=full)
            T.mbarrier_arrive(full, count=128)
            T.mbarrier_wait_parity(full, 0)
            T.copy(tile, C)
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.barriers import (
    ARRIVALS,
    COUNT,
    BarrierError,
    Barriers,
    barrier_index,
    effect_of,
    has_effect,
)
from rewrites.erasures import set_down
from rewrites.errors import refuse
from rewrites.evaluate import UnknownValueError, evaluate
from rewrites.facts import Facts
from rewrites.interleave_roles import Role, interleaved
from rewrites.nodes import Blank, Comment
from rewrites.repeated_atomics import refuse_repeated
from rewrites.role_memory import RoleMemory
from rewrites.threads import (
    Threads,
    is_of_threads,
    kernel_blocks,
    run_by,
    thread_count,
)
from rewrites.tree import function_of, operator_call, walk
from rewrites.varying import varies, varying_names


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Sequence the roles of every T.Kernel; what depends on single threads stays."""
    if not uses_threads(tree, facts):
        for block in kernel_blocks(function_of(tree)):
            refuse_repeated(block.body, thread_count(block, facts), facts)
        return tree
    for block in kernel_blocks(function_of(tree)):
        threads = Threads(thread_count(block, facts), facts)
        for node in walk(block):
            if isinstance(node, ast.stmt):
                threads.learn(node)
        sequence = _Sequence(threads, block, facts)
        block.body = sequence.block(block.body, threads.all) or [ast.Pass()]
        sequence.memory.check()
    return tree


def uses_threads(tree: ast.AST, facts: Facts) -> bool:
    """Whether the program speaks of threads or barriers at all."""
    kinds = ("scope", "thread", "protocol")
    for node in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            operator = facts.operators.get(node.func.attr)
            if operator is not None and (operator.kind in kinds or operator.name == "alloc_local"):
                return True
            if is_of_threads(node):
                return True
    return bool(facts.barriers)


@dataclass
class _Part:
    """A run of statements that the same threads run."""

    threads: int
    body: list[ast.stmt]


class _Sequence:
    def __init__(self, threads: Threads, kernel: ast.With, facts: Facts) -> None:
        self.threads = threads
        self.facts = facts
        self.varying = varying_names(kernel.body, threads, facts)
        self.memory = RoleMemory(kernel, self.varying, threads, facts)
        # For finding an order: the barriers at the first turn of each loop, and known lets.
        self.barriers = Barriers(facts.barriers)
        self.names: dict[str, int] = {}
        # How many roles are open around the statement.
        self.depth = 0
        # Whether iterations or threads run the statement one by one.
        self.is_shared_out = False

    def block(self, body: list[ast.stmt], mask: int) -> list[ast.stmt]:
        """The statements in sequence, as the threads of `mask` run them."""
        result: list[ast.stmt] = []
        parts: list[_Part] = []
        remarks: list[ast.stmt] = []
        for statement in body:
            found = list(self._parts(statement, mask))
            if isinstance(statement, (Comment, Blank)):
                remarks.append(statement)
                continue
            if found:
                found[0].body[:0] = remarks
                parts += found
            else:
                result += [*self._merged(parts), *remarks]
                parts = []
                result += self._statement(statement, mask)
            remarks = []
        return [*result, *self._merged(parts), *remarks]

    def _parts(self, statement: ast.stmt, mask: int) -> Iterator[_Part]:
        """The roles that a `with T.ws` or a condition on threads gives its body to."""
        match statement:
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
                self._set_down(statement, f"with {ast.unparse(call)}", "its body stands in turn")
                yield _Part(mask & self.threads.groups(call), body)
            case ast.If(test=test, body=body, orelse=orelse):
                split = self.threads.split(test)
                if split is None or self._depends(body) or self._depends(orelse):
                    return
                picked, rest = split
                if rest is not None and (orelse or varies(rest, self.varying)):
                    return
                construct = f"if {ast.unparse(test)}"
                self._set_down(statement, construct, "the whole program does what it picks")
                inner = body
                if rest is not None:
                    inner = [ast.copy_location(ast.If(rest, body, []), statement)]
                yield _Part(mask & picked, inner)
                if orelse:
                    other = mask & ~picked
                    is_chain = len(orelse) == 1 and isinstance(orelse[0], ast.If)
                    chained = list(self._parts(orelse[0], other)) if is_chain else []
                    yield from chained or [_Part(other, orelse)]

    def _depends(self, body: list[ast.stmt]) -> bool:
        """Whether statements do something else on each thread, other than by roles of their own."""
        for statement in body:
            match statement:
                case Comment() | Blank():
                    continue
                case ast.With():
                    depends = self._depends(statement.body)
                case ast.If(test=test):
                    split = self.threads.split(test)
                    rest = test if split is None else split[1]
                    depends = rest is not None and varies(rest, self.varying)
                    depends = depends or any(map(self._depends, (statement.body, statement.orelse)))
                case ast.For(iter=header):
                    depends = varies(header, self.varying) or self._depends(statement.body)
                case ast.While(test=test):
                    depends = varies(test, self.varying) or self._depends(statement.body)
                case ast.Assign(targets=[ast.Name(id=name)]) if name in self.threads.lets:
                    depends = False
                case _:
                    depends = varies(statement, self.varying)
            if depends:
                return True
        return False

    def _merged(self, parts: list[_Part]) -> list[ast.stmt]:
        """The parts one after the other, or interleaved where they wait for each other."""
        roles: list[Role] = []
        for part in parts:
            if not part.threads:
                continue
            self.depth += 1
            body = self.block(part.body, part.threads)
            self.depth -= 1
            same = next((role for role in roles if role.threads == part.threads), None)
            overlaps = any(r.threads & part.threads for r in roles if r is not same)
            if same is not None and not overlaps:
                same.body += body
            else:
                roles.append(Role(part.threads, body))
        in_turn = [statement for role in roles for statement in role.body]
        if any(has_effect(statement, self.facts) for statement in in_turn):
            if all(not a.threads & b.threads for a in roles for b in roles if a is not b):
                barriers = self.barriers if self.depth == 0 else self.barriers.copy()
                return interleaved(roles, barriers, self.names, self.facts)
        return in_turn

    def _statement(self, statement: ast.stmt, mask: int) -> list[ast.stmt]:
        """A statement that does not say who runs it."""
        run_by(statement, mask)
        outer = self.is_shared_out
        header = getattr(statement, "iter", None) or getattr(statement, "test", None)
        if header is not None:
            differs = varies(header, self.varying) or _is_parallel(header)
            self.is_shared_out = outer or differs
        made = self._run_by(statement, mask)
        self.is_shared_out = outer
        return made

    def _run_by(self, statement: ast.stmt, mask: int) -> list[ast.stmt]:
        match statement:
            case ast.For():
                self.memory.note_header(statement.iter, mask)
                self._first_turn(statement)
                statement.body = self.block(statement.body, mask) or [ast.Pass()]
            case ast.While(test=test):
                self.memory.note_header(test, mask)
                statement.body = self.block(statement.body, mask) or [ast.Pass()]
            case ast.If(test=test):
                self.memory.note_header(test, mask)
                if varies(test, self.varying):
                    _refuse_arrivals(statement)
                statement.body = self.block(statement.body, mask) or [ast.Pass()]
                statement.orelse = self.block(statement.orelse, mask)
            case _:
                self.memory.note(statement, mask)
                self._follow_let(statement)
                return self._leaf(statement, mask)
        return [statement]

    def _follow_let(self, statement: ast.stmt) -> None:
        """What a let is at the first turn of the loops around it, where that is known."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names.pop(name, None)
                if name not in self.facts.variables:
                    try:
                        self.names[name] = evaluate(value, self.names, self.facts)
                    except UnknownValueError:
                        return

    def _leaf(self, statement: ast.stmt, mask: int) -> list[ast.stmt]:
        if not self.is_shared_out and not varies(statement, self.varying):
            refuse_repeated([statement], mask.bit_count(), self.facts)
        call = operator_call(statement, *self.facts.operators)
        if call is None or not isinstance(call.func, ast.Attribute):
            return [statement]
        function = call.func.attr
        if function in ARRIVALS:
            call.keywords.append(ast.keyword(COUNT, ast.Constant(mask.bit_count())))
            ast.fix_missing_locations(statement)
        elif function == "sync_threads":
            return self._synchronised(statement, call, mask)
        self._arrive(statement)
        return [statement]

    def _arrive(self, statement: ast.stmt) -> None:
        """Follow an arrival outside of roles, where its barrier is known."""
        effect = effect_of(statement, self.facts)
        if effect is None or effect.is_wait or self.depth:
            return
        try:
            barrier = barrier_index(effect, self.names, self.facts)
            self.barriers.arrive(barrier, effect.count)
        except (UnknownValueError, BarrierError):
            return

    def _synchronised(self, statement: ast.stmt, call: ast.Call, mask: int) -> list[ast.stmt]:
        """A barrier of one role is in the order of its statements; one of two roles is not."""
        given = self.facts.operators["sync_threads"].arguments(call)
        count = given["arrive_count"]
        is_whole = mask == self.threads.all
        if not (isinstance(count, ast.Constant) and count.value is None) and not is_whole:
            try:
                expected = int(evaluate(count, {}, self.facts))
            except UnknownValueError:
                expected = -1
            if expected != mask.bit_count():
                raise refuse(
                    call,
                    "T2T705",
                    f"`{ast.unparse(call)}` lets {mask.bit_count()} threads meet others of the "
                    "program, and statements of Triton have no others to meet",
                    (f"the threads that come here: {mask.bit_count()}",),
                    "let groups wait for each other with T.alloc_barrier, "
                    "T.barrier_arrive and T.barrier_wait",
                )
        if is_whole:
            call.args, call.keywords = [], []
            return [statement]
        self._set_down(statement, ast.unparse(call), "a role's statements run in order")
        return []

    def _first_turn(self, loop: ast.For) -> None:
        for node in ast.walk(loop.target):
            if isinstance(node, ast.Name):
                self.names[node.id] = 0

    def _set_down(self, node: ast.AST, construct: str, reason: str) -> None:
        set_down(self.facts, node, construct, reason)


def _is_parallel(header: ast.expr) -> bool:
    match header:
        case ast.Call(func=ast.Attribute(attr="Parallel" | "parallel")):
            return True
    return False


def _refuse_arrivals(branch: ast.If) -> None:
    """How many threads come into a branch that is each thread's own decision is not known."""
    for node in walk(branch):
        match node:
            case ast.Call(func=ast.Attribute(attr=function)) if function in ARRIVALS:
                raise refuse(
                    node,
                    "T2T713",
                    "how many threads arrive here is not known: each decides for itself",
                    (f"the condition: {ast.unparse(branch.test)}",),
                    "arrive outside of the branch",
                )
