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

from rewrites.combine_parts import Parts
from rewrites.environment import Names
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.loop_ranges import KINDS, has_stages, loop_ranges, written_name
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, literal, name, place, stmts
from rewrites.shared_turns import SharedTurns, declare_constant, declare_workspaces
from rewrites.tree import function_of, loop_kind, walk
from rewrites.used_statements import used

# Stages of the loop over parts, whose loads run ahead.
STAGES = 4


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
    if not any(splits):
        # Loops with stages come before those of other blocks, too.
        staged = {block: loops for block, loops in found.items() if has_stages(loops[0])}
        found = staged or found
    if not found:
        raise _no_loop(function, splits, facts)
    (count, *others) = set(splits.values())
    if others:
        raise refuse(function, "T2T940", "loops of one kernel are split into equally many parts")
    parts = declare_constant("parts", count, tree, names, facts)
    body: list[ast.stmt] = []
    for block in function.body:
        if block in found:
            assert isinstance(block, ast.With)
            turns = SharedTurns(block, found[block], "T.split", facts)
            body += _Split(turns, parts, names, facts).launches()
        else:
            body.append(block)
    function.body = body
    declare_workspaces(function, facts)
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
class _Split:
    """A block whose loop is shared out, and the name of the number of parts."""

    turns: SharedTurns
    parts: str
    names: Names
    facts: Facts

    def launches(self) -> list[ast.stmt]:
        """The launch that fills the workspaces, and the one that combines them."""
        turns, facts, names = self.turns, self.facts, self.names
        before, span, behind = turns.pieces()
        rules = turns.rules(behind)
        outer = turns.variables[::-1]
        extents = [*turns.header.args[::-1], name(self.parts)]
        made = Parts(rules, extents, turns.counters(), names, facts)
        part, other = names.fresh("part"), names.fresh("part")
        own = [one for statement in span for one in self._shared(statement, part)]
        stores = made.stores([*map(name, outer), name(part)])
        filling = [*with_resets(before, made.resets(before)), *own, *stores]
        filled = used(filling, len(filling) - len(stores), facts)
        turns.refuse_stores(filled, set(made.workspaces.values()))
        between = [one for one in span if one not in turns.loops]
        stages = literal(min(made.stages(STAGES), facts.constants[self.parts]))
        header = expr("T.Pipelined(n, num_stages=s)", n=name(self.parts), s=stages)
        merged = made.merge(before, behind, other, header, [*map(name, outer), name(other)])
        combined = turns.combined([*before, *between, *merged], behind)
        first = self._launch(filled, part)
        return [place(first, turns.block), place(turns.launch(combined), turns.block)]

    def _shared(self, statement: ast.stmt, part: str) -> list[ast.stmt]:
        """A loop over a part's own turns, with what says which these are."""
        if statement not in self.turns.loops:
            return [statement]
        start, stop, step = self.turns.range_of(statement)
        share, first = self.names.fresh("share"), self.names.fresh("first")
        made = stmts(
            "share = T.ceildiv(n, parts)",
            share=share,
            n=self.turns.count(statement),
            parts=self.parts,
        )
        trees: dict[str, ast.expr | str] = {"part": part, "share": share, "first": first}
        trees |= {"start": start, "stop": stop, "step": literal(step)}
        own = "part * share" if step == 1 else "part * share * step"
        end = "first + share" if step == 1 else "first + share * step"
        if not _is_zero(start):
            own = f"start + {own}"
        made += stmts(f"first = {own}", **trees)
        loop = self.turns.over(statement, name(first), expr(f"T.min({end}, stop)", **trees))
        return [*(place(one, statement) for one in made), loop]

    def _launch(self, body: list[ast.stmt], part: str) -> ast.With:
        """The block over a grid that has the parts in a dimension of its own, if there is one."""
        made = self.turns.launch(body)
        header = made.items[0].context_expr
        assert isinstance(header, ast.Call)
        variables = list(self.turns.variables)
        if len(variables) < 3:
            header.args.append(name(self.parts))
            variables.append(part)
        else:
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


def with_resets(before: list[ast.stmt], resets: list[ast.stmt]) -> list[ast.stmt]:
    """Resets behind what stands before a loop, but in front of the loop's own comment."""
    at = len(before)
    while resets and at and isinstance(before[at - 1], Comment):
        at -= 1
    return [*before[:at], *resets, *before[at:]]


def _is_zero(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == 0
