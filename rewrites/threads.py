"""Which threads run a statement: conditions on thread numbers, tried for every thread."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewrites.errors import refuse
from rewrites.evaluate import UnknownValueError, evaluate
from rewrites.facts import Facts
from rewrites.quote import copy_tree, expr, place, substituted
from rewrites.tree import names_in, walk

THREAD_OPERATORS = (
    "get_thread_binding",
    "get_lane_idx",
    "get_warp_idx",
    "get_warp_group_idx",
    "shuffle_elect",
)
# What the threads of a warp do together.
WARP_OPERATORS = (
    "warp_reduce_sum",
    "warp_reduce_max",
    "warp_reduce_min",
    "warp_reduce_bitand",
    "warp_reduce_bitor",
)
# TileLang's groups of `T.ws` are 128 threads.
GROUP = 128
DEFAULT_THREADS = 128
_NUMBER = "thread number"


@dataclass
class Threads:
    """The threads of one T.Kernel block, and the names that are computed from their numbers.

    A set of threads is an int, whose bit n is set if thread n is in it.
    """

    count: int
    facts: Facts
    # Lets that depend on nothing but the number of the thread.
    lets: dict[str, ast.expr] = field(default_factory=dict)

    @property
    def all(self) -> int:
        return (1 << self.count) - 1

    def learn(self, statement: ast.stmt) -> None:
        """Note a let that is computed from the number of the thread alone."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name not in self.facts.variables and self.is_own(value):
                    self.lets[name] = self.spelled(value)

    def is_own(self, tree: ast.expr) -> bool:
        """Whether the tree is computed from the number of the thread and constants."""
        if not self.mentions(tree):
            return False
        known = self.lets.keys() | self.facts.constants.keys() | {_NUMBER, "T"}
        return names_in(self.spelled(tree)) <= known and self._value(tree, 0) is not None

    def mentions(self, tree: ast.AST) -> bool:
        """Whether the number of the thread stands in the tree."""
        return any(
            (isinstance(node, ast.Name) and node.id in self.lets) or is_thread_call(node)
            for node in walk(tree)
        )

    def spelled(self, tree: ast.expr, number: str = _NUMBER) -> ast.expr:
        """The tree with `number` for every way to ask for the number of the thread."""
        made: ast.expr = _Spelled(self, number).visit(copy_tree(tree))
        return made

    def spelled_statement(self, statement: ast.stmt, number: str) -> ast.stmt:
        """A statement with `number` for every way to ask for the number of the thread."""
        made: ast.stmt = _Spelled(self, number).visit(copy_tree(statement))
        return made

    def chosen(self, test: ast.expr) -> int | None:
        """The threads for which the condition holds; None where more than their number decides."""
        if not self.is_own(test):
            return None
        return sum(1 << thread for thread in range(self.count) if self._value(test, thread))

    def split(self, test: ast.expr) -> tuple[int, ast.expr | None] | None:
        """The threads that a condition picks, and what else it asks for; None if it picks none."""
        chosen = self.chosen(test)
        if chosen is not None:
            return chosen, None
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                picked = self.all
                rest: list[ast.expr] = []
                for value in values:
                    own = self.chosen(value)
                    if own is None:
                        rest.append(value)
                    else:
                        picked &= own
                if 0 < len(rest) < len(values):
                    other = rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)
                    return picked, ast.copy_location(other, test)
        return None

    def groups(self, call: ast.Call) -> int:
        """The threads of `T.ws(0, 1)`."""
        picked = 0
        for argument in call.args:
            first = int(evaluate(argument, {}, self.facts)) * GROUP
            if first >= self.count:
                raise refuse(
                    argument,
                    "T2T701",
                    f"the program has no group {first // GROUP} of threads",
                    (f"its threads: {self.count}, in groups of {GROUP} from group 0 on",),
                    "name a group that there is, or give T.Kernel more threads",
                )
            picked |= ((1 << GROUP) - 1) << first
        return picked & self.all

    def _value(self, tree: ast.expr, thread: int) -> int | None:
        try:
            return int(evaluate(self.spelled(tree), {_NUMBER: thread}, self.facts))
        except UnknownValueError:
            return None


class _Spelled(ast.NodeTransformer):
    """Puts `number` for every way to ask for the number of the thread."""

    def __init__(self, threads: Threads, number: str) -> None:
        self.threads = threads
        self.number = number

    def visit_Name(self, node: ast.Name) -> ast.AST:
        let = self.threads.lets.get(node.id)
        return node if let is None else substituted(let, {_NUMBER: self.number})

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node = self.generic_visit(node)  # type: ignore[assignment]
        return place(self._number(node), node) if is_thread_call(node) else node

    def _number(self, call: ast.Call) -> ast.expr:
        assert isinstance(call.func, ast.Attribute)
        facts = self.threads.facts
        given = facts.operators[call.func.attr].arguments(call)
        number = ast.Name(self.number, ast.Load())
        lanes = given.get("warp_size", ast.Constant(None))
        if isinstance(lanes, ast.Constant) and lanes.value is None:
            lanes = ast.Constant(warp_size(facts))
        match call.func.attr:
            case "get_thread_binding":
                return number
            case "get_lane_idx":
                return expr("number % lanes", number=number, lanes=lanes)
            case "get_warp_idx":
                return expr("number // lanes", number=number, lanes=lanes)
            case "get_warp_group_idx":
                warps = given["warps_per_group"]
                if isinstance(warps, ast.Constant) and warps.value is None:
                    warps = ast.Constant(4)
                return expr("number // (lanes * warps)", number=number, lanes=lanes, warps=warps)
        group = given["thread_extent"]
        if _is_zero(group, facts):
            return expr("number == 0", number=number)
        return expr("number % group == 0", number=number, group=group)


def _is_zero(tree: ast.expr, facts: Facts) -> bool:
    try:
        return bool(evaluate(tree, {}, facts) == 0)
    except UnknownValueError:
        return False


def is_thread_call(node: ast.AST) -> bool:
    """Whether the node asks for the number of the thread."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in THREAD_OPERATORS
    return False


def is_of_threads(node: ast.AST) -> bool:
    """Whether the node asks for the number of the thread, or is what threads do together."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in THREAD_OPERATORS or name in WARP_OPERATORS
    return False


def warp_size(facts: Facts) -> int:
    """How many threads a warp of the target has."""
    return 64 if facts.target.startswith("hip:gfx9") else 32


def run_by(statement: ast.stmt, threads: int) -> None:
    """Set down on a statement which threads run it; copies of it keep that."""
    statement.threads = threads  # type: ignore[attr-defined]


def threads_of(statement: ast.stmt, everybody: int) -> int:
    """The threads that run a statement: those that were set down, or all."""
    found: int = getattr(statement, "threads", everybody)
    return found


def thread_count(block: ast.With, facts: Facts) -> int:
    """How many threads a T.Kernel block has."""
    call = block.items[0].context_expr
    assert isinstance(call, ast.Call)
    for keyword in call.keywords:
        if keyword.arg == "threads":
            try:
                return int(evaluate(keyword.value, {}, facts))
            except UnknownValueError:
                break
    return DEFAULT_THREADS


def kernel_blocks(function: ast.FunctionDef) -> Iterator[ast.With]:
    """The T.Kernel blocks of a program."""
    for statement in function.body:
        if isinstance(statement, ast.With):
            yield statement
