"""Make the threads of a program the lanes of T.Parallel, where statements depend on their number.

Statements between which threads exchange nothing become one loop. What each thread keeps for
itself is one variable of each lane; where it outlives the loop, it is a fragment of as many
elements as there are threads.

before:
    def k(A: T.Tensor((4096,), "float32"), C: T.Tensor((4096,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(4):
                x = A[bx * 512 + i * 128 + tx]
                C[bx * 512 + i * 128 + tx] = x * 2.0

after:
    def k(A: T.Tensor((4096,), 'float32'), C: T.Tensor((4096,), 'float32')):
        with T.Kernel(8, threads=128) as bx:
            for tx in T.Parallel(128):
                for i in T.serial(4):
                    x = A[bx * 512 + i * 128 + tx]
                    C[bx * 512 + i * 128 + tx] = x * 2.0
"""

import ast
from dataclasses import dataclass, field

from rewrites.environment import Names
from rewrites.erasures import set_down
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.lane_fills import by_element
from rewrites.lane_memory import LaneMemory
from rewrites.nodes import Blank, Comment
from rewrites.outside_of_tiles import outside_of_tiles
from rewrites.quote import expr, place
from rewrites.sequence_roles import uses_threads
from rewrites.threads import (
    Threads,
    is_of_threads,
    is_thread_call,
    kernel_blocks,
    thread_count,
)
from rewrites.tree import blocks_of, function_of, is_view, names_in, operator_call, walk
from rewrites.varying import local_arrays, varies, varying_names

# Loops that a lane runs by itself, turn by turn.
LANE_LOOPS = ("serial", "Serial", "Pipelined", "unroll", "Unroll", "vectorized", "Vectorized")


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Spread what depends on the number of the thread over lanes, in every T.Kernel block."""
    if not uses_threads(tree, facts):
        return tree
    names = Names.of(tree, facts)
    for block in kernel_blocks(function_of(tree)):
        threads = Threads(thread_count(block, facts), facts)
        for node in walk(block):
            if isinstance(node, ast.stmt):
                threads.learn(node)
        varying = varying_names(block.body, threads, facts)
        _refuse_views(block, varying)
        arrays = {name for name, _ in local_arrays(block.body)} & varying
        block.body = by_element(block.body, arrays, names, facts)
        if varying or any(is_of_threads(node) for node in walk(block)):
            spread = _Spread(threads, varying, names, facts)
            block.body = spread.block(block.body) or [ast.Pass()]
            spread.memory.settle(block)
        left = [node for node in walk(block) if is_thread_call(node)]
        assert not left, f"`{ast.unparse(left[0])}` is in no loop over threads"
        _one_copy(block)
    return tree


@dataclass
class _Group:
    """Consecutive statements that become one T.Parallel loop."""

    body: list[ast.stmt] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return all(isinstance(statement, (Comment, Blank)) for statement in self.body)


class _Spread:
    def __init__(self, threads: Threads, varying: set[str], names: Names, facts: Facts) -> None:
        self.threads = threads
        self.varying = varying
        self.facts = facts
        whole = [
            name
            for name, tree in threads.lets.items()
            if isinstance(tree, ast.Name) and name not in facts.constants
        ]
        self.lane = whole[0] if whole else names.fresh("tx")
        self.memory = LaneMemory(threads, varying, self.lane, names, facts)
        # Lets of earlier loops that are arithmetic, which a later loop may say again.
        self.lets: dict[str, ast.Assign] = {}
        # Those that read memory, which may hold something else by then.
        self.loads: set[str] = set()

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        group = _Group()
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in self.threads.lets:
                    continue
                case Comment() | Blank():
                    (result if group.is_empty else group.body).append(statement)
                    continue
            if self._is_allocation(statement):
                result.append(statement)
            elif not varies(statement, self.varying):
                if not self._may_hoist(statement):
                    self._close(group, result)
                result.append(statement)
            elif self._acts_on_tiles(statement):
                self._close(group, result)
                result.append(self._inside(statement))
            else:
                group.body.append(statement)
        self._close(group, result)
        return result

    def _is_allocation(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(value=ast.Call(func=ast.Attribute(attr=function))):
                operator = self.facts.operators.get(function)
                return operator is not None and operator.kind == "allocation"
        return False

    def _may_hoist(self, statement: ast.stmt) -> bool:
        """Whether it is a let of arithmetic, which may as well stand before the loop."""
        memory = self.facts.tiles.keys() | self.facts.tensors.keys() | self.facts.variables.keys()
        return isinstance(statement, ast.Assign) and not names_in(statement) & memory

    def _acts_on_tiles(self, statement: ast.stmt) -> bool:
        """Whether a statement holds what all threads of the program do together."""
        for node in walk(statement):
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function))):
                    operator = self.facts.operators.get(function)
                    if operator is None or function.startswith("atomic"):
                        continue
                    if operator.writes or function == "sync_threads":
                        return not self._is_element_copy(node)
                case ast.For(iter=ast.Call(func=ast.Attribute(attr=function))):
                    if function not in LANE_LOOPS:
                        return True
        return False

    def _is_element_copy(self, statement: ast.Expr) -> bool:
        call = operator_call(statement, "copy", "fill", "clear")
        return call is not None and all(
            isinstance(argument, ast.Subscript)
            and not any(isinstance(node, ast.Slice) for node in walk(argument))
            for argument in call.args[: 2 if call.func.attr == "copy" else 1]  # type: ignore[attr-defined]
        )

    def _inside(self, statement: ast.stmt) -> ast.stmt:
        """A loop or branch of all threads, with what depends on the thread inside."""
        header = getattr(statement, "iter", None) or getattr(statement, "test", None)
        is_block = isinstance(statement, (ast.For, ast.While, ast.If))
        is_parallel = isinstance(statement, ast.For) and not self._is_lane_loop(statement)
        if not is_block or is_parallel or (header is not None and varies(header, self.varying)):
            node = header if is_block and not is_parallel and header is not None else statement
            raise refuse(
                node,
                "T2T714",
                f"`{ast.unparse(node).splitlines()[0]}` differs between the threads of a program, "
                "but it decides or moves whole tiles",
                (),
                "index tiles with the variables of T.Parallel, which Triton shares out to threads",
            )
        for inner in blocks_of(statement):
            inner[:] = self.block(inner) or [ast.Pass()]
        return statement

    def _is_lane_loop(self, loop: ast.For) -> bool:
        match loop.iter:
            case ast.Call(func=ast.Attribute(attr=function)):
                return function in LANE_LOOPS
        return False

    def _close(self, group: _Group, result: list[ast.stmt]) -> None:
        """End the group: its statements become a loop over the lanes."""
        if group.is_empty:
            result += group.body
            group.body = []
            return
        first = next(s for s in group.body if not isinstance(s, (Comment, Blank)))
        self._check_loads(group.body)
        body = [*self._said_again(group.body), *group.body]
        for statement in body:
            self._learn(statement)
        body = [self._in_lanes(statement) for statement in body]
        header = expr("T.Parallel(n)", n=ast.Constant(self.threads.count))
        loop = ast.For(ast.Name(self.lane, ast.Store()), header, body, [])
        loop.type_comment = None
        place(loop, first)
        ast.fix_missing_locations(loop)
        set_down(
            self.facts,
            first,
            "T.get_thread_binding()",
            f"the {self.threads.count} threads are lanes of one T.Parallel loop",
        )
        problems = list(outside_of_tiles([loop], self.facts))
        if problems:
            raise RewriteError(*problems)
        self.memory.note(loop)
        result.append(loop)
        group.body = []

    def _said_again(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The lets of earlier loops that this one reads."""
        made = {
            node.id
            for statement in body
            for node in walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        wanted: list[str] = []
        pending = sorted(names_in(ast.Module(body, [])) - made)
        while pending:
            name = pending.pop(0)
            if name in self.lets and name not in wanted:
                wanted.append(name)
                pending += sorted(names_in(self.lets[name].value))
        return [self.lets[name] for name in self.lets if name in wanted]

    def _check_loads(self, body: list[ast.stmt]) -> None:
        """Refuse what an earlier loop read for each thread, where this one uses it."""
        nodes = [node for statement in body for node in walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        for used in names:
            if used.id in self.loads - made:
                raise refuse(
                    used,
                    "T2T380",
                    f"`{used.id}` is another value in each thread, and what all threads do "
                    "together stands between where it is read and here",
                    (),
                    f"make it a variable: `{used.id} = T.alloc_var(dtype)`, then assign to it",
                )
        variables = self.facts.variables.keys()
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    name not in variables and self._reads_memory(value)
                ):
                    self.loads.add(name)

    def _reads_memory(self, tree: ast.expr) -> bool:
        memory = self.facts.tiles.keys() | self.facts.tensors.keys() | self.facts.variables.keys()
        return bool(names_in(tree) & (memory | self.loads))

    def _learn(self, statement: ast.stmt) -> None:
        memory = self.facts.tiles.keys() | self.facts.tensors.keys() | self.facts.variables.keys()
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if not names_in(statement) & memory:
                self.lets[name] = statement

    def _in_lanes(self, statement: ast.stmt) -> ast.stmt:
        """The statement with the lane for the thread; its loops run turn by turn."""
        made = self.threads.spelled_statement(statement, self.lane)
        for node in walk(made):
            match node:
                case ast.For(iter=ast.Call(func=ast.Attribute(attr=function) as called) as header):
                    if function not in ("serial", "unroll"):
                        called.attr = "serial"
                        header.keywords = [
                            k for k in header.keywords if k.arg in ("start", "stop", "step")
                        ]
        return made


def _refuse_views(block: ast.With, varying: set[str]) -> None:
    """Lanes of a loop have an array of their own by one name only."""
    for node in walk(block):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name in varying and is_view(value)
            ):
                raise refuse(
                    node,
                    "T2T716",
                    f"`{name}` is a view of an array that each thread has for itself, with values "
                    "that differ between threads",
                    (),
                    "use the array by its own name and shape",
                )


def _one_copy(block: ast.With) -> None:
    """An array of each thread's own that is the same in all of them is one fragment."""
    for _, call in local_arrays(block.body):
        assert isinstance(call.func, ast.Attribute)
        call.func.attr = "alloc_fragment"
