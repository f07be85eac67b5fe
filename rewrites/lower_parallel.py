"""Lower T.Parallel: one loop nest becomes one tensor expression a statement.

before:
    block_M = 64
    block_N = 32
    def scale(A: T.Tensor((64, 32), "float32"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            acc = T.alloc_fragment((block_M, block_N), "float32")
            row = T.alloc_fragment((block_M,), "float32")
            for i, j in T.Parallel(block_M, block_N):
                acc[i, j] = acc[i, j] * row[i]

after:
    acc = acc * row[:, None]
"""

import ast

from rewrites import tensors, tiles
from rewrites.environment import lengths, next_power_of_two, padded
from rewrites.errors import refuse
from rewrites.nodes import Blank, Comment
from rewrites.quote import expr, name
from rewrites.scalars import as_condition, logical, negate_condition
from rewrites.space import Axis, Lowering, Space, index_list
from rewrites.tree import walk
from rewrites.values import Value, arithmetic, cast, full, stored


def lower_parallel(lowering: Lowering, loop: ast.For) -> None:
    """Emit the statements of one T.Parallel loop."""
    space = Space(lowering, axes_of_loop(lowering, loop))
    run(space, loop.body)


def axes_of_loop(lowering: Lowering, loop: ast.For) -> tuple[Axis, ...]:
    """The loop's axes, ordered as the first store's indices use them."""
    assert isinstance(loop.iter, ast.Call)
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    variables = [target.id for target in targets if isinstance(target, ast.Name)]
    axes = {}
    for variable, tree in zip(variables, loop.iter.args, strict=True):
        interval = lowering.environment.range(tree)
        if interval.low is None or interval.low != interval.high:
            raise refuse(
                tree,
                "T2T308",
                f"T.Parallel runs over `{ast.unparse(tree)}`, which is known only at run time",
                hint="give T.Parallel static extents and guard its body with `if`",
            )
        axes[variable] = _axis(lowering, loop, variable, interval.low, tree)
    order = sorted(variables, key=lambda v: _first_use(loop, v, variables))
    return tuple(axes[variable] for variable in order)


def run(space: Space, body: list[ast.stmt]) -> None:
    """Lower the statements of a T.Parallel body, or of a scalar block, in order."""
    for statement in body:
        statement_in_space(space, statement)


def statement_in_space(space: Space, statement: ast.stmt) -> None:
    lowering = space.lowering
    match statement:
        case Comment() | Blank():
            lowering.out.append(statement)
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            _assign_name(space, target, value, statement)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=buffer)) as target], value=tree):
            store(space, buffer, index_list(target), space.value(tree), statement)
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=buffer)) as target, op=op):
            _update(space, buffer, target, op, statement)
        case ast.If(test=test, body=body, orelse=orelse):
            _branch(space, test, body, orelse)
        case ast.For():
            _serial(space, statement)
        case ast.Expr(value=ast.Call() as call):
            space.run_operator(call)
        case _:
            raise refuse(
                statement,
                "T2T309",
                f"`{ast.unparse(statement).splitlines()[0]}` cannot stand inside T.Parallel",
                hint="T.Parallel holds element-wise statements: assignments, `if`, serial loops",
            )


def store(space: Space, buffer: str, indices: list[ast.expr], value: Value, node: ast.AST) -> None:
    """`buffer[indices] = value`, wherever the buffer lives."""
    if buffer in space.facts.tiles:
        tiles.write(space, buffer, indices, value, node)
    else:
        tensors.write(space, buffer, indices, value, node)


def _axis(lowering: Lowering, loop: ast.For, variable: str, extent: int, tree: ast.expr) -> Axis:
    """As many lanes as the longest tile dimension that the bare variable indexes."""
    length, length_tree = next_power_of_two(extent), padded(extent, tree)
    for node in walk(loop):
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            continue
        tile = lowering.facts.tiles.get(node.value.id)
        if tile is None or tile.is_scalar:
            continue
        for position, index in enumerate(index_list(node)):
            is_variable = isinstance(index, ast.Name) and index.id == variable
            if is_variable and lengths(tile)[position] > length:
                length = lengths(tile)[position]
                length_tree = padded(tile.shape[position], tile.trees[position])
    return Axis(variable, extent, tree, length, length_tree)


def _first_use(loop: ast.For, variable: str, variables: list[str]) -> int:
    """Where the variable stands in the indices of the loop's first store."""
    for node in walk(ast.Module(loop.body, [])):
        target = None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        elif isinstance(node, ast.AugAssign):
            target = node.target
        if isinstance(target, ast.Subscript):
            used = [
                n.id
                for index in index_list(target)
                for n in walk(index)
                if isinstance(n, ast.Name) and n.id in variables
            ]
            # Variables that the store does not use keep their place in the header.
            if variable in used and set(used) == set(variables):
                return used.index(variable)
            return variables.index(variable)
    return variables.index(variable)


def _assign_name(space: Space, target: str, tree: ast.expr, node: ast.stmt) -> None:
    lowering, facts = space.lowering, space.facts
    full = frozenset(range(space.rank))
    match tree:
        case ast.Call(func=ast.Attribute(attr="alloc_var")):
            arguments = facts.operators["alloc_var"].arguments(tree)
            init = space.value(arguments["init"])
            dtype = facts.variables[target]
            space.lets[target] = Value(name(target), dtype, full)
            lowering.emit("target = tree", target=target, tree=_filled(space, init, dtype))
            return
    value = space.value(tree)
    if target in space.lets and target in facts.variables:
        variable = space.lets[target]
        new = _filled(space, value, variable.dtype)
        condition = space.condition()
        if condition is not None:
            new = expr("tl.where(mask, new, old)", mask=condition.tree, new=new, old=variable.tree)
        lowering.emit("target = new", target=target, new=new)
        return
    if target in facts.variables:
        raise refuse(
            node,
            "T2T310",
            f"every element of T.Parallel stores to the one variable `{target}`",
            hint=f"declare `{target}` inside the loop, or reduce with T.reduce_sum",
        )
    lowering.emit("target = tree", target=target, tree=value.tree)
    space.environment.ranges[target] = space.environment.range(tree)
    space.lets[target] = Value(name(target), value.dtype, value.axes, value.weak, value.number)


def _filled(space: Space, value: Value, dtype: str) -> ast.expr:
    """A value over all axes of the space, for a variable that each element has."""
    new = stored(value, dtype)
    if new.weak or not new.axes:
        return full(ast.Tuple(space.shape(), ast.Load()), new.tree, dtype)
    if len(new.axes) < space.rank:
        shape = ast.Tuple(space.shape(), ast.Load())
        return expr("tl.broadcast_to(tree, shape)", tree=new.tree, shape=shape)
    return new.tree


def _update(
    space: Space, buffer: str, target: ast.Subscript, op: ast.operator, node: ast.AugAssign
) -> None:
    """`buffer[i] op= e`; where a loop variable is not among the indices, `+=` sums over it."""
    indices = index_list(target)
    used = set().union(*(space.axes_of(index) for index in indices)) if indices else set()
    missing = [
        position
        for position, axis in enumerate(space.axes)
        if position not in used and axis.extent > 1
    ]
    if not missing:
        combined = ast.copy_location(ast.BinOp(target, op, node.value), node)
        store(space, buffer, indices, space.value(combined), node)
        return
    if not isinstance(op, ast.Add):
        variable = space.axes[missing[0]].variable
        raise refuse(
            node,
            "T2T305",
            f"every `{variable}` updates the same element of `{buffer}`",
            found=(f"`{variable}` runs over {space.axes[missing[0]].extent} values",),
            hint="only `+=` may gather many values in one element; or use a T.reduce operator",
        )
    rest, total = total_over(space, space.value(node.value), missing)
    old = rest.read(target, buffer, indices)
    store(rest, buffer, indices, arithmetic(op, old, total), node)


def total_over(space: Space, value: Value, missing: list[int]) -> tuple[Space, Value]:
    """The value added up over `missing` axes, and the space of the axes that are left."""
    total = _sum(space, value, missing)
    rest = Space(space.lowering, tuple(a for p, a in enumerate(space.axes) if p not in missing))
    axes = frozenset(sum(1 for p in range(axis) if p not in missing) for axis in total.axes)
    return rest, Value(total.tree, total.dtype, axes)


def _sum(space: Space, value: Value, missing: list[int]) -> Value:
    """The value summed over `missing` axes, which are gone from the result's rank."""
    filled = _filled(space, value, value.dtype)
    masks = [m for p in range(space.rank) if (m := space.in_extent(p)) is not None]
    masks += space.conditions
    if masks:
        mask = logical(ast.And(), masks)
        filled = expr("tl.where(mask, filled, 0)", mask=mask.tree, filled=filled)
    for position in sorted(missing, reverse=True):
        filled = expr("tl.sum(filled, axis)", filled=filled, axis=ast.Constant(position))
    axes = frozenset(range(space.rank)) - frozenset(missing)
    summed = Value(filled, value.dtype, axes)
    if value.dtype in ("int8", "int16", "uint8", "uint16", "bool"):
        summed = cast(Value(filled, "int32", axes), value.dtype)
    return summed


def _branch(space: Space, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
    condition = as_condition(space.value(test))
    if not isinstance(condition.tree, ast.Name):
        named = space.lowering.assign("where", condition.tree)
        condition = Value(named, "bool", condition.axes, condition.weak)
    with space.under(condition):
        run(space, body)
    if orelse:
        with space.under(negate_condition(condition)):
            run(space, orelse)


def _serial(space: Space, loop: ast.For) -> None:
    from rewrites.lower_loops import loop_header

    lowering = space.lowering
    header = loop_header(lowering, loop)
    with lowering.block() as body:
        run(space, loop.body)
    lowering.out.append(
        ast.copy_location(ast.For(loop.target, header, body or [ast.Pass()], []), loop)
    )
