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
            value = T.alloc_fragment((block_N,), 'float32')
            for i in T.Parallel(block_N):
                value[i] = Y[i] + X_local[i]
            T.copy(value, C[bx * block_N:bx * block_N + block_N])
"""

import ast

from rewrites.facts import Facts
from rewrites.operands.body import Body, Writer
from rewrites.operands.evaluate import Reader
from rewrites.operands.limits import bound_of
from rewrites.operands.multiply_vectors import multiply_vectors
from rewrites.operands.online import hoist_factors
from rewrites.operands.plan import Output, Plan, plan_of
from rewrites.operands.rename_bound import rename_bound
from rewrites.operands.sizes import Sizes
from rewrites.operands.streams import close_loop, common_conditions, open_loop
from rewrites.operands.terms import Axis, Size
from rewrites.operands.tiles import Tiles
from rewrites.operands.values import ONE, Making, Whole
from rewrites.quote import literal, name, place
from rewrites.schedule import Schedule
from rewrites.tree import function_of, is_whole, names_in

_BLOCKS = ("bx", "by", "bz")


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Write the tile program of what the function returns; others stay as they are."""
    function = function_of(tree)
    if not is_whole(function):
        return tree
    last = function.body[-1]
    making = Making(sizes=Sizes())
    reader = Reader(facts, making)
    returned = reader.program(function)
    outputs = _outputs(making, facts, returned, last)
    plan = plan_of(outputs, facts, function)
    asserted = [one for one in function.body if isinstance(one, ast.Expr)]
    # What Python decided from a size holds for that size.
    making.fixed.update(*map(names_in, asserted))
    _free_sizes(facts, plan, making)
    plan.reversed = _reversed(plan)
    function.body = _written(plan, making, facts, function, asserted)
    tree.body = [*_constants(facts), function]
    # What is left of the schedule is for kernels with a grid of their own.
    facts.schedule = Schedule()
    return ast.fix_missing_locations(tree)


def _outputs(
    making: Making, facts: Facts, returned: tuple[Whole, ...], node: ast.AST
) -> list[Output]:
    """The outputs as terms over their axes."""
    axes = [_axes(whole) for whole in returned]
    zero = making.terms.number(0)
    roots = [
        whole.at(tuple(zero if one is None else making.terms.position(one) for one in own))
        for whole, own in zip(returned, axes, strict=True)
    ]
    roots = multiply_vectors(making.terms, roots)
    roots = hoist_factors(making.terms, rename_bound(making.terms, roots))
    return [
        Output(tensor, root, own, node)
        for tensor, root, own in zip(facts.outputs, roots, axes, strict=True)
    ]


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


def _free_sizes(facts: Facts, plan: Plan, making: Making) -> None:
    """Read extents at the launch that no tile holds whole: those of batches, and the wanted."""
    fixed = set(making.fixed)
    fixed |= {place.block.name for place in plan.places.values() if place.has_lanes}
    shapes = {name: facts.tensors[name].shape for name in facts.parameters if name in facts.tensors}
    inner = {ast.unparse(extent) for shape in shapes.values() for extent in shape[1:]}
    inner |= {
        ast.unparse(extent) for one in facts.outputs for extent in facts.tensors[one].shape[1:]
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
    plan: Plan,
    making: Making,
    facts: Facts,
    function: ast.FunctionDef,
    decided: list[ast.Expr],
) -> list[ast.stmt]:
    node = function.body[-1]
    used = {function.name, *facts.tensors, *facts.constants, *facts.scalars}
    writer = Writer(facts, used, node)
    body = Body()
    for one in plan.places.values():
        if one.block.name:
            writer.constant(one.block)
    header = _grid(plan, writer, body)
    tiles = Tiles(plan, making.terms, writer)
    looped: dict[Axis | None, list[Output]] = {}
    for output in plan.outputs:
        looped.setdefault(_streamed(plan, output), []).append(output)
    for axis, outputs in looped.items():
        inside = body if axis is None else open_loop(tiles, axis, body)
        for output in outputs:
            writer.node = output.node
            tiles.store(output.tensor, output.term, output.axes, inside)
        if axis is not None:
            close_loop(tiles, axis, inside)
    asserted: list[ast.stmt] = [
        ast.Expr(writer.tree("T.static_assert(condition)", condition=condition))
        for condition in writer.decided.values()
    ]
    header.body = [*decided, *asserted, *_swizzle(plan, writer, header), *body.statements]
    return [place(header, node)]


def _swizzle(plan: Plan, writer: Writer, header: ast.With) -> list[ast.stmt]:
    """`T.use_swizzle(…)` for a grid over rows and columns."""
    tiled = [one for one in plan.places.values() if one.role == "tile"]
    if plan.swizzle is None or len(tiled) < 2:
        return []
    call = writer.tree("T.use_swizzle(panel)", panel=literal(plan.swizzle))
    return [place(ast.Expr(call), header)]


def _streamed(plan: Plan, output: Output) -> Axis | None:
    """The axis of an output that is run over in a loop, for each row is too long for a tile."""
    found = [axis for axis in output.axes if axis and plan.places[axis].role == "stream"]
    assert len(found) < 2
    return found[0] if found else None


def _grid(plan: Plan, writer: Writer, body: Body) -> ast.With:
    """`with T.Kernel(…) as (bx, by):` over the axes of the outputs, the last of them first."""
    axes = [axis for axis, one in plan.places.items() if one.role in ("grid", "tile")][::-1]
    extents = [_programs(plan, writer, axis) for axis in axes]
    names = [writer.fresh(one) for one in _BLOCKS[: min(3, max(1, len(axes)))]]
    indices: list[ast.expr] = [name(one) for one in names[: len(axes)]]
    if len(axes) > 3:
        rest = extents[2:]
        product = rest[0]
        for extent in rest[1:]:
            product = writer.tree("a * b", a=product, b=extent)
        # The grid has three dimensions: the last is taken apart.
        left: ast.expr = name(names[2])
        indices = indices[:2]
        for extent in rest[:-1]:
            indices.append(writer.tree("a % b", a=left, b=extent))
            left = writer.tree("a // b", a=left, b=extent)
        indices.append(left)
        extents = [*extents[:2], product]
    for axis, index in zip(axes, indices, strict=True):
        one = plan.places[axis]
        if axis in plan.reversed:
            last = writer.tree("count - 1", count=_programs(plan, writer, axis))
            index = writer.tree("last - i", last=last, i=index)
        if one.role == "tile":
            block = writer.constant(one.block)
            start = writer.tree("i * block", i=index, block=block)
            if axis in plan.reversed:
                # The last tiles have the most work and go first.
                first = writer.fresh("first")
                writer.put(body, "first = start", first=first, start=start)
                start = name(first)
            body.starts[axis] = start
        else:
            body.starts[axis] = index
    call = writer.tree("T.Kernel(threads=n)", n=literal(plan.threads))
    assert isinstance(call, ast.Call)
    call.args = extents or [literal(1)]
    target: ast.expr = ast.Name(names[0], ast.Store())
    if len(names) > 1:
        target = ast.Tuple([ast.Name(one, ast.Store()) for one in names], ast.Store())
    with_ = ast.With([ast.withitem(call, target)], [])
    with_.type_comment = None
    return with_


def _programs(plan: Plan, writer: Writer, axis: Axis) -> ast.expr:
    one = plan.places[axis]
    if one.role == "grid":
        return axis.size.tree
    block = writer.constant(one.block)
    return writer.tree("T.ceildiv(size, block)", size=axis.size.tree, block=block)
