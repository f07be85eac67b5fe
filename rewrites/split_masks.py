"""Split a loop into the turns in which its masks let everything through, and the others.

A mask costs instructions in each turn, and in most turns of attention it hides nothing: causal
masks only on the diagonal, others only where the sequence ends. Behind the turns of a causal mask,
or of a ragged tail, stands a second loop, whose body is that of the first one with masks; a window
needs one before them, too.

A loop that goes on where another one stopped was split already.

before with split_masks=1:
    def k(Q: T.Tensor((512, 64), "float16"), K: T.Tensor((512, 64), "float16"), S: T.Tensor((512, 64), "float32")):
        with T.Kernel(8, threads=128) as bx:
            q = T.alloc_shared((64, 64), "float16")
            k = T.alloc_shared((64, 64), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            T.copy(Q[bx * 64, 0], q)
            for n in T.Pipelined(8, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    s[i, j] = T.if_then_else(n * 64 + j <= bx * 64 + i, s[i, j], 0)
                T.copy(s, S[bx * 64, 0])

after:
    def k(Q: T.Tensor((512, 64), 'float16'), K: T.Tensor((512, 64), 'float16'), S: T.Tensor((512, 64), 'float32')):
        with T.Kernel(8, threads=128) as bx:
            q = T.alloc_shared((64, 64), 'float16')
            k = T.alloc_shared((64, 64), 'float16')
            s = T.alloc_fragment((64, 64), 'float32')
            T.copy(Q[bx * 64, 0], q)
            whole = T.min((bx * 64 + 1) // 64, 8)
            for n in T.Pipelined(0, whole, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, S[bx * 64, 0])
            for n in T.Pipelined(whole, 8, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(64, 64):
                    s[i, j] = T.if_then_else(n * 64 + j <= bx * 64 + i, s[i, j], 0)
                T.copy(s, S[bx * 64, 0])
"""  # noqa: E501

import ast
from dataclasses import dataclass

from rewrites.changes import changed_names
from rewrites.cleared_products import clear_products
from rewrites.environment import Environment, Names, environment_of
from rewrites.facts import Facts
from rewrites.lower_loops import bounds, step_of
from rewrites.masked_turns import Masks, without_masks
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, name, place, stmts
from rewrites.sums import Reader
from rewrites.tree import blocks_of, function_of, loop_kind, names_in, walk
from rewrites.turn_bounds import bounds_of
from rewrites.whole_numbers import is_whole

UNMASKED = "In these turns masks hide nothing."
MASKED = "In these they may."
_LOOPS = ("Pipelined", "serial")


class UnsplitError(Exception):
    """Why a loop stays as it is."""


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Split the loops of a kernel whose schedule asks for it, as far as they allow it."""
    if facts.schedule.split_masks:
        _Splitting(facts, Names.of(tree, facts)).block(function_of(tree).body)
    return tree


@dataclass
class _Splitting:
    facts: Facts
    names: Names

    def __post_init__(self) -> None:
        self.known = environment_of(self.facts)
        self.known.dtypes.update(self.facts.variables)
        self.lets: dict[str, ast.expr] = {}
        # Where the loops before stopped.
        self.stops: set[str] = set()

    def block(self, body: list[ast.stmt]) -> bool:
        """Split the loops in a block; whether there are some with masks."""
        result: list[ast.stmt] = []
        has_split = False
        for statement in body:
            made = [statement]
            match statement:
                case ast.With(items=[ast.withitem(context_expr=header, optional_vars=target)]):
                    self._grid(header, target)
                    has_split |= self.block(statement.body)
                case ast.For() if loop_kind(statement) in _LOOPS:
                    made = self._loop(statement)
                case ast.Assign(targets=[ast.Name(id=one)], value=value):
                    self._let(one, value)
                case _ if loop_kind(statement) != "Parallel":
                    for inner in blocks_of(statement):
                        has_split |= self.block(inner)
            has_split |= len(made) > 1
            result += made
        body[:] = result
        return has_split

    def _grid(self, header: ast.expr, target: ast.expr | None) -> None:
        variables = target.elts if isinstance(target, ast.Tuple) else [target]
        extents = header.args if isinstance(header, ast.Call) else []
        for variable, extent in zip(variables, extents, strict=False):
            if isinstance(variable, ast.Name):
                self.known.add_counter(variable.id, ast.Constant(0), extent, 1)

    def _let(self, one: str, value: ast.expr) -> None:
        if one not in self.facts.variables and is_whole(value, self.known, self.facts):
            self.known.dtypes[one] = "int64"
            self.known.ranges[one] = self.known.range(value)
            self.lets[one] = value

    def _loop(self, loop: ast.For) -> list[ast.stmt]:
        """The statements that stand for a loop."""
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        assert isinstance(loop.target, ast.Name)
        arguments = self.facts.operators[loop.iter.func.attr].arguments(loop.iter)
        start, stop, step = bounds(arguments)
        goes_on = ast.dump(start) in self.stops
        self.stops.add(ast.dump(stop))
        stride = step_of(step, self.known)
        self.known.add_counter(loop.target.id, start, stop, stride)
        if self.block(loop.body):
            return [loop]
        masks = _masks(loop, self.known, self.facts)
        if not masks.bounds:
            return [loop]
        try:
            if goes_on:
                raise UnsplitError("it goes on where a loop before it stopped")
            self._require(loop, stride)
            made = self._split(loop, start, stop, masks)
        except UnsplitError as error:
            self.facts.unsplit.append(f"the loop over `{loop.target.id}`: {error}")
            return [loop]
        self.facts.split.append(loop.target.id)
        return [place(one, loop) for one in made]

    def _require(self, loop: ast.For, stride: int) -> None:
        if stride != 1:
            raise UnsplitError("it does not count one by one")
        ordered = [one for one in self.facts.written_hints if one.line == loop.iter.lineno]
        if any({"order", "stage"} & one.arguments.keys() for one in ordered):
            raise UnsplitError("its statements have stages of their own")

    def _split(
        self, loop: ast.For, start: ast.expr, stop: ast.expr, masks: Masks
    ) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        unmasked = without_masks(loop.body, masks.decided)
        clear_products(unmasked, self.known, self.facts)
        found = bounds_of(masks, start, stop, self.lets)
        if found.nothing:
            raise UnsplitError("its masks hide something in each turn")
        if found.everything is not None:
            made += stmts("T.static_assert(condition)", condition=found.everything)
            return [*made, _part(loop, start, stop, unmasked)]
        if not isinstance(start, (ast.Constant, ast.Name)):
            start = self._named("start", start, made)
        if not isinstance(stop, (ast.Constant, ast.Name)) and not self._is_fixed(stop):
            stop = self._named("stop", stop, made)
        found = bounds_of(masks, start, stop, self.lets)
        first, end = start, stop
        if found.first is not None:
            first = self._named("first_whole", found.first, made)
        if found.end is not None:
            last = found.end
            if found.first is not None:
                last = expr("T.max(end, first)", end=last, first=first)
            end = self._named("whole", last, made)
        if found.first is not None:
            made += [Comment(MASKED), _part(loop, start, first, copy_tree(loop).body)]
        made += [Comment(UNMASKED), _part(loop, first, end, unmasked)]
        if found.end is not None:
            made += [Comment(MASKED), _part(loop, end, stop, loop.body)]
        return made

    def _named(self, base: str, value: ast.expr, made: list[ast.stmt]) -> ast.Name:
        identifier = self.names.fresh(base)
        made += stmts("one = value", one=identifier, value=value)
        self._let(identifier, value)
        return name(identifier)

    def _is_fixed(self, stop: ast.expr) -> bool:
        """Whether it is made of sizes alone."""
        return names_in(stop) - {"T"} <= {*self.facts.constants, *self.facts.dims}


def _part(loop: ast.For, start: ast.expr, stop: ast.expr, body: list[ast.stmt]) -> ast.For:
    """The loop over some of its turns."""
    made = copy_tree(ast.For(loop.target, loop.iter, [], [], None))
    ast.copy_location(made, loop)
    assert isinstance(made.iter, ast.Call)
    made.iter.args = [copy_tree(start), copy_tree(stop)]
    made.body = body
    return made


def _masks(loop: ast.For, known: Environment, facts: Facts) -> Masks:
    assert isinstance(loop.target, ast.Name)
    bound: dict[str, list[ast.expr]] = {}
    counters = {loop.target.id}
    for node in walk(ast.Module(loop.body, [])):
        match node:
            case ast.For(target=target):
                counters |= names_in(target)
            case ast.Assign(targets=[ast.Name(id=one)], value=value):
                bound.setdefault(one, []).append(value)
    # Names that the turn binds once stand for their values.
    once = {one: values[0] for one, values in bound.items() if len(values) == 1}
    lets = {one: value for one, value in once.items() if one not in facts.variables}
    changed = {one for statement in loop.body for one in changed_names(statement, facts)}
    written = (changed - lets.keys()) | counters
    written |= _sharing_memory(written, facts)
    masks = Masks(loop.target.id, Reader(lets, counters), known, facts, written)
    masks.find(loop.body)
    return masks


def _sharing_memory(written: set[str], facts: Facts) -> set[str]:
    """The tensors that are other views of those that are written."""
    memory = {facts.tensors[one].base or one for one in written if one in facts.tensors}
    return {one for one, tensor in facts.tensors.items() if (tensor.base or one) in memory}
