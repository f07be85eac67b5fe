"""Write the tile program of a plan: loads, element-wise loops, GEMMs, reductions and stores."""

import ast
from collections.abc import Callable, Sequence

from rewrites.dtypes import BY_NAME, is_float
from rewrites.operands.body import Body, Held, Writer, subscript
from rewrites.operands.called import called
from rewrites.operands.guards import guarded
from rewrites.operands.online import identity
from rewrites.operands.places import Output, Plan
from rewrites.operands.terms import (
    MAXIMA,
    Axis,
    Size,
    Term,
    Terms,
    how_reduced,
    how_scanned,
    propagates_nan,
    reduced_axis,
    subterms,
)
from rewrites.quote import literal, name, place

Lanes = dict[Axis, str]


class Tiles:
    """Writes what computes a plan's terms into the bodies where their axes are open."""

    def __init__(self, plan: Plan, terms: Terms, writer: Writer) -> None:
        self.plan = plan
        self.terms = terms
        self.writer = writer
        self.uses: dict[Term, int] = {}
        self.count_uses([output.term for output in plan.outputs])
        self.operands = _operands(plan)
        # Where the accumulators of parts are kept between two launches.
        self.workspaces: dict[Term, str] = {}
        # What the variables of element-wise loops are called.
        # Loops over tiles and indices have `k` and `t`.
        self.counters = [one for one in "ijlmnopqrsuvw" if one not in writer.names.used]

    def count_uses(self, roots: list[Term]) -> None:
        """Note how often terms are operands: what has several uses is computed once."""
        found = subterms(*roots)
        counted = dict.fromkeys(found, 0)
        for term in found:
            for operand in set(term.operands):
                counted[operand] += 1
        for root in set(roots):
            counted[root] += roots.count(root)
        for term, count in counted.items():
            self.uses[term] = max(count, self.uses.get(term, 0))

    # Where a term is computed.

    def home(self, term: Term, body: Body) -> Body:
        """The outermost body in which all that a term needs is open."""
        parts = set(subterms(term))
        while body.outer is not None:
            if any(axis in term.axes for axis in body.starts) or parts & body.running:
                return body
            body = body.outer
        return body

    # Elements.

    def element(self, term: Term, body: Body, lanes: Lanes) -> ast.expr:
        """The expression of one element; `lanes` are the variables of the loop around it."""
        if self.is_kept(term) or body.find(term) is not None:
            return self.held(term, body).element(lanes)
        if term.kind == "number":
            assert isinstance(term.detail, (bool, int, float))
            return self.number(term.detail)
        if term.kind == "size":
            assert isinstance(term.detail, Size)
            return term.detail.tree
        if term.kind == "axis":
            assert isinstance(term.detail, Axis)
            return self._position(term.detail, body, lanes)
        if term.kind == "load":
            assert isinstance(term.detail, str)
            indices = [self.element(index, body, lanes) for index in term.operands]
            return subscript(term.detail, indices)
        operands = [self.element(operand, body, lanes) for operand in term.operands]
        if term.kind == "cast":
            return self.writer.tree("T.cast(x, dtype)", x=operands[0], dtype=literal(term.dtype))
        return self.applied(str(term.detail), operands)

    def number(self, value: bool | int | float) -> ast.expr:
        """A number as an expression."""
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            infinity = self.writer.tree("T.infinity('float32')")
            return infinity if value > 0 else ast.UnaryOp(ast.USub(), infinity)
        return literal(value)

    def applied(self, operator: str, operands: list[ast.expr]) -> ast.expr:
        if operator.startswith("T."):
            names = [f"x{at}" for at in range(len(operands))]
            template = f"{operator}({', '.join(names)})"
            return self.writer.tree(template, **dict(zip(names, operands, strict=True)))
        if len(operands) == 1:
            return self.writer.tree(f"{operator[0]}x", x=operands[0])
        return self.writer.tree(f"x {operator} y", x=operands[0], y=operands[1])

    def _position(self, axis: Axis, body: Body, lanes: Lanes) -> ast.expr:
        place = self.plan.places[axis]
        if not place.has_lanes:
            return body.start(axis)
        if place.role == "whole":
            return name(lanes[axis])
        return self.writer.tree("start + lane", start=body.start(axis), lane=name(lanes[axis]))

    # Tiles.

    def is_kept(self, term: Term) -> bool:
        """Whether a term is given a tile or a name, rather than written where it is used."""
        if term.kind in ("number", "size", "axis"):
            return False
        if reduced_axis(term) is not None or term.kind == "scan":
            return True
        lanes = self.plan.lanes(term.axes)
        if not lanes and self.is_element(term):
            # One element that loops read is loaded in front of them.
            return self.uses.get(term, 1) > 1 or bool(self.plan.loops)
        if term.kind == "load":
            return bool(lanes) and (self.is_block(term) or self.uses.get(term, 1) > 1)
        if term.kind == "cast":
            return self.is_kept(term.operands[0]) and bool(lanes)
        if is_index(term):
            return False
        # A name of the user's is a tile's; a scalar is given one where it is used again.
        return (bool(term.name) and bool(lanes)) or self.uses.get(term, 1) > 1

    def is_element(self, term: Term) -> bool:
        """Whether a term is a load as it is computed with: floats of few bits are made wider."""
        if term.kind == "load":
            return not is_float(term.dtype) or BY_NAME[term.dtype].bits >= 32
        return term.kind == "cast" and term.operands[0].kind == "load"

    def is_block(self, load: Term) -> bool:
        """Whether a term is a block of a tensor: lanes stand by themselves, each once."""
        if load.kind != "load":
            return False
        lanes = [axis for index in load.operands for axis in self.plan.lanes(index.axes)]
        if not lanes or len(lanes) != len(set(lanes)):
            return False
        return all(
            index.kind == "axis" or self._shifted(index) is not None
            for index in load.operands
            if self.plan.lanes(index.axes)
        )

    def _shifted(self, index: Term) -> tuple[Axis, Term] | None:
        """The axis and the distance of an index that is `axis + distance`."""
        if index.kind == "apply" and index.detail == "+":
            for axis, distance in (index.operands, index.operands[::-1]):
                if axis.kind == "axis" and not self.plan.lanes(distance.axes):
                    assert isinstance(axis.detail, Axis)
                    return axis.detail, distance
        return None

    def held(self, term: Term, body: Body) -> Held:
        """Where a term is kept; it is computed if it was not."""
        known = body.find(term)
        if known is not None:
            return known
        home = self.home(term, body)
        before = self.writer.node
        if term.node is not None:
            self.writer.node = term.node
        axis = reduced_axis(term)
        if term.kind == "load" and self.is_block(term):
            made = self._load(term, home, term.dtype)
        elif (
            term.kind == "cast"
            and self.is_block(term.operands[0])
            # What a GEMM reads is on the chip already.
            and term.operands[0] not in self.operands
        ):
            made = self._load(term.operands[0], home, term.dtype)
        elif term.kind == "scan":
            made = self._scanned(term, home)
        elif axis is None:
            made = self._computed(term, home)
        elif self.plan.places[axis].role in ("stream", "step"):
            self._stream(axis, home)
            return home.known[term]
        elif term.kind == "dot":
            made = self.dot(term, home)
        elif how_reduced(term)[0] == "last":
            made = self._last(term, home)
        else:
            made = self._reduced(term, home)
        self.writer.node = before
        home.known[term] = made
        return made

    def _load(self, load: Term, body: Body, dtype: str) -> Held:
        """Copy the block of a tensor: into shared memory where a GEMM reads it."""
        axes = tuple(axis for index in load.operands for axis in self.plan.lanes(index.axes))
        scope = "shared" if load in self.operands and dtype == load.dtype else "fragment"
        wanted = f"{load.detail}_{'shared' if scope == 'shared' else 'local'}"
        tile = self.tile(body, wanted, axes, dtype, scope)
        region = self.region(str(load.detail), load.operands, body)
        self.writer.put(body, "T.copy(region, tile)", region=region, tile=tile)
        return Held(tile, axes)

    def region(
        self,
        tensor: str,
        indices: tuple[Term, ...],
        body: Body,
        before: Sequence[ast.expr] = (),
    ) -> ast.expr:
        """The part of a tensor that a tile stands for; `before` indexes its first dimensions."""
        shape = self.writer.facts.tensors[tensor].shape[len(before) :]
        parts = [
            self._part(index, extent, body) for index, extent in zip(indices, shape, strict=True)
        ]
        return subscript(tensor, [*before, *parts])

    def _part(self, index: Term, extent: ast.expr, body: Body) -> ast.expr:
        lanes = self.plan.lanes(index.axes)
        if not lanes:
            return self.element(index, body, {})
        (axis,) = lanes
        shifted = self._shifted(index)
        distance = None if shifted is None else self.element(shifted[1], body, {})
        place = self.plan.places[axis]
        if place.role == "whole":
            is_all = ast.unparse(extent) == ast.unparse(axis.size.tree)
            if distance is None and is_all and not place.is_padded(axis):
                return ast.Slice()
            first = distance or literal(0)
        elif distance is None:
            first = body.start(axis)
        else:
            first = self.writer.tree("a + b", a=body.start(axis), b=distance)
        last = self.writer.tree("a + b", a=first, b=self.writer.constant(place.block))
        if place.role == "whole" and distance is None:
            last = self.writer.constant(place.block)
        return ast.Slice(first, last)

    def _computed(self, term: Term, body: Body) -> Held:
        """An element-wise loop over a tile, or a scalar."""
        axes = tuple(self.plan.lanes(term.axes))
        if not axes:
            for operand in term.operands:
                self.prepare(operand, body)
            wanted = f"{term.detail}_element" if term.kind == "load" else called(term)
            made = self.writer.names.fresh(wanted)
            tree = self._inside(term, body, {})
            self.writer.put(body, "made = tree", made=made, tree=tree)
            return Held(made, ())
        for operand in term.operands:
            self.prepare(operand, body)
        tile = self.new_tile(body, term, axes)
        self.fill(body, tile, axes, lambda lanes: self._inside(term, body, lanes))
        return Held(tile, axes)

    def new_tile(self, body: Body, term: Term, axes: Sequence[Axis]) -> str:
        return self.tile(body, called(term), axes, term.dtype)

    def tile(
        self, body: Body, wanted: str, axes: Sequence[Axis], dtype: str, scope: str = "fragment"
    ) -> str:
        """A tile along some axes; without any it has one element."""
        return self.writer.tile(body, wanted, self.plan.block_sizes(axes), dtype, scope)

    def _inside(self, term: Term, body: Body, lanes: Lanes) -> ast.expr:
        """The expression of a term itself, made of its operands."""
        operands = [self.element(operand, body, lanes) for operand in term.operands]
        if term.kind == "load":
            return subscript(str(term.detail), operands)
        if term.kind == "cast":
            return self.writer.tree("T.cast(x, dtype)", x=operands[0], dtype=literal(term.dtype))
        return self.applied(str(term.detail), operands)

    def prepare(self, term: Term, body: Body) -> None:
        """Compute the tiles that an expression reads, before the loop that it stands in."""
        if body.find(term) is not None:
            return
        if self.is_kept(term):
            self.held(term, body)
            return
        for operand in term.operands:
            self.prepare(operand, body)

    def fill(
        self, body: Body, tile: str, axes: tuple[Axis, ...], made: Callable[[Lanes], ast.expr]
    ) -> None:
        """`for i, j in T.Parallel(…): tile[i, j] = …`"""
        lanes = dict(zip(axes, self.counters, strict=False))
        value = made(lanes)
        target = subscript(tile, [name(lanes[axis]) for axis in axes])
        target.ctx = ast.Store()
        self.parallel(body, axes, [ast.Assign([target], value)])

    def parallel(self, body: Body, axes: tuple[Axis, ...], statements: list[ast.stmt]) -> None:
        """A loop over the elements of a tile."""
        counters = [ast.Name(one, ast.Store()) for one in self.counters[: len(axes)]]
        target = counters[0] if len(axes) == 1 else ast.Tuple(list(counters), ast.Store())
        extents = [self.writer.constant(self.plan.places[axis].block) for axis in axes]
        header = self.writer.tree("T.Parallel()")
        assert isinstance(header, ast.Call)
        header.args = extents
        loop = ast.For(target, header, statements, [])
        loop.type_comment = None
        for statement in statements:
            statement.type_comment = None  # type: ignore[attr-defined]
        body.statements.append(place(loop, self.writer.node))

    # Reductions.

    def dot(self, term: Term, body: Body, into: str = "") -> Held:
        """A GEMM of tiles; `into` an accumulator, or a tile of its own."""
        axis = reduced_axis(term)
        assert axis is not None
        left, right = (
            self.operand(self._within(side, axis, identity("sum", side.dtype)), body)
            for side in term.operands
        )
        rows = next(one for one in left.axes if one != axis)
        columns = next(one for one in right.axes if one != axis)
        tile = into or self.new_tile(body, term, (rows, columns))
        options = [
            ast.keyword(flag, ast.Constant(True))
            for flag, is_given in (
                ("transpose_A", left.axes[0] == axis),
                ("transpose_B", right.axes[1] == axis),
                ("clear_accum", not into),
            )
            if is_given
        ]
        call = self.writer.tree("T.gemm(a, b, c)", a=left.name, b=right.name, c=tile)
        assert isinstance(call, ast.Call)
        call.keywords = options
        self.writer.put(body, "call", call=call)
        return Held(tile, (rows, columns))

    def operand(self, side: Term, body: Body) -> Held:
        """A factor of a GEMM as a tile."""
        return self.held(side, body)

    def _reduced(self, term: Term, body: Body) -> Held:
        """A reduction over a dimension of a tile."""
        how, over = how_reduced(term)
        operand = self._within(term.operands[0], over, identity(how, term.dtype))
        source = self.source(operand, body)
        axes = tuple(axis for axis in source.axes if axis != over)
        tile = self.new_tile(body, term, axes)
        self._reduce(term, source, body, tile, clear=True)
        if axes:
            return Held(tile, axes)
        # A tile of one element is read as a scalar.
        made = self.writer.names.fresh(f"{tile}_value")
        self.writer.put(body, "made = tile[0]", made=made, tile=tile)
        return Held(made, ())

    def _within(self, operand: Term, axis: Axis, nothing: int | float) -> Term:
        """What is reduced over an axis, `nothing` where its tile is longer than the extent."""
        if not self.plan.places[axis].is_padded(axis):
            return operand
        return guarded(self.terms, operand, axis, nothing)

    def source(self, operand: Term, body: Body) -> Held:
        """A tile of what is reduced."""
        if self.is_kept(operand) or body.find(operand) is not None:
            return self.held(operand, body)
        home = self.home(operand, body)
        source = home.known[operand] = self._computed(operand, home)
        return source

    def reduce_into(self, term: Term, operand: Term, body: Body, tile: str, clear: bool) -> None:
        """Reduce a tile into one whose dimensions are in the order of all axes."""
        source = self.source(operand, body)
        axis = reduced_axis(term)
        assert axis is not None
        wanted = self.plan.lanes(term.axes)
        if [one for one in source.axes if one != axis] != wanted:
            source = self._permuted(operand, source, (*wanted, axis), body)
        self._reduce(term, source, body, tile, clear)

    def _permuted(self, operand: Term, source: Held, axes: tuple[Axis, ...], body: Body) -> Held:
        tile = self.tile(body, f"{source.name}_permuted", axes, operand.dtype)
        self.fill(body, tile, axes, source.element)
        return Held(tile, axes)

    def _reduce(self, term: Term, source: Held, body: Body, tile: str, clear: bool) -> None:
        axis = reduced_axis(term)
        assert axis is not None
        how, _ = how_reduced(term)
        call = self.writer.tree(
            f"T.reduce_{'max' if how in MAXIMA else how}(a, b, dim=at)",
            a=source.name,
            b=tile,
            at=literal(source.axes.index(axis)),
        )
        assert isinstance(call, ast.Call)
        if propagates_nan(term):
            call.keywords.append(ast.keyword("nan_propagate", ast.Constant(True)))
        if not clear:
            call.keywords.append(ast.keyword("clear", ast.Constant(False)))
        self.writer.put(body, "call", call=call)

    def _stream(self, axis: Axis, body: Body) -> None:
        """The loops over an axis that compute all reductions over it."""
        from rewrites.operands.steps import step
        from rewrites.operands.streams import stream

        if axis in self.plan.scanned:
            step(self, axis, body, [])
        else:
            stream(self, axis, body)

    def _scanned(self, term: Term, body: Body) -> Held:
        """A scan at the index that the loop around it has, or along a dimension of a tile."""
        if body.scan is not None:
            return body.scan(term)
        how, axis = how_scanned(term)
        source = self.source(term.operands[0], body)
        tile = self.new_tile(body, term, source.axes)
        call = self.writer.tree(
            f"T.cum{how}(a, b, dim=at)",
            a=source.name,
            b=tile,
            at=literal(source.axes.index(axis)),
        )
        self.writer.put(body, "call", call=call)
        return Held(tile, source.axes)

    def _last(self, term: Term, body: Body) -> Held:
        """The last element of a tile along an axis that it holds whole."""
        source = self.source(term.operands[0], body)
        axis = reduced_axis(term)
        assert axis is not None
        last = self.writer.tree("n - 1", n=axis.size.tree)
        axes = tuple(one for one in source.axes if one != axis)

        def element(lanes: Lanes) -> ast.expr:
            own = [last if one == axis else name(lanes[one]) for one in source.axes]
            return subscript(source.name, own)

        if not axes:
            made = self.writer.names.fresh(term.name or "last")
            self.writer.put(body, "made = tree", made=made, tree=element({}))
            return Held(made, ())
        tile = self.new_tile(body, term, axes)
        self.fill(body, tile, axes, element)
        return Held(tile, axes)

    # Stores.

    def store(self, output: Output, body: Body) -> None:
        """Copy the tile of an output to its tensor."""
        term = output.term
        wanted = tuple(axis for axis in output.axes if self.plan.places[axis].has_lanes)
        region = self.region(output.tensor, output.indices, body)
        if not wanted:
            self.prepare(term, body)
            value = self.element(term, body, {})
            assert isinstance(region, ast.Subscript)
            region.ctx = ast.Store()
            statement = ast.Assign([region], value)
            statement.type_comment = None
            body.statements.append(place(statement, self.writer.node))
            return
        if not term.name and body.find(term) is None and term.kind in ("apply", "cast"):
            # What is stored and has no name goes by that of the tensor.
            term.hints[:] = [f"{output.tensor}_local"]
        held = self._whole_tile(term, wanted, body)
        self.writer.put(body, "T.copy(tile, region)", tile=held, region=region)

    def _whole_tile(self, term: Term, wanted: tuple[Axis, ...], body: Body) -> str:
        """A tile that has exactly these axes in this order."""
        if self.is_kept(term) or body.find(term) is not None:
            held = self.held(term, body)
            if held.axes == wanted:
                return held.name
        if tuple(self.plan.lanes(term.axes)) == wanted and term.kind in ("apply", "cast"):
            return self._computed(term, body).name
        self.prepare(term, body)
        tile = self.new_tile(body, term, wanted)
        self.fill(body, tile, wanted, lambda lanes: self.element(term, body, lanes))
        return tile


def is_index(term: Term) -> bool:
    """Whether a term is made of positions alone, and so costs little to compute again."""
    return all(one.kind in ("number", "size", "axis", "apply") for one in subterms(term))


def _operands(plan: Plan) -> set[Term]:
    """The loads that GEMMs multiply."""
    found = subterms(*(output.term for output in plan.outputs))
    return {
        side
        for term in found
        if term.kind == "dot"
        for side in term.operands
        if side.kind == "load"
    }
