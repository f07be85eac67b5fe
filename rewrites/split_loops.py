"""Share the turns of a loop out to several programs, and combine what they found in a second launch.

Each program keeps what its share of the turns sums up in workspaces. The second launch, which has
the grid of the kernel, combines the parts one after the other and goes on behind the loop, so that
equal inputs give equal bits.

before with splits.k=4:
    def k(A: T.Tensor((64, 4096), "float16"), B: T.Tensor((4096, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(64, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[0, 0])

after:
    parts = 4
    def k(A: T.Tensor((64, 4096), 'float16'), B: T.Tensor((4096, 64), 'float16'), C: T.Tensor((64, 64), 'float16'), c_parts: T.Tensor((1, parts, 64, 64), 'float32')):
        with T.Kernel(1, parts, threads=128) as (bx, part):
            a = T.alloc_shared((64, 64), 'float16')
            b = T.alloc_shared((64, 64), 'float16')
            c = T.alloc_fragment((64, 64), 'float32')
            T.clear(c)
            share = T.ceildiv(64, parts)
            first = part * share
            for k in T.Pipelined(first, T.min(first + share, 64), num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, c_parts[bx, part, :, :])
        with T.Kernel(1, threads=128) as bx:
            c = T.alloc_fragment((64, 64), 'float32')
            T.clear(c)
            c_part = T.alloc_fragment((64, 64), 'float32')
            for part_1 in T.Pipelined(parts, num_stages=4):
                T.copy(c_parts[bx, part_1, :, :], c_part)
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] + c_part[i, j]
            T.copy(c, C[0, 0])
"""  # noqa: E501

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from rewrites.carried import Rule, rules_of
from rewrites.changes import changed_names
from rewrites.combine_parts import Parts
from rewrites.environment import Names
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.hoist_first_values import Flow
from rewrites.loop_ranges import KINDS, loop_ranges, written_name
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, expr, literal, name, place, stmts
from rewrites.tree import function_of, loop_kind, names_in, operator_call, walk
from rewrites.turn_values import NotFollowedError
from rewrites.used_statements import used

# What a kernel may not hold whose loop is shared out: what its threads do by themselves.
_BY_THREADS = ("protocol", "scope", "thread")
_HARMLESS = ("sync_threads", "sync_warp")


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Make two launches of each T.Kernel block that has a loop which the schedule splits."""
    splits = facts.schedule.splits
    if not splits:
        return tree
    function = function_of(tree)
    names = Names.of(tree, facts)
    found = {
        block: loops
        for block in function.body
        if isinstance(block, ast.With) and (loops := loop_ranges(block, splits, facts))
    }
    if not found:
        raise _no_loop(function, splits, facts)
    (count, *others) = set(splits.values())
    if others:
        raise refuse(function, "T2T940", "loops of one kernel are split into equally many parts")
    parts = names.fresh("parts")
    facts.constants[parts] = count
    body: list[ast.stmt] = []
    for block in function.body:
        if block in found:
            assert isinstance(block, ast.With)
            body += Split(block, found[block], parts, names, facts).launches()
        else:
            body.append(block)
    function.body = body
    declared = stmts("parts = count", parts=parts, count=literal(count))
    tree.body[tree.body.index(function) : tree.body.index(function)] = declared
    _declare(function, facts)
    return tree


def _no_loop(function: ast.FunctionDef, splits: Mapping[str, int], facts: Facts) -> RewriteError:
    loops = [
        written_name(node.target, facts)
        for node in walk(function)
        if isinstance(node, ast.For) and loop_kind(node) in KINDS
    ]
    (key, *_) = splits
    what = f"no loop over `{key}`" if key else "no T.Pipelined or T.serial loop"
    return refuse(
        facts.schedule.node(f"splits.{key}", function),
        "T2T940",
        f"T.split has nothing to share out: {what} stands in a T.Kernel block itself",
        (f"loops: {', '.join(f'`{one}`' for one in dict.fromkeys(loops)) or 'none'}",),
        "a loop that is split stands in no other loop or branch; T.split(4) takes the one that "
        'there is, T.split("k", 4) the one over `k`',
    )


@dataclass
class Split:
    """A block, its loops that are shared out, and the name of the number of parts."""

    block: ast.With
    loops: list[ast.For]
    parts: str
    names: Names
    facts: Facts

    def launches(self) -> list[ast.stmt]:
        """The launch that fills the workspaces, and the one that combines them."""
        body = self.block.body
        start, stop = body.index(self.loops[0]), body.index(self.loops[-1])
        self._refuse_threads()
        self._refuse_stored(body[:start], body[start:stop])
        rules = self._rules(body[stop + 1 :])
        header = self.block.items[0].context_expr
        assert isinstance(header, ast.Call)
        variables = self._variables()
        counters = _counters(self.block)
        made = Parts(rules, self.parts, header.args, variables, counters, self.names, self.facts)
        part = self.names.fresh("part")
        resets = made.resets(body[:start])
        shared = [
            one
            for statement in body[start : stop + 1]
            for one in (self._shared(statement, part) if statement in self.loops else [statement])
        ]
        filling = [*_with(body[:start], resets), *shared, *made.stores(name(part))]
        filled = used(filling, len(filling) - len(rules), self.facts)
        self._refuse_stores(filled, set(made.workspaces.values()))
        first = self._launch(filled, part)
        before = [one for one in body[:stop] if one not in self.loops]
        behind = body[stop + 1 :]
        while behind and isinstance(behind[0], Blank):
            del behind[0]
        merging = made.merge(body[:start], behind)
        combining = [*before, *merging, *behind]
        # What the first launch asserts holds in the second one, too.
        combining = [one for one in combining if operator_call(one, "static_assert") is None]
        kept = len(combining) - len(behind)
        second = self._launch(copied(used(combining, kept, self.facts, stores=True)), "")
        return [place(first, self.block), place(second, self.block)]

    def _rules(self, behind: list[ast.stmt]) -> dict[str, Rule]:
        facts, loops = self.facts, self.loops
        bodies = [loop.body for loop in loops]
        written: set[str] = set()
        for body in bodies:
            written |= changed_names(ast.Module(body, []), facts)
        # Other names of a tile's memory are written, too.
        storages = {facts.tiles[one].storage for one in written & facts.tiles.keys()}
        written = {one for one, tile in facts.tiles.items() if tile.storage in storages} | {
            one for one in written if one in facts.variables
        }
        try:
            rules = rules_of(bodies, written, self._needed(written, behind), self._scalars(), facts)
        except NotFollowedError as error:
            raise self._refused(error.node, error.why) from None
        for one in rules:
            if one in facts.tiles and facts.tiles[one].op:
                raise self._refused(loops[0], f"`{one}` is kept in parts by T.alloc_reducer")
        if not rules:
            raise self._refused(loops[0], "nothing of it is needed behind it")
        return rules

    def _needed(self, written: set[str], behind: list[ast.stmt]) -> set[str]:
        """What the loops write that is read behind them."""
        flow = Flow(self.facts)
        flow.declared = {one: ast.Pass() for one in written}
        before = dict(flow.declared)
        flow.block(behind, set())
        return {one for one, statement in before.items() if statement in flow.needed}

    def _scalars(self) -> set[str]:
        """Names that have one value in all of a program."""
        facts = self.facts
        lets = {
            statement.targets[0].id
            for statement in self.block.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
        memory = facts.tiles.keys() | facts.variables.keys() | facts.tensors.keys()
        return (lets | facts.constants.keys() | facts.scalars.keys()) - memory

    def _refuse_threads(self) -> None:
        facts = self.facts
        for node in walk(self.block):
            match node:
                case ast.Call(func=ast.Attribute(attr=called)) if called in facts.operators:
                    kind = "" if called in _HARMLESS else facts.operators[called].kind
                    if kind in _BY_THREADS or called == "sync_grid":
                        why = f"the kernel says with T.{called} what its threads do"
                        raise self._refused(node, why)
                    if called.startswith("rng_"):
                        raise self._refused(node, "its random numbers follow one another")

    def _refuse_stored(self, before: list[ast.stmt], span: list[ast.stmt]) -> None:
        """Tensors are written behind the loop, by the second launch."""
        facts = self.facts
        span = [*span, self.loops[-1]]
        for one in sorted(changed_names(ast.Module(span, []), facts) & facts.tensors.keys()):
            raise self._refused(self._writer(span, one), f"the loop stores to `{one}`")
        early = changed_names(ast.Module(before, []), facts) & facts.tensors.keys()
        storages = {facts.tensors[one].storage for one in early}
        read = names_in(ast.Module(span, [])) & facts.tensors.keys()
        for one in sorted(read):
            if facts.tensors[one].storage in storages:
                why = f"`{one}`, which it reads, is stored to before it"
                raise self._refused(self._writer(before, one), why)

    def _refuse_stores(self, filled: list[ast.stmt], workspaces: set[str]) -> None:
        """What the first launch needs is not stored to tensors, which the second one does."""
        body = ast.Module(filled, [])
        for one in sorted(changed_names(body, self.facts) & self.facts.tensors.keys() - workspaces):
            why = f"it needs what stores to `{one}` before it"
            raise self._refused(self._writer(filled, one), why)

    def _writer(self, body: list[ast.stmt], tensor: str) -> ast.AST:
        for node in walk(ast.Module(body, [])):
            is_simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr))
            if is_simple and tensor in changed_names(node, self.facts):
                return node
        return body[0]

    def _refused(self, node: ast.AST, why: str) -> RewriteError:
        loop = self.loops[0]
        counter = written_name(loop.target, self.facts)
        return refuse(
            node if hasattr(node, "lineno") else loop,
            "T2T941",
            f"T.split cannot share out the loop over `{counter}`: {why}",
            (),
            "sums and maxima of what the turns give by themselves can be shared out, and sums "
            "that are rescaled by exp2 or exp of such a maximum; or leave T.split out",
        )

    def _variables(self) -> list[str]:
        target = self.block.items[0].optional_vars
        assert target is not None
        elements = target.elts if isinstance(target, ast.Tuple) else [target]
        return [one.id for one in elements if isinstance(one, ast.Name)]

    def _shared(self, loop: ast.stmt, part: str) -> list[ast.stmt]:
        """A loop over a part's own turns, with what says which these are."""
        assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        call = copy_tree(loop.iter)
        assert isinstance(call.func, ast.Attribute)
        given = self.facts.operators[call.func.attr].arguments(call)
        start, stop, step = given["start"], given["stop"], given.get("step", literal(None))
        if isinstance(stop, ast.Constant) and stop.value is None:
            start, stop = literal(0), start
        turns = expr("b - a", a=copy_tree(start), b=copy_tree(stop))
        if isinstance(start, ast.Constant) and start.value == 0:
            turns = copy_tree(stop)
        is_stepped = not isinstance(step, ast.Constant) or step.value not in (None, 1)
        if is_stepped:
            turns = expr("T.ceildiv(n, step)", n=turns, step=copy_tree(step))
        share, first = self.names.fresh("share"), self.names.fresh("first")
        made = stmts(
            "share = T.ceildiv(turns, parts)", share=share, turns=turns, parts=name(self.parts)
        )
        own = expr("part * share", part=name(part), share=name(share))
        if is_stepped:
            own = expr("own * step", own=own, step=copy_tree(step))
        if not (isinstance(start, ast.Constant) and start.value == 0):
            own = expr("start + own", start=copy_tree(start), own=own)
        made += stmts("first = own", first=first, own=own)
        length: ast.expr = name(share)
        if is_stepped:
            length = expr("share * step", share=length, step=copy_tree(step))
        end = expr("T.min(a + b, stop)", a=name(first), b=length, stop=copy_tree(stop))
        rest = [step] if is_stepped and call.func.attr == "serial" else []
        call.keywords = [one for one in call.keywords if one.arg not in ("start", "stop", "step")]
        call.args = [name(first), end, *rest]
        made_loop = copy_tree(loop)
        made_loop.iter = call
        return [*(place(one, loop) for one in made), place(made_loop, loop)]

    def _launch(self, body: list[ast.stmt], part: str) -> ast.With:
        made = copy_tree(ast.copy_location(ast.With(self.block.items, [], None), self.block))
        made.body = body
        if not part:
            return made
        header = made.items[0].context_expr
        assert isinstance(header, ast.Call)
        variables = self._variables()
        if len(variables) < 3:
            header.args.append(name(self.parts))
            variables.append(part)
        else:
            # A grid has three dimensions, so that the last one is that of the parts, too.
            extent = header.args[2]
            both = self.names.fresh(f"{variables[2]}_and_{part}")
            apart = stmts(
                "z = both % extent\npart = both // extent",
                z=variables[2],
                part=part,
                both=both,
                extent=copy_tree(extent),
            )
            header.args[2] = expr("extent * parts", extent=extent, parts=name(self.parts))
            made.body = [*apart, *body]
            variables[2] = both
        target = ast.Tuple([ast.Name(one, ast.Store()) for one in variables], ast.Store())
        made.items[0].optional_vars = target
        return made


def copied(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that another launch has, too."""
    return [copy_tree(one) for one in body]


def _with(before: list[ast.stmt], resets: list[ast.stmt]) -> list[ast.stmt]:
    """The resets in front of the loop's own comment."""
    at = len(before)
    while at and isinstance(before[at - 1], Comment):
        at -= 1
    return [*before[:at], *resets, *before[at:]] if resets else before


def _counters(block: ast.With) -> set[str]:
    """The variables of loops over T.Parallel."""
    loops = [node for node in walk(block) if isinstance(node, ast.For)]
    found = [loop.target for loop in loops if loop_kind(loop) == "Parallel"]
    return {name for target in found for name in names_in(target)}


def _declare(function: ast.FunctionDef, facts: Facts) -> None:
    """Workspaces are parameters of the canonical form."""
    known = {argument.arg for argument in function.args.args}
    for tensor in facts.tensors.values():
        if tensor.name not in known and tensor.role == "workspace":
            shape = ast.Tuple(list(tensor.shape), ast.Load())
            kind = expr("T.Tensor(shape, dtype)", shape=shape, dtype=literal(tensor.dtype))
            function.args.args.append(ast.arg(tensor.name, kind))
