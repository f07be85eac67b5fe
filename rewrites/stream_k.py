"""Give each of as many programs as multiprocessors an equal number of all tiles' turns.

A program computes its turns tile by tile. Tiles of which it has all turns it ends itself; of others
it keeps its part, of which there are two at most, in workspaces. A second launch combines these and
goes on behind the loop, so that equal inputs give equal bits.

before with stream=4:
    def k(A: T.Tensor((384, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((384, 64), "float16")):
        with T.Kernel(6, threads=128) as by:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, 0])

after:
    programs = 4
    def k(A: T.Tensor((384, 256), 'float16'), B: T.Tensor((256, 64), 'float16'), C: T.Tensor((384, 64), 'float16'), c_parts: T.Tensor((programs, 2, 64, 64), 'float32')):
        with T.Kernel(programs, threads=128) as program:
            share = T.ceildiv(6 * 4, programs)
            begin = program * share
            end = T.min(begin + share, 6 * 4)
            for tile in T.serial(begin // 4, T.ceildiv(end, 4)):
                by = tile
                first = T.max(begin - tile * 4, 0)
                last = T.min(end - tile * 4, 4)
                a = T.alloc_shared((64, 64), 'float16')
                b = T.alloc_shared((64, 64), 'float16')
                c = T.alloc_fragment((64, 64), 'float32')
                T.clear(c)
                for k in T.Pipelined(first, T.min(last, 4), num_stages=2):
                    T.copy(A[by * 64, k * 64], a)
                    T.copy(B[k * 64, 0], b)
                    T.gemm(a, b, c)
                if last - first == 4:
                    T.copy(c, C[by * 64, 0])
                else:
                    T.copy(c, c_parts[program, T.if_then_else(first > 0, 0, 1), :, :])
        with T.Kernel(6, threads=128) as tile_1:
            share = T.ceildiv(6 * 4, programs)
            owner = tile_1 * 4 // share
            last_owner = (tile_1 * 4 + 4 - 1) // share
            if owner == last_owner:
                return
            by = tile_1
            c = T.alloc_fragment((64, 64), 'float32')
            T.clear(c)
            c_part = T.alloc_fragment((64, 64), 'float32')
            for part in T.serial(owner, last_owner + 1):
                T.copy(c_parts[part, T.if_then_else(part > owner, 0, 1), :, :], c_part)
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] + c_part[i, j]
            T.copy(c, C[by * 64, 0])
"""  # noqa: E501

import ast
from dataclasses import dataclass

from rewrites.carried import Rule
from rewrites.changes import stored_tensors
from rewrites.combine_parts import Parts
from rewrites.environment import Names, environment_of
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.known_values import filled_with
from rewrites.loop_ranges import loop_ranges
from rewrites.quote import copy_tree, expr, literal, name, place, stmts
from rewrites.shared_turns import SharedTurns, declare_constant, declare_workspaces
from rewrites.tile_numbers import number_of_tiles, refuse_negative, tile_indices
from rewrites.tree import function_of, names_in, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Make two launches of each T.Kernel block with a loop, where the schedule asks for it."""
    count = facts.schedule.stream
    if count is None:
        return tree
    function = function_of(tree)
    blocks = [one for one in function.body if isinstance(one, ast.With)]
    found = {block: loops for block in blocks if (loops := loop_ranges(block, {}, facts))}
    if not found or facts.schedule.programs is not None or facts.schedule.splits:
        raise _idle(function, bool(found), facts)
    names = Names.of(tree, facts)
    programs = declare_constant("programs", count or facts.multiprocessors, tree, names, facts)
    body: list[ast.stmt] = []
    for block in function.body:
        if block in found:
            assert isinstance(block, ast.With)
            turns = SharedTurns(block, found[block], "T.stream_k", facts)
            body += _Stream(turns, programs, names, facts).launches()
        else:
            body.append(block)
    function.body = body
    declare_workspaces(function, facts)
    return tree


def _idle(function: ast.FunctionDef, has_loop: bool, facts: Facts) -> RewriteError:
    why = "no T.Pipelined or T.serial loop stands in a T.Kernel block itself"
    if has_loop:
        why = "T.split and T.persistent share the same work out in another way"
    return refuse(
        facts.schedule.node("stream", function),
        "T2T943",
        f"T.stream_k has nothing to share out: {why}",
        (),
        "leave T.stream_k out of the schedule of this kernel, or the others",
    )


@dataclass
class _Stream:
    """A block whose tiles' turns are shared out, and the name of the number of programs."""

    turns: SharedTurns
    programs: str
    names: Names
    facts: Facts

    def launches(self) -> list[ast.stmt]:
        """The launch of all turns, and the one that ends the tiles which several programs share."""
        turns, facts, names = self.turns, self.facts, self.names
        refuse_negative(turns.header.args, "T.stream_k", facts)
        before, _, behind = turns.pieces()
        rules = turns.rules(behind)
        self._refuse_pieces(rules, before)
        work = self._work()
        made = Parts(rules, [name(self.programs), literal(2)], turns.counters(), names, facts)
        first = self._filling(work, made, behind)
        second = self._combining(work, made, before, behind)
        return [place(first, turns.block), place(second, turns.block)]

    def _work(self) -> "_Work":
        count = self._count()
        share, turns = self.names.fresh("share"), self.names.fresh("turns")
        setup: list[ast.stmt] = []
        interval = environment_of(self.facts).range(count)
        if interval.low is None or interval.low < 1:
            # Where there is nothing to sum up, each tile has one turn that does nothing.
            count = expr("T.max(count, 1)", count=count)
        extents = self.turns.header.args
        plain, wide = number_of_tiles([*extents, count], self.facts)
        is_wide = plain is not wide
        if not isinstance(count, ast.Constant):
            setup += stmts("turns = count", turns=turns, count=count)
            count = name(turns)
        tiles, many = number_of_tiles(extents, self.facts)
        total = expr("tiles * turns", tiles=many, turns=count)
        if is_wide and many is tiles:
            total = expr('T.cast(tiles, "int64") * turns', tiles=tiles, turns=count)
        setup += stmts(
            "share = T.ceildiv(n, programs)", share=share, n=total, programs=self.programs
        )
        return _Work(setup, count, total, share, is_wide)

    def _count(self) -> ast.expr:
        """The turns of a tile, which are those of any tile."""
        facts, loops = self.facts, self.turns.loops
        if len(loops) > 1:
            raise self._refused(loops[1], "its turns stand in several loops")
        start, stop, _ = self.turns.range_of(loops[0])
        known = facts.constants.keys() | facts.scalars.keys() | {"T"}
        for one in sorted((names_in(start) | names_in(stop)) - known):
            raise self._refused(
                loops[0].iter, f"`{one}`, which says how many turns there are, may differ by tile"
            )
        return self.turns.count(loops[0])

    def _refuse_pieces(self, rules: dict[str, Rule], before: list[ast.stmt]) -> None:
        """Tiles begin with nothing, and end once."""
        facts = self.facts
        for one, rule in rules.items():
            if rule.weight.parts:
                raise self._refused(self.turns.loops[0], f"`{one}` is rescaled from turn to turn")
            if rule.kind == "sum" and filled_with(one, before, facts) != 0:
                raise self._refused(
                    self.turns.loops[0], f"`{one}` does not begin with T.clear in front of it"
                )
        for statement in before:
            if stored_tensors(statement, facts):
                raise self._refused(statement, "a tensor is stored to before it")
        for node in walk(self.turns.block):
            if isinstance(node, ast.Return):
                raise self._refused(node, "a program ends before the last of its tiles")

    def _refused(self, node: ast.AST, why: str) -> RewriteError:
        return refuse(
            node,
            "T2T944",
            f"T.stream_k cannot share out this kernel: {why}",
            (),
            "it is for sums of as many turns in each tile; or leave T.stream_k out",
        )

    def _filling(self, work: "_Work", made: Parts, behind: list[ast.stmt]) -> ast.With:
        """Tile by tile, the turns of a program; what it has not all turns of goes to workspaces."""
        names = self.names
        program, tile = names.fresh("program"), names.fresh("tile")
        trees = work.trees | {"program": program, "tile": tile}
        trees |= {one: names.fresh(one) for one in ("begin", "end", "first", "last")}
        indices, body = tile_indices(self.turns.block, tile, work.is_wide, names, self.facts)
        (loop,) = self.turns.loops
        at = body.index(loop)
        first, last = "T.max(begin - tile * count, 0)", "T.min(end - tile * count, count)"
        if work.is_wide:
            first, last = (f'T.cast({one}, "int32")' for one in (first, last))
        indices += stmts(f"first = {first}\nlast = {last}", **trees)
        slot = expr("T.if_then_else(first > 0, 0, 1)", **trees)
        stores = made.stores([name(program), slot])
        (ending,) = stmts("if last - first == count:\n    pass\nelse:\n    pass", **trees)
        assert isinstance(ending, ast.If)
        ending.body, ending.orelse = [copy_tree(one) for one in behind], stores
        start, stop, step = self.turns.range_of(loop)
        trees |= {"start": start, "stop": stop, "step": literal(step)}
        own = self.turns.over(
            loop,
            expr(_offset("first", start, step), **trees),
            expr(f"T.min({_offset('last', start, step)}, stop)", **trees),
        )
        made_body = stmts(
            "begin = program * share\n"
            "end = T.min(begin + share, total)\n"
            "for tile in T.serial(begin // count, T.ceildiv(end, count)):\n"
            "    pass",
            **trees,
        )
        tiles = made_body[-1]
        assert isinstance(tiles, ast.For)
        tiles.body = [*indices, *body[:at], own, ending]
        self.facts.program_loops.add(tile)
        self.facts.uneven_loops.add(tile)
        return self._launch([*map(copy_tree, work.setup), *made_body], program, name(self.programs))

    def _combining(
        self, work: "_Work", made: Parts, before: list[ast.stmt], behind: list[ast.stmt]
    ) -> ast.With:
        """For each tile that several programs have turns of, their parts in order."""
        names, facts = self.names, self.facts
        tile, part = names.fresh("tile"), names.fresh("part")
        trees = work.trees | {"tile": tile, "part": part}
        trees |= {one: names.fresh(one) for one in ("owner", "last_owner")}
        turn = 'T.cast(tile, "int64") * count' if work.is_wide else "tile * count"
        owners = stmts(
            f"owner = {turn} // share\n"
            f"last_owner = ({turn} + count - 1) // share\n"
            "if owner == last_owner:\n    return",
            **trees,
        )
        indices, body = tile_indices(self.turns.block, tile, False, names, facts)
        merged = made.merge(
            before,
            behind,
            part,
            expr("T.serial(owner, last_owner + 1)", **trees),
            [name(part), expr("T.if_then_else(part > owner, 0, 1)", **trees)],
        )
        before = body[: body.index(self.turns.loops[0])]
        combined = self.turns.combined(
            [*map(copy_tree, work.setup), *owners, *indices, *before, *merged], behind
        )
        tiles, _ = number_of_tiles(self.turns.header.args, facts)
        return self._launch(combined, tile, tiles)

    def _launch(self, body: list[ast.stmt], variable: str, extent: ast.expr) -> ast.With:
        made = self.turns.launch(body)
        header = made.items[0].context_expr
        assert isinstance(header, ast.Call)
        header.args = [extent]
        made.items[0].optional_vars = ast.Name(variable, ast.Store())
        return made


@dataclass(frozen=True)
class _Work:
    """The turns of all tiles: of one, of all, and of a program; `setup` says what has a name."""

    setup: list[ast.stmt]
    count: ast.expr
    total: ast.expr
    share: str
    is_wide: bool

    @property
    def trees(self) -> dict[str, ast.expr | str]:
        return {"count": self.count, "total": self.total, "share": self.share}


def _offset(turn: str, start: ast.expr, step: int) -> str:
    """The value of a loop's variable in one of its turns."""
    own = turn if step == 1 else f"{turn} * step"
    return own if isinstance(start, ast.Constant) and start.value == 0 else f"start + {own}"
