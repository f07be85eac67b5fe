"""Replace `break`, `continue` and `return` with conditions: Triton's loops run to their end.

What follows a jump in its block moves under the opposite condition, and a loop that a jump may
leave becomes a `while` on a variable.

before:
    def first(A: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.serial(64):
                if A[i] == 0:
                    continue
                if A[i] < 0:
                    break
                C[i] = A[i]

after:
    def first(A: T.Tensor((64,), 'int32'), C: T.Tensor((64,), 'int32')):
        with T.Kernel(1, threads=128) as bx:
            looping = T.alloc_var('bool', True)
            i = T.alloc_var('int32', 0)
            while looping and i < 64:
                if not A[i] == 0:
                    if A[i] < 0:
                        looping = False
                    else:
                        C[i] = A[i]
                i = i + 1
"""

import ast
from dataclasses import dataclass, field

from rewrites.environment import Names, environment_of
from rewrites.erasures import set_down
from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.lower_loops import bounds
from rewrites.nodes import Blank, Comment
from rewrites.quote import expr, name, place, stmts
from rewrites.tree import blocks_of, function_of, names_in, walk

_JUMPS = (ast.Break, ast.Continue, ast.Return)


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Rewrite every block that holds a jump; flags become variables of the facts."""
    function = function_of(tree)
    if any(isinstance(node, _JUMPS) for node in walk(function)):
        remover = _Remover(function, facts, Names.of(tree, facts))
        for statement in function.body:
            if isinstance(statement, ast.With):
                remover.kernel(statement)
    return tree


@dataclass
class _Place:
    """What a jump may leave: a loop or the kernel. `flags` are the variables made for it."""

    is_parallel: bool = False
    flags: dict[str, str] = field(default_factory=dict)


@dataclass
class _Block:
    """A rewritten block: which jumps may have left it, and whether one surely did."""

    body: list[ast.stmt]
    may: frozenset[str] = frozenset()
    always: bool = False


class _Remover:
    def __init__(self, function: ast.FunctionDef, facts: Facts, names: Names) -> None:
        self.function = function
        self.facts = facts
        self.names = names
        self.loops: list[_Place] = []
        self.whole = _Place()
        # All flags, and those that some condition reads; stores to the others are dropped.
        self.made: set[str] = set()
        self.read: set[str] = set()

    def kernel(self, block: ast.With) -> None:
        self.whole = _Place()
        made = self.block(block.body)
        block.body = [*self._declared(self.whole, ("return",), block), *made.body]
        block.body = _without_stores(block.body, self.made - self.read)

    def block(self, body: list[ast.stmt]) -> _Block:
        """The statements, each under the condition that none before it jumped."""
        result = _Block([])
        for at, statement in enumerate(body):
            if not any(isinstance(node, _JUMPS) for node in walk(statement)):
                result.body.append(statement)
                continue
            if isinstance(statement, _JUMPS):
                return self._jump(statement, result)
            if isinstance(statement, ast.If):
                return self._branch(statement, body[at + 1 :], result)
            left = self._loop(statement, result.body)
            result.may |= left
            if left:
                return self._guarded(body[at + 1 :], left, statement, result)
        return result

    def _jump(self, statement: ast.stmt, before: _Block) -> _Block:
        kind = type(statement).__name__.lower()
        if kind == "return":
            if any(loop.is_parallel for loop in self.loops):
                raise refuse(
                    statement,
                    "T2T331",
                    "`return` stands inside T.Parallel, whose iterations all end together",
                    hint="leave the rest of the body out with `if` or `continue`",
                )
            owner = self.whole
        else:
            owner = self.loops[-1]
            if kind == "break" and owner.is_parallel:
                raise refuse(
                    statement,
                    "T2T330",
                    "`break` cannot leave T.Parallel, whose iterations have no order",
                    hint="use T.serial, or skip iterations with `if` or `continue`",
                )
        before.body += _placed(stmts("flag = False", flag=self._flag(owner, kind)), statement)
        return _Block(before.body, before.may | {kind}, always=True)

    def _branch(self, statement: ast.If, rest: list[ast.stmt], before: _Block) -> _Block:
        """An `if` of which a side may jump: the rest runs where none did."""
        first, second = self.block(statement.body), self.block(statement.orelse)
        may = before.may | first.may | second.may
        result = _Block([*before.body, statement], may, first.always and second.always)
        following = [one for one in rest if not isinstance(one, (Comment, Blank))]
        if following and not result.always:
            # Where one side surely jumps, the rest belongs to the other.
            target = second if first.always else first if second.always else None
            if target is None:
                result = self._guarded(rest, first.may | second.may, statement, result)
            else:
                joined = self._guarded(rest, target.may, statement, target)
                target.body = joined.body
                result.may |= joined.may
                result.always = joined.always
        statement.body = first.body or [ast.copy_location(ast.Pass(), statement)]
        statement.orelse = second.body
        return result

    def _guarded(
        self, rest: list[ast.stmt], may: frozenset[str], node: ast.stmt, before: _Block
    ) -> _Block:
        """`before`, then `rest` under the condition that none of the jumps happened."""
        after = self.block(rest)
        if not any(not isinstance(one, (Comment, Blank)) for one in after.body):
            return before
        if not may:
            before.body += after.body
            return _Block(before.body, before.may | after.may, after.always)
        guard = ast.If(self._none_of(may), after.body, [])
        before.body.append(place(guard, node))
        return _Block(before.body, before.may | after.may)

    def _none_of(self, may: frozenset[str]) -> ast.expr:
        owners = {"break": self.loops[-1:], "continue": self.loops[-1:], "return": [self.whole]}
        flags = [
            self._flag(owner, kind)
            for kind in ("return", "break", "continue")
            if kind in may
            for owner in owners[kind]
        ]
        self.read |= set(flags)
        parts: list[ast.expr] = [name(flag) for flag in flags]
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    # Loops.

    def _loop(self, loop: ast.stmt, out: list[ast.stmt]) -> frozenset[str]:
        """Append a loop without jumps; the jumps that go further than it."""
        assert isinstance(loop, (ast.For, ast.While))
        is_parallel = isinstance(loop, ast.For) and _operator(loop) == "Parallel"
        inside = any(one.is_parallel for one in self.loops)
        owner = _Place(is_parallel)
        self.loops.append(owner)
        made = self.block(loop.body)
        self.loops.pop()
        proceed = self._declared(owner, ("continue",), loop)
        loop.body = [*proceed, *made.body] or [ast.copy_location(ast.Pass(), loop)]
        leaves = made.may & {"break", "return"}
        if leaves:
            self._leave(loop, owner, leaves, inside, out)
        else:
            out.append(loop)
        return made.may & {"return"}

    def _leave(
        self,
        loop: ast.For | ast.While,
        owner: _Place,
        leaves: frozenset[str],
        inside: bool,
        out: list[ast.stmt],
    ) -> None:
        """A loop that a jump may end: it runs as long as none did."""
        self.loops.append(owner)
        test = self._none_of(leaves)
        self.loops.pop()
        out += self._declared(owner, ("break",), loop)
        if isinstance(loop, ast.While):
            is_endless = isinstance(loop.test, ast.Constant)
            loop.test = place(test if is_endless else _both(test, loop.test), loop)
            out.append(loop)
        elif inside:
            # Each element of T.Parallel leaves the loop by itself.
            loop.body = [place(ast.If(test, loop.body, []), loop)]
            out.append(loop)
        else:
            out += self._as_while(loop, test)

    def _as_while(self, loop: ast.For, test: ast.expr) -> list[ast.stmt]:
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)
        start, stop, step = bounds(self.facts.operators[_operator(loop)].arguments(loop.iter))
        counter = self._counter(loop)
        result = self._without_stages(loop)
        if _may_change(stop, self.facts):
            # A `for` looks at its end once, a `while` in every turn.
            end = self.names.fresh(f"{counter}_end")
            result += stmts("end = stop", end=end, stop=stop)
            stop = name(end)
        interval = environment_of(self.facts).range(step)
        assert interval.low is not None, "checked by the operator"
        order = expr("i < stop" if interval.low > 0 else "i > stop", i=name(counter), stop=stop)
        self.facts.variables[counter] = "int32"
        self.facts.counters[counter] = (start, stop, interval.low)
        result += stmts("i = T.alloc_var('int32', start)", i=counter, start=start)
        turn = ast.While(_both(test, order), [*loop.body], [])
        turn.body += stmts("i = i + step", i=counter, step=step)
        return _placed([*result, turn], loop)

    def _without_stages(self, loop: ast.For) -> list[ast.stmt]:
        """What is said of the stages of a loop that becomes a `while`."""
        assert isinstance(loop.iter, ast.Call)
        if _operator(loop) != "Pipelined":
            return []
        stages = self.facts.operators["Pipelined"].arguments(loop.iter)["num_stages"]
        if isinstance(stages, ast.Constant) and stages.value in (0, 1, None):
            return []
        hint = f"num_stages={ast.unparse(stages)}"
        reason = "Triton pipelines no loop that a jump may leave"
        set_down(self.facts, loop.iter, hint, reason)
        return [Comment(f"Without {hint}: {reason}.")]

    def _counter(self, loop: ast.For) -> str:
        """The loop's variable, under a name that no other loop uses."""
        assert isinstance(loop.target, ast.Name)
        old = loop.target.id
        users = [
            node
            for node in walk(self.function)
            if isinstance(node, ast.For) and old in names_in(node.target)
        ]
        if len(users) == 1:
            return old
        new = self.names.fresh(old)
        for statement in loop.body:
            for node in walk(statement):
                if isinstance(node, ast.Name) and node.id == old:
                    node.id = new
        return new

    # Flags.

    def _flag(self, owner: _Place, kind: str) -> str:
        if kind not in owner.flags:
            owner.flags[kind] = self.names.fresh(_FLAGS[kind])
            self.made.add(owner.flags[kind])
        return owner.flags[kind]

    def _declared(self, owner: _Place, kinds: tuple[str, ...], node: ast.stmt) -> list[ast.stmt]:
        """The declarations of the flags that some condition reads."""
        result: list[ast.stmt] = []
        for kind in kinds:
            flag = owner.flags.get(kind)
            if flag is not None and flag in self.read:
                self.facts.variables[flag] = "bool"
                result += stmts("flag = T.alloc_var('bool', True)", flag=flag)
        return _placed(result, node)


_FLAGS = {"break": "looping", "continue": "proceed", "return": "active"}


def _operator(loop: ast.For) -> str:
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
    return loop.iter.func.attr


def _both(first: ast.expr, second: ast.expr) -> ast.expr:
    parts = first.values if isinstance(first, ast.BoolOp) else [first]
    return ast.BoolOp(ast.And(), [*parts, second])


def _may_change(tree: ast.expr, facts: Facts) -> bool:
    """Whether a later turn might find another value: memory is read, or a variable."""
    reads_memory = any(isinstance(node, ast.Subscript) for node in walk(tree))
    return reads_memory or bool(names_in(tree) & {*facts.variables, *facts.tiles})


def _placed(made: list[ast.stmt], like: ast.AST) -> list[ast.stmt]:
    return [place(statement, like) for statement in made]


def _without_stores(body: list[ast.stmt], dropped: set[str]) -> list[ast.stmt]:
    """The block without stores to these names; an `if` of which one side is left keeps that one."""
    result: list[ast.stmt] = []
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)]) if target in dropped:
                continue
            case ast.If():
                first = _without_stores(statement.body, dropped)
                second = _without_stores(statement.orelse, dropped)
                if _is_empty(first) and not _is_empty(second):
                    opposite = ast.UnaryOp(ast.Not(), statement.test)
                    statement.test = ast.copy_location(opposite, statement.test)
                    first, second = second, []
                statement.body = first or [ast.copy_location(ast.Pass(), statement)]
                statement.orelse = second
            case _:
                for block in blocks_of(statement):
                    block[:] = _without_stores(block, dropped) or [
                        ast.copy_location(ast.Pass(), statement)
                    ]
        result.append(statement)
    return result


def _is_empty(block: list[ast.stmt]) -> bool:
    return all(isinstance(statement, ast.Pass) for statement in block)
