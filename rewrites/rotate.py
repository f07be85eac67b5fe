"""Begin a turn of a loop with its products, and end the turn before behind them.

In attention the softmax stands between two products, and matrix units wait for it. In the rotated
loop the last product of a turn is made in the next one, behind the products that need nothing of
the turn before: it runs while the softmax is computed.

What only the last product needs, its loads and casts, goes with it. A loop stays as it is where
that takes more registers than there are, where a turn does more than compute and load, or where it
only goes on where another one stopped.

before with rotate=1:
    def k(A, B, C):
        bx = tl.program_id(0)
        q = tl.load(A)
        acc = tl.zeros((64, 64), tl.float32)
        for k in tl.range(bx, num_stages=2):
            b = tl.load(B + k)
            s = tl.dot(q, b)
            w = tl.exp(s)
            c = tl.load(C + k)
            acc = tl.dot(w.to(tl.float16), c, acc)
        tl.store(A, acc)

after:
    def k(A, B, C):
        bx = tl.program_id(0)
        q = tl.load(A)
        acc = tl.zeros((64, 64), tl.float32)
        if bx > 0:
            b = tl.load(B)
            s = tl.dot(q, b)
            w = tl.exp(s)
            for k in tl.range(1, bx, num_stages=2):
                b = tl.load(B + k)
                s = tl.dot(q, b)
                c = tl.load(C + (k - 1))
                acc = tl.dot(w.to(tl.float16), c, acc)
                w = tl.exp(s)
            c = tl.load(C + (bx - 1))
            acc = tl.dot(w.to(tl.float16), c, acc)
        tl.store(A, acc)
"""

import ast
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from math import prod

from rewrites.dtypes import bits
from rewrites.environment import Names, environment_of
from rewrites.facts import Facts, is_specialized
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, name, place, stmts, substituted
from rewrites.ranges import Range, range_of
from rewrites.tree import blocks_of, kernels_of, names_in, walk
from rewrites.turns import Turn, TurnError, turn_of

FIRST = "The first turn: each later one begins with its products, and ends the one before."
BEHIND = "Of the turn before; it runs while the rest of this one is computed."
# Tiles in registers that stay below this many for each thread leave enough for the rest.
REGISTERS = 208


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Rotate the loops of a kernel whose schedule asks for it, as far as they allow it."""
    if not facts.schedule.rotate or is_specialized(facts):
        return tree
    if facts.target == "cuda:100":
        facts.unrotated.append("Triton itself ends turns in the next one, where tcgen05 multiplies")
    else:
        for kernel in kernels_of(tree):
            rotated_kernel(kernel, facts)
    return tree


def rotated_kernel(kernel: ast.FunctionDef, facts: Facts, is_late: bool = False) -> ast.FunctionDef:
    """A kernel with its loops rotated, as far as they allow it; `is_late` as for `turn_of`."""
    _Rotation(kernel, facts, is_late).block(kernel.body, [])
    return kernel


@dataclass
class _Rotation:
    kernel: ast.FunctionDef
    facts: Facts
    is_late: bool = False

    def __post_init__(self) -> None:
        self.names = Names.of(self.kernel, self.facts)
        self.ranges: dict[str, Range] = dict(environment_of(self.facts).ranges)
        warps = [one.num_warps for one in self.facts.launches if one.kernel == self.kernel.name]
        lanes = 64 if self.facts.target.startswith("hip") else 32
        self.threads = lanes * warps[0] if warps else 128
        stored = (one for one in walk(self.kernel) if isinstance(one, ast.Name))
        self.counts = Counter(one.id for one in stored if isinstance(one.ctx, ast.Store))
        # Where the loops before stopped.
        self.stops: set[str] = set()

    def block(self, body: list[ast.stmt], behind: list[ast.stmt]) -> None:
        """Rotate the loops in a block; `behind` is what runs after it."""
        result: list[ast.stmt] = []
        for at, statement in enumerate(body):
            after = [*body[at + 1 :], *behind]
            match statement:
                case ast.For() if _has_products(statement):
                    result += self.loop(statement, after)
                    continue
                case ast.For() | ast.While():
                    self.block(statement.body, [*statement.body, *after])
                case ast.If():
                    for inner in blocks_of(statement):
                        self.block(inner, after)
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    if self.counts[target] == 1:
                        self.ranges[target] = range_of(value, self.ranges)
            result.append(statement)
        body[:] = result

    def loop(self, loop: ast.For, after: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that stand for a loop."""
        try:
            turn = turn_of(loop, after, self.facts, self.is_late)
            goes_on = ast.dump(turn.start) in self.stops
            self.stops.add(ast.dump(turn.stop))
            if goes_on:
                # As over the last blocks, which need a mask: these are few.
                raise TurnError("it goes on where a loop before it stopped")
            self.require_registers(turn)
            self.require_halves(turn)
            self.require_places(turn)
        except TurnError as error:
            self.facts.unrotated.append(f"the loop over `{ast.unparse(loop.target)}`: {error}")
            return [loop]
        self.facts.rotated.append(turn.variable)
        return self.rotated(turn)

    def require_registers(self, turn: Turn) -> None:
        """Of the sums, the leading products, and what is carried from one turn to the next."""
        held = dict.fromkeys((*turn.sums, *turn.products, *turn.carried))
        tiles = {one: self.facts.tiles[one] for one in held if one in self.facts.tiles}
        needed = sum(
            prod(tile.shape) * bits(tile.dtype) // 32 // self.threads for tile in tiles.values()
        )
        # A name may stand for two tiles at once, as scores and weights.
        for one in turn.overwritten:
            if one in tiles:
                tile = tiles[one]
                needed += prod(tile.shape) * bits(tile.dtype) // 32 // self.threads
        if needed > REGISTERS:
            raise TurnError(f"its tiles would take {needed} registers of each thread at once")

    def require_halves(self, turn: Turn) -> None:
        """Other operands are turned round by a patch, which wants all loads of one in a loop."""
        for step in turn.steps:
            tile = self.facts.tiles.get(step.target)
            is_wide = tile is not None and tile.rank > 1 and bits(tile.dtype) != 16
            if self.facts.target == "cuda:90" and step.is_load and is_wide:
                raise TurnError(f"wgmma does not read `{step.target}` as it lies in memory")

    def require_places(self, turn: Turn) -> None:
        """Numbers that are known when a kernel is compiled stand for the variable in places only.

        Elsewhere they would be of another type, and divided another way, than what counts turns.
        """
        known = {*self.facts.constants, "tl"}
        ends = ((turn.start, [*turn.leading, *turn.rest]), (turn.stop, [*turn.again, *turn.end]))
        for bound, places in ends:
            numbers = {turn.variable}
            for at in sorted(places) if names_in(bound) <= known else ():
                step = turn.steps[at]
                for one in sorted(numbers & step.reads):
                    if not _is_place(step.value, one, self.facts):
                        said = ast.unparse(step.value).partition("\n")[0]
                        raise TurnError(f"`{one}` is more than a place in `{said}`")
                is_tile = step.target in self.facts.tiles or "tl.arange(" in ast.unparse(step.value)
                # What is loaded has the type that it has in memory.
                if numbers & step.reads and not is_tile and not step.is_load:
                    numbers.add(step.target)

    def rotated(self, turn: Turn) -> list[ast.stmt]:
        new = {one: self.names.fresh(f"{one}_before") for one in turn.overwritten}
        shared = {turn.steps[at].target for at in turn.again}
        own = {one: self.names.fresh(f"{one}_before") for one in sorted(shared - new.keys())}
        copies = _Copies(turn, new, own, {*self.facts.constants, *self.facts.dims})
        variable, start, stop = turn.variable, turn.start, turn.stop
        one_before = _simplified(expr("k - 1", k=name(variable)))
        body = [
            *copies.of(turn.leading, {}),
            Comment(BEHIND),
            *copies.end({variable: one_before}),
            *copies.of(turn.rest, {}, with_remarks=True),
        ]
        inner = copy_tree(turn.loop)
        assert isinstance(inner.iter, ast.Call)
        inner.iter.args = [_simplified(expr("a + 1", a=start)), copy_tree(stop)]
        inner.body = body
        made: list[ast.stmt] = [
            Comment(FIRST),
            *copies.of([*turn.leading, *turn.rest], {variable: start}),
            inner,
            *copies.end({variable: _simplified(expr("a - 1", a=stop))}),
        ]
        asserted = [copy_tree(one) for one in turn.asserted]
        if not self.has_turns(turn):
            (guard,) = stmts("if stop > start:\n    pass", start=start, stop=stop)
            assert isinstance(guard, ast.If)
            guard.body = made
            made = [guard]
        return [place(one, turn.loop) for one in (*asserted, *made)]

    def has_turns(self, turn: Turn) -> bool:
        """Whether the loop has one turn at least."""
        count = range_of(expr("stop - start", start=turn.start, stop=turn.stop), self.ranges)
        return count.low is not None and count.low >= 1


@dataclass
class _Copies:
    """Copies of steps, in which what is carried under a name that is set anew has a new one.

    `new` are these names; `own` those of what the end of a turn computes again for itself.
    """

    turn: Turn
    new: dict[str, str]
    own: dict[str, str]
    # What is a number, and no tile.
    numbers: set[str]

    def of(
        self, places: list[int], values: dict[str, ast.expr], with_remarks: bool = False
    ) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for at in places:
            step = self.turn.steps[at]
            carried = {
                one: other for one, other in self.new.items() if at > self.turn.last_setter(one)
            }
            sets = self.new if at == self.turn.last_setter(step.target) else {}
            made += step.remarks if with_remarks else ()
            made.append(self.copy(at, {**values, **carried}, sets.get(step.target, step.target)))
        return made

    def end(self, values: dict[str, ast.expr]) -> list[ast.stmt]:
        names = {**self.new, **self.own}
        places = sorted({*self.turn.again, *self.turn.end})
        again = set(self.turn.again)
        return [
            self.copy(
                at,
                {**values, **names},
                names[self.turn.steps[at].target] if at in again else self.turn.steps[at].target,
            )
            for at in places
        ]

    def copy(self, at: int, values: dict[str, ast.expr | str], target: str) -> ast.stmt:
        statement = self.turn.steps[at].statement
        made = copy_tree(statement)
        made.value = _simplified(substituted(statement.value, values), self.numbers)
        made.targets = [name(target)]
        return place(made, statement)


def _has_products(loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.dot"
        for statement in loop.body
        if isinstance(statement, ast.Assign)
        for node in walk(statement)
    )


def _is_place(tree: ast.expr, variable: str, facts: Facts) -> bool:
    """Whether a variable is only added to and multiplied by numbers, to tell where tiles are."""

    def is_fine(part: ast.expr) -> bool:
        return _is_place(part, variable, facts)

    if variable not in names_in(tree):
        return True
    match tree:
        case ast.Name():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            others = [one for one in (left, right) if variable not in names_in(one)]
            are_numbers = all(
                ast.unparse(one).startswith("tl.arange(")
                or (
                    isinstance(one, (ast.Name, ast.Constant, ast.BinOp))
                    and not names_in(one) & facts.tiles.keys()
                )
                for one in others
            )
            return are_numbers and is_fine(left) and is_fine(right)
        case ast.List(elts=parts):
            return all(map(is_fine, parts))
        case ast.Call(func=ast.Attribute(attr="load"), args=args, keywords=words):
            return all(map(is_fine, (*args, *(word.value for word in words))))
        case ast.Compare(left=left, comparators=others):
            return all(map(is_fine, (left, *others)))
        case ast.Call(func=ast.Attribute(value=inner, attr="reshape"), args=args):
            return is_fine(inner) and not any(variable in names_in(one) for one in args)
        case ast.Subscript(value=inner):
            return is_fine(inner)
    return False


def _simplified(tree: ast.expr, numbers: Set[str] = frozenset()) -> ast.expr:
    """The same with what is 0 times one of the `numbers` left out, and sums of numbers computed."""
    result = _Simplify(numbers).visit(copy_tree(tree))
    assert isinstance(result, ast.expr)
    return result


@dataclass
class _Simplify(ast.NodeTransformer):
    numbers: Set[str]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(int(a)), ast.Add(), ast.Constant(int(b))):
                return ast.Constant(a + b)
            case ast.BinOp(ast.Constant(int(a)), ast.Sub(), ast.Constant(int(b))):
                return ast.Constant(a - b)
            case ast.BinOp(ast.Constant(0), ast.Add(), other):
                return other
            case ast.BinOp(other, ast.Add() | ast.Sub(), ast.Constant(0)):
                return other
            case ast.BinOp(ast.Constant(0), ast.Mult(), ast.Name(one)) if one in self.numbers:
                return ast.Constant(0)
        return node
