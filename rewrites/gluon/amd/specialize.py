"""Kernels for AMD in Gluon: rings of tiles that are copied ahead, and stages of turns."""

import ast
from dataclasses import dataclass, field

from rewrites.dtypes import bits
from rewrites.facts import Facts, Launch
from rewrites.gluon.amd.addresses import address_of, near
from rewrites.gluon.amd.copies import Copies
from rewrites.gluon.amd.fetches import Fetch
from rewrites.gluon.amd.layouts import Constants, versions_of
from rewrites.gluon.amd.parts import Parts, parts_of
from rewrites.gluon.amd.turns import Turn, staged
from rewrites.gluon.amd.versions import Versions
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import ANY, Layout, in_gluon
from rewrites.gluon.specialize import Specialized, names_read
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, expr, name, place, stmts

# Warps of a group: one for each of a compute unit's four.
GROUP = 4


def specialized_for_amd(
    kernel: ast.FunctionDef, launch: Launch, facts: Facts, groups: int
) -> Specialized:
    """The kernel in Gluon, in which so many groups of warps share a tile. Raises UnsuitedError."""
    if groups > 2:
        raise UnsuitedError(f"{groups} groups of warps: one computes while one other loads")
    if groups == 2 and launch.num_warps != 2 * GROUP:
        raise UnsuitedError(
            f"two groups are of four warps each, which makes threads={2 * GROUP * 64}, "
            f"not {launch.num_warps * 64}"
        )
    body = Body(parts_of(kernel, launch, facts), groups)
    written = body.written()
    stages = body.stages
    parameters = [argument.arg for argument in kernel.args.args]
    constants = {one.arg for one in kernel.args.args if one.annotation is not None} | {stages}
    read = names_read(written)
    used = [one for one in [*parameters, stages] if one in read]
    (made,) = stmts("@gluon.jit\ndef f(): pass")
    assert isinstance(made, ast.FunctionDef)
    made.name = kernel.name
    constexpr = expr("gl.constexpr")
    made.args.args = [
        ast.arg(one, copy_tree(constexpr) if one in constants else None) for one in used
    ]
    made.body = written
    result = Launch(
        kernel=launch.kernel,
        grid=launch.grid,
        arguments=tuple(one for one in launch.arguments if one in used),
        constants=tuple(one for one in (*launch.constants, stages) if one in used),
        num_warps=launch.num_warps,
        num_stages=launch.num_stages,
        options=launch.options,
        language="gluon",
        copied=body.parts.copied,
    )
    return Specialized([made], result, {stages: body.parts.stages})


@dataclass
class Body:
    """Writes the body of one kernel."""

    parts: Parts
    groups: int
    copies: dict[int, Copies] = field(default_factory=dict)
    # The variables that count turns, by loops.
    turns: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fresh = self.parts.names.fresh
        self.stages = fresh("stages")
        self.rings = {one: fresh(f"{one}_ring") for one in self.parts.rings}
        self.early = fresh("i")
        coming = {one: fresh(f"{one}_ahead") for one in self.parts.rings}
        self.constants = Constants(self.parts)
        for loop in self.parts.loops:
            self.copies[id(loop)] = Copies(self.parts, self.constants, loop, self.rings, coming)
        index = set(self.parts.definitions)
        index |= {one for copies in self.copies.values() for one in copies.indices}
        self.layouts: Versions = versions_of(
            self.parts, self.parts.kernel.body, self.constants, index
        )
        self._require_memory()

    def written(self) -> list[ast.stmt]:
        # What is used in which layout is known when all has been written once.
        while True:
            before = sum(map(len, self.layouts.made.values()))
            body = self._block(self.parts.kernel.body)
            if sum(map(len, self.layouts.made.values())) == before:
                break
        made = self.constants.written()
        for one, ring in self.rings.items():
            made += stmts(
                f"ring = gl.allocate_shared_memory(gl.{self.parts.rings[one].tile.dtype}, "
                "[stages, rows, columns], memory)",
                ring=ring,
                stages=self.stages,
                rows=self.parts.rings[one].tile.trees[0],
                columns=self.parts.rings[one].tile.trees[1],
                memory=self.constants.memory[one],
            )
        return [*made, *body]

    def _require_memory(self) -> None:
        total = 0
        for one, fetch in self.parts.rings.items():
            size = self.constants.elements[one] * bits(fetch.tile.dtype) // 8
            total += self.parts.stages * size
        if total > self.parts.facts.shared_memory:
            raise UnsuitedError(
                f"its tiles need {total} bytes of shared memory, of which there are "
                f"{self.parts.facts.shared_memory}"
            )

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            made += [place(one, statement) for one in self._statement(statement)]
        return made

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case Comment() | Blank():
                return [copy_tree(statement)]
            case ast.For() if id(statement) in self.copies:
                return self._loop(statement, self.copies[id(statement)])
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                for fetch in self.parts.fetches:
                    if fetch.statement is statement:
                        return self._once(fetch)
                if target in self.parts.definitions:
                    return self.layouts.defined(target, value)
                placed = self.layouts.placed(value, self.layouts.known.get(target))
                return [ast.Assign([ast.Name(target, ast.Store())], placed)]
            case ast.Assign(targets=[ast.Tuple() as target], value=value):
                return [ast.Assign([copy_tree(target)], in_gluon(value))]
            case ast.If(test=test, body=body, orelse=[]):
                return [ast.If(in_gluon(test), self._block(body), [])]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="store")) as call):
                return [ast.Expr(self._stored(call))]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="static_assert")) as call):
                return [ast.Expr(in_gluon(call))]
        raise UnsuitedError(f"`{ast.unparse(statement).partition(chr(10))[0]}` has no form here")

    def _once(self, fetch: Fetch) -> list[ast.stmt]:
        """Load a tile that is multiplied in each turn, as the products want it."""
        layout = Layout(self.constants.factor(fetch.operand, fetch.width))
        definitions = self.parts.definitions
        address = address_of(fetch.pointers, definitions, self.parts.facts)
        address = near(address, definitions, set(), self.parts.facts, self.parts.known)
        made = expr(
            f"{self.parts.chip.module}.buffer_load(base, offsets)",
            base=in_gluon(address.base),
            offsets=self.layouts.placed(address.offsets, layout),
        )
        if fetch.mask is not None:
            assert isinstance(made, ast.Call)
            made.keywords.append(ast.keyword("mask", self.layouts.placed(fetch.mask, layout)))
        return [ast.Assign([ast.Name(fetch.name, ast.Store())], made)]

    def _stored(self, call: ast.Call) -> ast.expr:
        """Store a tile from where it was computed."""
        pointers, value = call.args
        layout = self.layouts.of(value)
        if layout is None or layout == ANY:
            raise UnsuitedError(f"`{ast.unparse(value)}` follows from no product")
        stored = self.layouts.placed(value, layout)
        words = [
            ast.keyword(word.arg, self.layouts.placed(word.value, layout)) for word in call.keywords
        ]
        definitions = self.parts.definitions
        address = address_of(pointers, definitions, self.parts.facts)
        address = near(address, definitions, set(), self.parts.facts, self.parts.known)
        made = expr(
            f"{self.parts.chip.module}.buffer_store(value, base, offsets)",
            value=stored,
            base=in_gluon(address.base),
            offsets=self.layouts.placed(address.offsets, layout),
        )
        assert isinstance(made, ast.Call)
        made.keywords += words
        return made

    def _loop(self, loop: ast.For, copies: Copies) -> list[ast.stmt]:
        """A loop over turns that count from nothing, as the slots of rings do."""
        stages, k = name(self.stages), name(copies.variable)
        first, stop = in_gluon(copies.start), in_gluon(copies.stop)
        turn, counted = k, stop
        if not _is_nothing(first):
            if id(loop) not in self.turns:
                self.turns[id(loop)] = self.parts.names.fresh("turn")
            turn = name(self.turns[id(loop)])
            counted = ast.BinOp(stop, ast.Sub(), copy_tree(first))
        writer = Turn(self.parts, self.constants, self.layouts, _slot(turn, stages), self.rings)
        made = writer.stages(loop.body)
        later = Comment("Of a later turn, while the tiles of this one are multiplied.")
        made[0].body.append(later)
        if not _is_nothing(first):
            made[0].body[:0] = stmts("k = first + turn", k=k.id, first=first, turn=turn)
        memory = made[0].body
        before = expr("stages - 1", stages=self.stages)
        next_slot = _slot(expr("turn + (stages - 1)", turn=turn, stages=stages), stages)
        early_slot = name(self.early)
        coming = _sum(first, early_slot)
        if self.parts.chip.direct:
            body = copies.issued(coming, early_slot, self.layouts)
            early = stmts("cdna4.async_copy.wait_group(stages - 2)", stages=stages)
            waits = [copy_tree(one) for one in early]
            next_turn = expr("k + (stages - 1)", k=k, stages=stages)
            memory += copies.issued(next_turn, next_slot, self.layouts)
            behind = stmts("cdna4.async_copy.wait_group(0)")
        else:
            body = [*copies.loaded(coming, self.layouts), *copies.stored(early_slot)]
            early = copies.loaded(_sum(first, before), self.layouts)
            waits, behind = [], []
            memory += copies.stored(next_slot)
            memory += copies.loaded(expr("k + stages", k=k, stages=stages), self.layouts)
        header = expr("gl.static_range(count)", count=before)
        turns = list(staged(made, waits, self.groups == 2))
        return [
            Comment("The tiles of the first turns."),
            ast.For(ast.Name(self.early, ast.Store()), header, body, []),
            *early,
            ast.For(ast.Name(turn.id, ast.Store()), expr("range(count)", count=counted), turns, []),
            *behind,
        ]


def _is_nothing(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == 0


def _slot(turn: ast.expr, stages: ast.expr) -> ast.expr:
    return expr("turn % stages", turn=turn, stages=stages)


def _sum(first: ast.expr, more: ast.expr) -> ast.expr:
    return more if _is_nothing(first) else ast.BinOp(copy_tree(first), ast.Add(), more)
