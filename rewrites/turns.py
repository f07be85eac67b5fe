"""The parts of a turn of a loop: what products need, what only the last one needs, the rest."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import literal
from rewrites.tree import blocks_of, names_in, walk

# What may be made again, or later: loads, casts, and other views or places of the same elements.
CHEAP = ("load", "to", "trans", "permute", "reshape", "arange", "broadcast_to", "expand_dims")


class TurnError(Exception):
    """Why a turn has no such parts."""


@dataclass(frozen=True)
class Step:
    """A statement that sets `target`, with the remarks in front of it."""

    statement: ast.Assign
    remarks: tuple[ast.stmt, ...]

    @property
    def target(self) -> str:
        (target,) = self.statement.targets
        assert isinstance(target, ast.Name)
        return target.id

    @property
    def value(self) -> ast.expr:
        return self.statement.value

    @property
    def reads(self) -> set[str]:
        return names_in(self.value)

    @property
    def is_product(self) -> bool:
        return any(_is_dot(node) for node in walk(self.value))

    @property
    def is_load(self) -> bool:
        return any(_function(node) == "load" for node in walk(self.value))

    @property
    def adds(self) -> bool:
        """Whether it is `total = tl.dot(a, b, total)`."""
        match self.value:
            case ast.Call(args=[_, _, ast.Name(id=total)]):
                return _is_dot(self.value) and total == self.target
        return False


@dataclass
class Turn:
    """The places in `steps` of `leading` products with what they need, the `rest`, and the `end`.

    `leading` needs nothing of the turn before. `end` is what adds to sums last, with all that only
    it needs; it reads the names `carried`, which the rest sets. `again` is what both need, and may
    be computed twice.
    """

    loop: ast.For
    # What holds for all turns, and can be asserted before the first one.
    asserted: list[ast.stmt]
    steps: list[Step]
    variable: str
    start: ast.expr
    stop: ast.expr
    end: list[int] = field(default_factory=list)
    leading: list[int] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)

    @property
    def rest(self) -> list[int]:
        taken = {*self.leading, *self.end}
        return [at for at in range(len(self.steps)) if at not in taken]

    @property
    def sums(self) -> list[str]:
        return [self.steps[at].target for at in self.end if self.steps[at].is_product]

    @property
    def products(self) -> list[str]:
        return [self.steps[at].target for at in self.leading if self.steps[at].is_product]

    @property
    def overwritten(self) -> list[str]:
        """What is carried under a name that the next turn's leading products set first."""
        written = {self.steps[at].target for at in self.leading}
        return [one for one in self.carried if one in written]

    def setter(self, at: int, name: str) -> int | None:
        """Where the turn has set what a step reads; None where it was set before the turn."""
        found = (one for one in range(at - 1, -1, -1) if self.steps[one].target == name)
        return next(found, None)

    def last_setter(self, name: str) -> int:
        setter = self.setter(len(self.steps), name)
        assert setter is not None
        return setter


def turn_of(loop: ast.For, after: list[ast.stmt], facts: Facts, is_late: bool = False) -> Turn:
    """The parts of a loop's turn, `after` which these statements run. Raises TurnError.

    As much as may be is done late, at the end: sums are scaled there too, and a turn's only product
    is made there.
    """
    asserted = [one for one in loop.body if _is_assertion(one)]
    steps = _steps([one for one in loop.body if not _is_assertion(one)])
    turn = Turn(loop, asserted, steps, *_header(loop, facts))
    _find_end(turn, facts, is_late)
    _find_leading(turn, is_late)
    _find_carried(turn, facts)
    _require_order(turn)
    written = {step.target for step in turn.steps}
    changed = written & (names_in(turn.start) | names_in(turn.stop))
    if changed:
        raise TurnError(f"how far it goes depends on `{min(changed)}`, which it sets")
    for one in turn.overwritten:
        if is_read_first(after, one):
            raise TurnError(f"`{one}` is read after the loop")
    return turn


def _header(loop: ast.For, facts: Facts) -> tuple[str, ast.expr, ast.expr]:
    match loop:
        case ast.For(target=ast.Name(id=variable), iter=ast.Call(args=args), orelse=[]):
            match args:
                case [stop]:
                    return variable, literal(0), stop
                case [start, stop]:
                    return variable, start, stop
                case [start, stop, ast.Constant(value=1)]:
                    return variable, start, stop
                case [start, stop, ast.Name(id=step)] if facts.constants.get(step) == 1:
                    return variable, start, stop
    raise TurnError("it does not count one by one")


def _is_assertion(statement: ast.stmt) -> bool:
    """Of numbers that are known when a kernel is compiled."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="static_assert"))):
            return True
    return False


def _steps(body: list[ast.stmt]) -> list[Step]:
    steps: list[Step] = []
    remarks: list[ast.stmt] = []
    for statement in body:
        match statement:
            case Comment() | Blank():
                remarks.append(statement)
            case ast.Assign(targets=[ast.Name()]) if "atomic" not in ast.unparse(statement.value):
                steps.append(Step(statement, tuple(remarks)))
                remarks = []
            case _:
                said = ast.unparse(statement).partition("\n")[0]
                raise TurnError(f"`{said}` does more than compute")
    return steps


def _find_end(turn: Turn, facts: Facts, is_late: bool) -> None:
    """The products whose sums nothing in the turn reads, and all that is cheap and only theirs."""
    steps = turn.steps
    products = [at for at, step in enumerate(steps) if step.is_product]
    if len(products) < (1 if is_late else 2):
        raise TurnError("it has no two products")
    end = {
        at
        for at in products
        if steps[at].adds and not any(steps[at].target in step.reads for step in steps[at + 1 :])
    }
    if products[-1] not in end:
        raise TurnError(f"`{steps[products[-1]].target}` is not added to a sum")
    while True:
        users = {at: _users(turn, at) for at in range(len(steps)) if at not in end}
        sums = {steps[at].target for at in end if steps[at].is_product} if is_late else set()
        more = {
            at
            for at, used in users.items()
            if used and used <= end and (_is_cheap(steps[at], facts) or _scales(steps[at], sums))
        }
        if not more:
            break
        end |= more
    turn.end = sorted(end)


def _scales(step: Step, sums: set[str]) -> bool:
    """Whether a step is `total = total * factor` for one of these sums."""
    match step.value:
        case ast.BinOp(left=ast.Name(id=total), op=ast.Mult(), right=right):
            return total == step.target and total in sums and total not in names_in(right)
    return False


def _users(turn: Turn, at: int) -> set[int]:
    """The later steps of the turn that read what a step sets."""
    target = turn.steps[at].target
    return {
        one
        for one in range(at + 1, len(turn.steps))
        if target in turn.steps[one].reads and turn.setter(one, target) == at
    }


def _is_cheap(step: Step, facts: Facts) -> bool:
    nodes = walk(step.value)
    calls = all(_function(one) in CHEAP for one in nodes if isinstance(one, ast.Call))
    computes = any(isinstance(one, (ast.BinOp, ast.UnaryOp, ast.Compare)) for one in nodes)
    return calls and (step.is_load or not computes or step.target not in facts.tiles)


def _find_leading(turn: Turn, is_late: bool) -> None:
    """The products that need nothing of the turn before, with all that they need."""
    found: set[int] = set()
    for at, step in enumerate(turn.steps):
        if step.is_product and at not in turn.end:
            found |= _needed(turn, at) or set()
    turn.leading = sorted(found)
    if not turn.leading and not (is_late and sum(step.is_product for step in turn.steps) == 1):
        raise TurnError("each of its products needs something of the turn before")
    if not turn.rest:
        raise TurnError("nothing is computed between its products")


def _needed(turn: Turn, at: int) -> set[int] | None:
    """A step and those that it needs, or None where it needs something of the turn before."""
    written = {step.target for step in turn.steps}
    found = {at}
    for one in turn.steps[at].reads & written:
        setter = turn.setter(at, one)
        inner = None if setter is None or setter in turn.end else _needed(turn, setter)
        if inner is None:
            return None
        found |= inner
    return found


def _find_carried(turn: Turn, facts: Facts) -> None:
    """What the end reads of the rest, and what it shares with the leading products."""
    carried: dict[str, None] = {}
    again: set[int] = set()
    written = {step.target for step in turn.steps}
    waiting = list(turn.end)
    while waiting:
        at = waiting.pop(0)
        for one in sorted(turn.steps[at].reads & written):
            setter = turn.setter(at, one)
            if (one in turn.sums and at in turn.end) or setter in turn.end or setter in again:
                continue
            if setter is None:
                raise TurnError(f"the end of a turn reads `{one}` of the turn before")
            step = turn.steps[setter]
            if setter not in turn.leading and not step.is_load and at not in again:
                if setter != turn.last_setter(one):
                    raise TurnError(f"`{one}` is set again after its product has read it")
                carried[one] = None
            elif step.is_load or step.is_product or not _is_cheap(step, facts):
                raise TurnError(f"`{one}` is needed at both ends of a turn")
            else:
                again.add(setter)
                waiting.append(setter)
    turn.carried, turn.again = list(carried), sorted(again)
    for one in turn.overwritten:
        at = turn.last_setter(one)
        if any(turn.setter(user, one) is None for user in range(at) if _reads(turn, user, one)):
            raise TurnError(f"`{one}` goes from one turn to the next by itself")


def _reads(turn: Turn, at: int, one: str) -> bool:
    return one in turn.steps[at].reads


def _require_order(turn: Turn) -> None:
    """What leads may stand before all else of the turn, and before the end of the one before."""
    leading, steps = set(turn.leading), turn.steps
    for at in turn.leading:
        for earlier in set(range(at)) - leading:
            clash = {steps[at].target} & {steps[earlier].target, *steps[earlier].reads}
            clash |= {steps[earlier].target} & steps[at].reads
            if clash:
                raise TurnError(f"`{min(clash)}` is set in between")
    clash = {steps[at].target for at in turn.leading} & {steps[at].target for at in turn.end}
    if clash:
        raise TurnError(f"`{min(clash)}` is set at both ends of a turn")
    for at in turn.end:
        later = {steps[one].target for one in turn.rest if one > at}
        if steps[at].target in later:
            raise TurnError(f"`{steps[at].target}` is set again behind the last product")


def is_read_first(body: list[ast.stmt], one: str) -> bool:
    """Whether statements may read a name before they set it."""
    return next(_first_uses(body, one), "") == "read"


def _first_uses(body: list[ast.stmt], one: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if one in names_in(value):
                    yield "read"
                elif target == one:
                    yield "set"
            case ast.For(iter=header):
                if one in names_in(header) or is_read_first(statement.body, one):
                    yield "read"
            case ast.If() | ast.While():
                inner = (is_read_first(block, one) for block in blocks_of(statement))
                if one in names_in(statement.test) or any(inner):
                    yield "read"
            case Comment() | Blank():
                continue
            case _ if one in names_in(statement):
                yield "read"


def _is_dot(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.dot"


def _function(node: ast.AST) -> str:
    """`load` of `desc.load(…)` and of `tl.load(…)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr=function)):
            return function
    return ""
