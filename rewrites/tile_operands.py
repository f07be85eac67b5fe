"""Turn a program on whole operands into tiles: what each program of a grid loads and stores.

before:
    N = 64
    def k(X: T.Tensor((N,), "float16"), C: T.Tensor((N,), "float16")):
        Y = X * 2
        return Y + X

after:
    block_N = 64
    def k(X: T.Tensor((N,), 'float16'), C: T.Tensor((N,), 'float16')):
        with T.Kernel(T.ceildiv(N, block_N), threads=128) as bx:
            X_local = T.alloc_fragment((block_N,), 'float32')
            T.copy(X[bx * block_N:bx * block_N + block_N], X_local)
            Y = T.alloc_fragment((block_N,), 'float32')
            for i in T.Parallel(block_N):
                Y[i] = X_local[i] * 2
            C_local = T.alloc_fragment((block_N,), 'float32')
            for i in T.Parallel(block_N):
                C_local[i] = Y[i] + X_local[i]
            T.copy(C_local, C[bx * block_N:bx * block_N + block_N])
"""

import ast
from dataclasses import replace

from rewrites.environment import Names
from rewrites.facts import Facts, has_producer
from rewrites.operands.body import Body, Writer
from rewrites.operands.evaluate import Reader
from rewrites.operands.grid import Grid
from rewrites.operands.groups import grouped, refuse_several
from rewrites.operands.limits import bound_of
from rewrites.operands.multiply_vectors import multiply_vectors
from rewrites.operands.online import hoist_factors
from rewrites.operands.places import Output, Plan
from rewrites.operands.plan import plan_of
from rewrites.operands.plan_scans import has_scans, plan_scans
from rewrites.operands.powers import with_powers_of_two
from rewrites.operands.rename_bound import rename_bound
from rewrites.operands.sizes import Sizes
from rewrites.operands.split import split_kernels
from rewrites.operands.split_axes import split_axes
from rewrites.operands.stages import stages_of
from rewrites.operands.streams import common_conditions, store_outputs
from rewrites.operands.terms import Axis, Size, Term, Terms, subterms
from rewrites.operands.tiles import Tiles
from rewrites.operands.updates import check_updates
from rewrites.operands.values import ONE, Making, Whole
from rewrites.quote import expr, literal, place
from rewrites.schedule import Schedule
from rewrites.tree import function_of, is_whole, names_in


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Write the tile program of what the function returns; others stay as they are."""
    function = function_of(tree)
    if not is_whole(function):
        return tree
    making = Making(sizes=Sizes(is_settled=True), said_names=set(facts.named_sizes))
    reader = Reader(facts, making)
    returned = reader.program(function)
    groups = _outputs(making, facts, returned, _places(function))
    plans = [_planned(outputs, facts, function) for outputs in groups]
    refuse_several(plans, facts, function)
    for plan in plans:
        check_updates(plan, groups, facts.parameters)
    asserted = [one for one in function.body if isinstance(one, ast.Expr)]
    # What Python decided from a size holds for that size.
    making.fixed.update(*map(names_in, asserted))
    _free_sizes(facts, plans, making)
    function.body = _written(plans, making, facts, function, asserted)
    tree.body = [*_constants(facts), function]
    # What is left of the schedule is for the program as it is now.
    said = facts.schedule
    facts.schedule = Schedule(
        options=said.options,
        nodes=said.nodes,
        stream=said.stream,
        subtiles=said.subtiles,
        swap_ab=said.swap_ab,
        rotate=any(plan.rotate for plan in plans),
        consumers=next((plan.consumers for plan in plans if plan.consumers), None),
        programs=said.programs if has_producer(facts) else None,
    )
    return ast.fix_missing_locations(tree)


def _planned(outputs: list[Output], facts: Facts, function: ast.AST) -> Plan:
    planning = plan_scans if has_scans(outputs) else plan_of
    plan = planning(outputs, facts, function)
    plan.stages = stages_of(outputs)
    plan.reversed = _reversed(plan)
    return plan


def _outputs(
    making: Making, facts: Facts, returned: tuple[Whole, ...], places: list[ast.AST]
) -> list[list[Output]]:
    """The outputs as terms over their axes, those together that one launch computes."""
    pieces = [
        ((tensor, node), *piece)
        for tensor, whole, node in zip(facts.stored, returned, places, strict=True)
        for piece in _pieces(making, whole)
    ]
    split = split_axes(making.terms, [(root, indices) for _, root, indices in pieces])
    roots = multiply_vectors(making.terms, [root for root, _ in split])
    outputs = [
        Output(tensor, root, indices, node)
        for ((tensor, node), *_), (_, indices), root in zip(pieces, split, roots, strict=True)
    ]
    groups = grouped(_simplified(making.terms, outputs))
    return [_simplified(making.terms, [outputs[place] for place in group]) for group in groups]


def _simplified(terms: Terms, outputs: list[Output]) -> list[Output]:
    """Outputs that share axes with what they reduce, as few loops as they can have."""
    roots = hoist_factors(terms, rename_bound(terms, [one.term for one in outputs]))
    roots = with_powers_of_two(terms, roots)
    return [replace(one, term=root) for one, root in zip(outputs, roots, strict=True)]


def _places(function: ast.FunctionDef) -> list[ast.AST]:
    """Where each result was computed or stored, as far as it has a name."""
    last = function.body[-1]
    assert isinstance(last, ast.Return) and last.value is not None
    named: dict[str, ast.AST] = {}
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named[name] = value
    results = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    return [named.get(one.id, last) if isinstance(one, ast.Name) else last for one in results]


def _pieces(making: Making, whole: Whole) -> list[tuple[Term, tuple[Term, ...]]]:
    """What is stored, and where: the parts of what was joined each by itself, if they are alike."""
    terms = making.terms
    zero = terms.number(0)
    parts = whole.parts if len({part.shape for part in whole.parts}) == 1 else (whole,)
    made: list[tuple[Term, tuple[Term, ...]]] = []
    for at, part in enumerate(parts):
        axes = _axes(part)
        own = tuple(zero if axis is None else terms.position(axis) for axis in axes)
        term = _unwidened(part.at(own), whole.dtype)
        if any(size.value == 0 for size in part.shape):
            # There is no element to compute.
            term = zero
        if len(parts) > 1:
            if any(inner.kind == "dot" for inner in subterms(term)):
                # Tiles of products would run over the end of a part.
                return _pieces(making, replace(whole, parts=()))
            start = terms.number(at * part.shape[whole.along].value)
            first = own[whole.along]
            shifted = start if axes[whole.along] is None else first
            if axes[whole.along] is not None and at:
                shifted = terms.apply("+", (first, start), "int32")
            own = (*own[: whole.along], shifted, *own[whole.along + 1 :])
        made.append((term, own))
    return made


def _unwidened(term: Term, dtype: str) -> Term:
    """A term as it was before it was made wider to be computed with."""
    is_wider = term.kind == "cast" and term.operands[0].dtype == dtype
    return term.operands[0] if is_wider else term


def _axes(whole: Whole) -> tuple[Axis | None, ...]:
    """An axis for each dimension; outputs share those over the same extent."""
    seen: dict[Size, int] = {}
    made: list[Axis | None] = []
    for size in whole.shape:
        if size == ONE:
            made.append(None)
            continue
        made.append(Axis(size, seen.get(size, 0), False))
        seen[size] = seen.get(size, 0) + 1
    return tuple(made)


def _reversed(plan: Plan) -> set[Axis]:
    """The tiled axes along which loops get longer, as under a causal mask."""
    found: set[Axis] = set()
    for axis, running in plan.loops.items():
        for test in common_conditions(running):
            limit = bound_of(test, axis)
            if limit is not None and limit[0]:
                found |= {
                    part
                    for part, count in limit[1].items()
                    if isinstance(part, Axis) and count > 0 and plan.places[part].role == "tile"
                }
    return found


def _free_sizes(facts: Facts, plans: list[Plan], making: Making) -> None:
    """Read extents at the launch that no tile holds whole: those of batches, and the wanted."""
    fixed = making.fixed | facts.fixed_sizes
    places = [place for plan in plans for place in plan.places.values()]
    fixed |= {place.block.name for place in places if place.has_lanes}
    shapes = {name: facts.tensors[name].shape for name in facts.parameters if name in facts.tensors}
    inner = {ast.unparse(extent) for shape in shapes.values() for extent in shape[1:]}
    inner |= {
        ast.unparse(extent) for one in facts.stored for extent in facts.tensors[one].shape[1:]
    }
    for tensor, shape in shapes.items():
        for at, extent in enumerate(shape):
            if not isinstance(extent, ast.Name) or extent.id not in facts.constants:
                continue
            # The first extent is in no address, so that a batch of any size is the same program.
            is_free = extent.id in facts.free_sizes or (at == 0 and extent.id not in inner)
            if is_free and extent.id not in fixed:
                del facts.constants[extent.id]
                facts.dims[extent.id] = (tensor, at)
                facts.scalars[extent.id] = "int32"


def _constants(facts: Facts) -> list[ast.stmt]:
    return [
        ast.Assign([ast.Name(one, ast.Store())], literal(value), lineno=1)
        for one, value in facts.constants.items()
    ]


def _written(
    plans: list[Plan],
    making: Making,
    facts: Facts,
    function: ast.FunctionDef,
    decided: list[ast.Expr],
) -> list[ast.stmt]:
    node = function.body[-1]
    used = {function.name, *facts.tensors, *facts.constants, *facts.scalars}
    writer = Writer(facts, Names(used), node)
    kernels: list[ast.With] = []
    for plan in plans:
        _name_blocks(plan, writer)
        tiles = Tiles(plan, making.terms, writer)
        kernels += split_kernels(tiles) if plan.splits else [_kernel(tiles)]
    asserted: list[ast.stmt] = [
        ast.Expr(writer.tree("T.static_assert(condition)", condition=condition))
        for condition in writer.decided.values()
    ]
    kernels[0].body[:0] = [*decided, *asserted]
    _add_workspaces(facts, function)
    return [place(kernel, node) for kernel in kernels]


def _name_blocks(plan: Plan, writer: Writer) -> None:
    """Make the extents of tiles constants; those of a later launch may need other names."""
    for axis, one in plan.places.items():
        if not one.block.name or not one.has_lanes:
            continue
        if writer.facts.constants.get(one.block.name, one.block.value) != one.block.value:
            block = replace(one.block, name=writer.names.fresh(one.block.name))
            plan.places[axis] = replace(one, block=block)
        writer.constant(plan.places[axis].block)
        writer.names.used.add(plan.places[axis].block.name)


def _kernel(tiles: Tiles) -> ast.With:
    """The one launch of a program."""
    grid = Grid(tiles.plan, tiles.writer)
    body = Body()
    store_outputs(tiles, grid.open(body))
    return grid.closed(body)


def _add_workspaces(facts: Facts, function: ast.FunctionDef) -> None:
    """Tensors that only the kernels see are parameters of the canonical form, too."""
    known = {argument.arg for argument in function.args.args}
    for tensor in facts.tensors.values():
        if tensor.name not in known:
            shape = ast.Tuple(list(tensor.shape), ast.Load())
            kind = expr("T.Tensor(shape, dtype)", shape=shape, dtype=literal(tensor.dtype))
            function.args.args.append(ast.arg(tensor.name, kind))
