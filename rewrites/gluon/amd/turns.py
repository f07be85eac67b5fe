"""A turn of a loop as stages: memory, products, and what is computed between them, in turns."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewrites.gluon.amd.layouts import Constants
from rewrites.gluon.amd.parts import Parts
from rewrites.gluon.amd.versions import Versions
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.rings import factors_of, is_dot
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, expr, name, place, stmts
from rewrites.tree import names_in

MEMORY, PRODUCTS, VECTORS = "memory", "products", "vectors"
# Waves with products at hand go first.
PRIORITY = {MEMORY: 0, PRODUCTS: 1, VECTORS: 0}


@dataclass
class Stage:
    """What one group of warps does while the other one is in the stage before."""

    kind: str
    body: list[ast.stmt] = field(default_factory=list)


@dataclass
class Turn:
    """Writes the stages of a turn; the tiles of `slot` are there."""

    parts: Parts
    constants: Constants
    layouts: Versions
    slot: ast.expr
    ring_names: dict[str, str]

    def stages(self, body: list[ast.stmt]) -> list[Stage]:
        """The first stage is of memory, and each later one of products or of what is between."""
        made = [Stage(MEMORY)]
        said: list[ast.stmt] = []
        # What is computed in this turn, and not a tile of indices.
        computed: set[str] = set()
        for statement in body:
            match statement:
                case Comment() | Blank():
                    said.append(statement)
                    continue
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    if target in self.parts.rings:
                        # Comments say of the copy, which stands elsewhere, what it is.
                        said = [one for one in said if isinstance(one, Blank)]
                        continue
                    if isinstance(value, ast.Call) and is_dot(value):
                        self._product(target, value, statement, said, made)
                        said = []
                        continue
                    if target in self.parts.definitions:
                        own = self.layouts.defined(target, value)
                        stage = made[0]
                        if names_in(value) & computed:
                            stage = _last(made)
                        if own:
                            stage.body += [*_comments(said), *_placed(own, statement)]
                        said = []
                        continue
                    _last(made)
                    computed.add(target)
                    own = [self.assigned(target, value)]
                    made[-1].body += [*_comments(said), *_placed(own, statement)]
                    said = []
                case _:
                    text = ast.unparse(statement).partition("\n")[0]
                    raise UnsuitedError(f"`{text}` in a loop of products has no form here")
        for stage in made:
            _require_own_lanes(stage)
        return made

    def assigned(self, target: str, value: ast.expr) -> ast.stmt:
        placed = self.layouts.placed(value, self.layouts.known.get(target))
        return ast.Assign([ast.Name(target, ast.Store())], placed)

    def _product(
        self,
        target: str,
        call: ast.Call,
        statement: ast.stmt,
        said: list[ast.stmt],
        made: list[Stage],
    ) -> None:
        """A product: what it reads from shared memory is read in the stage before it."""
        reading = made[-1] if made[-1].kind != PRODUCTS else made[-2]
        if made[-1].kind != PRODUCTS:
            made.append(Stage(PRODUCTS))
        made[-1].body += _comments(said)
        trees: list[ast.expr] = []
        width = self.parts.widths[target]
        for at, ((one, is_turned), tree) in enumerate(
            zip(factors_of(call), call.args, strict=False)
        ):
            layout = self.constants.factor(at, width)
            if one in self.parts.rings:
                reading.body += _placed(self._read(one, is_turned, layout), statement)
                trees.append(name(one))
            elif one in self.parts.once:
                trees.append(name(one))
            else:
                value = self.layouts.placed(tree, self.layouts.of(tree))
                trees.append(expr("gl.convert_layout(x, layout)", x=value, layout=layout))
        total = self._total(target, call)
        issued = stmts(
            f"target = {self.parts.chip.module}.mfma(a, b, total)",
            target=target,
            a=trees[0],
            b=trees[1],
            total=total,
        )
        made[-1].body += _placed(issued, statement)

    def _read(self, one: str, is_turned: bool, layout: str) -> list[ast.stmt]:
        """Read a tile from its slot; that a copy has ended is known from the turn before."""
        memory = expr("ring.index(slot)", ring=self.ring_names[one], slot=copy_tree(self.slot))
        if is_turned:
            memory = expr("x.permute((1, 0))", x=memory)
        template = "one = memory.load(layout)"
        if self.parts.chip.direct:
            template = "one = cdna4.async_copy.load_shared_relaxed(memory, layout)"
        return stmts(template, one=one, memory=memory, layout=layout)

    def _total(self, target: str, call: ast.Call) -> ast.expr:
        if len(call.args) > 2:
            return self.layouts.placed(call.args[2], self.layouts.known.get(target))
        rows, columns = self.parts.tile(target).trees
        return expr(
            "gl.zeros((rows, columns), gl.float32, layout=products)",
            rows=rows,
            columns=columns,
            products=self.constants.products,
        )


def _last(stages: list[Stage]) -> Stage:
    """The last stage, which is not of products."""
    if stages[-1].kind == PRODUCTS:
        stages.append(Stage(VECTORS))
    return stages[-1]


def _require_own_lanes(stage: Stage) -> None:
    """Let no lanes exchange tiles by shared memory, which takes barriers of its own."""
    for statement in stage.body:
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=ast.Attribute(attr="convert_layout"), args=[value, _]):
                    if stage.kind != PRODUCTS:
                        text = ast.unparse(value)
                        raise UnsuitedError(f"`{text}` changes its layout in each turn")
                case (
                    ast.Call(
                        func=ast.Attribute(attr="max" | "min" | "sum" as called),
                        keywords=[ast.keyword(value=ast.Constant(value=0)), *_],
                    )
                    | ast.Call(
                        func=ast.Attribute(attr="reduce" as called),
                        args=[_, ast.Constant(value=0), *_],
                    )
                ):
                    raise UnsuitedError(f"`{called}` goes over columns, across warps")


def _comments(said: list[ast.stmt]) -> list[ast.stmt]:
    return [copy_tree(one) for one in said]


def _placed(made: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    return [place(one, statement) for one in made]


def staged(stages: list[Stage], waits: list[ast.stmt], in_turns: bool) -> Iterator[ast.stmt]:
    """The stages one after the other; before the last one, wait for the next turn's copies.

    So the other group, which is one stage behind, has waited, too, before the next turn begins.
    """
    for at, stage in enumerate(stages):
        if at == len(stages) - 1:
            yield from waits
        if not in_turns:
            yield from stage.body
            continue
        header = expr(
            "warp_stage(kind, priority=p)",
            kind=ast.Constant(stage.kind),
            p=ast.Constant(PRIORITY[stage.kind]),
        )
        yield ast.With([ast.withitem(header, None)], stage.body)
