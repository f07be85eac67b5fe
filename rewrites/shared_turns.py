"""A loop whose turns several programs share: what may stand around it, and what it carries."""

import ast
from dataclasses import dataclass

from rewrites.carried import Rule, rules_of
from rewrites.changes import changed_names, stored_tensors
from rewrites.environment import Names, environment_of
from rewrites.errors import RewriteError, refuse
from rewrites.facts import Facts
from rewrites.hoist_first_values import Flow
from rewrites.loop_ranges import written_name
from rewrites.nodes import Blank
from rewrites.quote import copy_tree, expr, literal, place, stmts
from rewrites.tree import function_of, loop_kind, names_in, operator_call, walk
from rewrites.turn_values import NotFollowedError
from rewrites.used_statements import used

# What a kernel may not hold whose loop is shared out: what its threads do by themselves.
_BY_THREADS = ("protocol", "scope", "thread")
_HARMLESS = ("sync_threads", "sync_warp")


@dataclass(frozen=True)
class SharedTurns:
    """A T.Kernel block, the ranges of its loop, and the annotation that shares them out."""

    block: ast.With
    loops: list[ast.For]
    annotation: str
    facts: Facts

    @property
    def header(self) -> ast.Call:
        call = self.block.items[0].context_expr
        assert isinstance(call, ast.Call)
        return call

    @property
    def variables(self) -> list[str]:
        """Those of the grid."""
        target = self.block.items[0].optional_vars
        assert target is not None
        elements = target.elts if isinstance(target, ast.Tuple) else [target]
        return [one.id for one in elements if isinstance(one, ast.Name)]

    def pieces(self) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
        """What stands before the loop, its ranges with what is between them, and what is behind.

        Raises `RewriteError` for what programs that share a loop cannot do.
        """
        body = self.block.body
        start, stop = body.index(self.loops[0]), body.index(self.loops[-1]) + 1
        before, span, behind = body[:start], body[start:stop], body[stop:]
        self._refuse_threads()
        self._refuse_stored(before, span)
        while behind and isinstance(behind[0], Blank):
            behind = behind[1:]
        return before, span, behind

    def rules(self, behind: list[ast.stmt]) -> dict[str, Rule]:
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
            raise self.refused(error.node, error.why) from None
        for one in rules:
            if one in facts.tiles and facts.tiles[one].op:
                raise self.refused(loops[0], f"`{one}` is kept in parts by T.alloc_reducer")
        if not rules:
            raise self.refused(loops[0], "nothing of it is needed behind it")
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
                        raise self.refused(node, why)
                    if called.startswith("rng_"):
                        raise self.refused(node, "its random numbers follow one another")

    def _refuse_stored(self, before: list[ast.stmt], span: list[ast.stmt]) -> None:
        """Tensors are written behind the loop, by the second launch."""
        facts = self.facts
        for one in sorted(stored_tensors(ast.Module(span, []), facts)):
            raise self.refused(self._writer(span, one), f"the loop stores to `{one}`")
        early = stored_tensors(ast.Module(before, []), facts)
        storages = {facts.tensors[one].storage for one in early}
        read = names_in(ast.Module(span, [])) & facts.tensors.keys()
        for one in sorted(read):
            # What memory a pointer is to is not known.
            is_pointer = facts.tensors[one].role == "pointer"
            if facts.tensors[one].storage in storages or (early and is_pointer):
                why = f"`{one}`, which it reads, may be stored to before it"
                raise self.refused(self._writer(before, min(early)), why)

    def refuse_stores(self, filled: list[ast.stmt], workspaces: set[str]) -> None:
        """What the first launch needs is not stored to tensors, which the second one does."""
        for one in sorted(stored_tensors(ast.Module(filled, []), self.facts) - workspaces):
            why = f"it needs what stores to `{one}` before it"
            raise self.refused(self._writer(filled, one), why)

    def _writer(self, body: list[ast.stmt], tensor: str) -> ast.AST:
        for node in walk(ast.Module(body, [])):
            is_simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr))
            if is_simple and tensor in stored_tensors(node, self.facts):
                return node
        return body[0]

    def refused(self, node: ast.AST, why: str) -> RewriteError:
        loop = self.loops[0]
        counter = written_name(loop.target, self.facts)
        return refuse(
            node if hasattr(node, "lineno") else loop,
            "T2T941",
            f"{self.annotation} cannot share out the loop over `{counter}`: {why}",
            (),
            "sums and maxima of what the turns give by themselves can be shared out, and sums "
            f"that are rescaled by exp2 or exp of such a maximum; or leave {self.annotation} out",
        )

    def range_of(self, loop: ast.stmt) -> tuple[ast.expr, ast.expr, int]:
        """The start, stop and step of a loop."""
        assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        assert isinstance(loop.iter.func, ast.Attribute)
        given = self.facts.operators[loop.iter.func.attr].arguments(loop.iter)
        start, stop, step = given["start"], given["stop"], given.get("step", literal(None))
        if isinstance(stop, ast.Constant) and stop.value is None:
            start, stop = literal(0), start
        steps = environment_of(self.facts).range(step)
        if isinstance(step, ast.Constant) and step.value is None:
            return start, stop, 1
        if steps.low is None or steps.low != steps.high or steps.low < 1:
            raise self.refused(step, "its step is not known, or runs backwards")
        return start, stop, steps.low

    def count(self, loop: ast.stmt) -> ast.expr:
        """How many turns a loop has; 0 or fewer where it has none."""
        start, stop, step = self.range_of(loop)
        turns = expr("b - a", a=copy_tree(start), b=copy_tree(stop))
        if isinstance(start, ast.Constant) and start.value == 0:
            turns = copy_tree(stop)
        return turns if step == 1 else expr("T.ceildiv(n, s)", n=turns, s=literal(step))

    def over(self, loop: ast.stmt, start: ast.expr, stop: ast.expr) -> ast.For:
        """The same loop over another range."""
        assert isinstance(loop, ast.For)
        *_, step = self.range_of(loop)
        made = copy_tree(loop)
        assert isinstance(made.iter, ast.Call)
        kept = [one for one in made.iter.keywords if one.arg not in ("start", "stop", "step")]
        made.iter.args = [start, stop] if step == 1 else [start, stop, literal(step)]
        made.iter.keywords = kept
        return place(made, loop)

    def combined(self, before: list[ast.stmt], behind: list[ast.stmt]) -> list[ast.stmt]:
        """What the second launch does: all that is stored, and what that needs.

        What the first launch asserts holds in the second one, too.
        """
        body = [one for one in before if operator_call(one, "static_assert") is None]
        made = used([*body, *behind], len(body), self.facts, stores=True)
        return [copy_tree(one) for one in made]

    def launch(self, body: list[ast.stmt]) -> ast.With:
        """The block with another body."""
        made = copy_tree(ast.copy_location(ast.With(self.block.items, [], None), self.block))
        made.body = body
        return made

    def counters(self) -> set[str]:
        """The variables of loops over T.Parallel."""
        loops = [node for node in walk(self.block) if isinstance(node, ast.For)]
        found = [loop.target for loop in loops if loop_kind(loop) == "Parallel"]
        return {name for target in found for name in names_in(target)}


def declare_constant(wanted: str, value: int, tree: ast.Module, names: Names, facts: Facts) -> str:
    """Set down a named constant in front of a program; its name."""
    made = names.fresh(wanted)
    facts.constants[made] = value
    at = tree.body.index(function_of(tree))
    tree.body[at:at] = stmts("made = value", made=made, value=literal(value))
    return made


def declare_workspaces(function: ast.FunctionDef, facts: Facts) -> None:
    """Workspaces are parameters of the canonical form."""
    known = {argument.arg for argument in function.args.args}
    for tensor in facts.tensors.values():
        if tensor.name not in known and tensor.role == "workspace":
            shape = ast.Tuple(list(tensor.shape), ast.Load())
            kind = expr("T.Tensor(shape, dtype)", shape=shape, dtype=literal(tensor.dtype))
            function.args.args.append(ast.arg(tensor.name, kind))
