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
from dataclasses import replace

from rewrites.environment import lengths, next_power_of_two, padded
from rewrites.errors import refuse
from rewrites.lane_loops import lower_lane_loop, lower_lane_while
from rewrites.lowering import Lowering
from rewrites.nodes import Blank, Comment
from rewrites.quote import expr, name, stand_for, substituted
from rewrites.ranges import Range
from rewrites.scalars import as_condition, negate_condition
from rewrites.shapes import plain_extent
from rewrites.space import Axis, Space
from rewrites.stores import filled, store
from rewrites.tree import index_list, names_in, walk
from rewrites.updates import update
from rewrites.values import Value, named, number


def lower_parallel(lowering: Lowering, loop: ast.For) -> None:
    """Emit the statements of one T.Parallel loop."""
    axes = axes_of_loop(lowering, loop)
    space = Space(lowering, tuple(axis for axis in axes if not _is_single(axis)))
    for axis in axes:
        if _is_single(axis):
            # A loop over one element has no axis: its variable is 0.
            space.lets[axis.variable] = number(0)
            lowering.environment.ranges[axis.variable] = Range(0, 0)
    run(space, loop.body)


def axes_of_loop(lowering: Lowering, loop: ast.For) -> tuple[Axis, ...]:
    """The loop's axes, ordered as the first store's indices use them."""
    assert isinstance(loop.iter, ast.Call)
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    variables = [target.id for target in targets if isinstance(target, ast.Name)]
    axes: dict[str, Axis] = {}
    for variable, tree in zip(variables, loop.iter.args, strict=True):
        interval = lowering.environment.range(tree)
        if interval.low is None or interval.low != interval.high:
            raise refuse(
                tree,
                "T2T308",
                f"T.Parallel runs over `{ast.unparse(tree)}`, which is known only at run time",
                hint="give T.Parallel static extents and guard its body with `if`",
            )
        axis = _axis(lowering, loop, variable, interval.low, plain_extent(tree))
        axes[variable] = replace(axis, place=len(axes))
    order = sorted(variables, key=lambda v: _first_use(loop, v, variables))
    return tuple(axes[variable] for variable in order)


def _is_single(axis: Axis) -> bool:
    return isinstance(axis.tree, ast.Constant) and axis.extent == 1


def run(space: Space, body: list[ast.stmt]) -> None:
    """Lower the statements of a T.Parallel body, or of a scalar block, in order."""
    for statement in body:
        statement_in_space(space, statement)


def statement_in_space(space: Space, statement: ast.stmt) -> None:
    out = space.lowering.out
    start = len(out)
    space.start_statement()
    _lower(space, statement)
    for made in out[start:]:
        stand_for(made, statement)


def _lower(space: Space, statement: ast.stmt) -> None:
    match statement:
        case Comment() | Blank():
            space.lowering.out.append(statement)
        case ast.Pass():
            pass
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            _assign_name(space, target, value, statement)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=buffer)) as target], value=tree):
            store(space, buffer, index_list(target), space.value(tree), statement)
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=buffer)) as target, op=op):
            update(space, buffer, target, op, statement)
        case ast.If(test=test, body=body, orelse=orelse):
            _branch(space, test, body, orelse)
        case ast.For():
            lower_lane_loop(space, statement, run)
        case ast.While():
            lower_lane_while(space, statement, run)
        case ast.Expr(value=ast.Call() as call):
            space.run_operator(call)
        case _:
            raise refuse(
                statement,
                "T2T309",
                f"`{ast.unparse(statement).splitlines()[0]}` cannot stand inside T.Parallel",
                hint="T.Parallel holds element-wise statements: assignments, `if`, `for`, `while`",
            )


def _axis(lowering: Lowering, loop: ast.For, variable: str, extent: int, tree: ast.expr) -> Axis:
    """As many lanes as the shortest tile dimension that the bare variable indexes."""
    least, length, length_tree = next_power_of_two(extent), 0, padded(extent, tree)
    if extent == 1:
        # With one lane a value has one element, wherever it is stored or added.
        return Axis(variable, extent, tree, least, length_tree)
    for node in walk(loop):
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            continue
        tile = lowering.facts.tiles.get(node.value.id)
        if tile is None or tile.is_scalar:
            continue
        for position, index in enumerate(index_list(node)):
            is_variable = isinstance(index, ast.Name) and index.id == variable
            own = lengths(tile)[position]
            if is_variable and own >= least and not least <= length <= own:
                length = own
                length_tree = padded(tile.shape[position], tile.trees[position])
    if length <= least:
        length, length_tree = least, padded(extent, tree)
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
            lowering.emit("target = tree", target=target, tree=filled(space, init, dtype))
            return
    value = space.value(tree)
    if target in space.lets and target in facts.variables:
        variable = space.lets[target]
        new = filled(space, value, variable.dtype)
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
    lowering.emit("target = tree", target=target, tree=named(value).tree)
    if _is_index(space, tree):
        space.spellings[target] = substituted(tree, space.spellings)
    space.environment.ranges[target] = space.environment.range(tree)
    # Triton makes a Python number that is assigned to a name a typed scalar.
    space.lets[target] = Value(name(target), value.dtype, value.axes)


def _is_index(space: Space, tree: ast.expr) -> bool:
    """Whether a let is arithmetic of loop variables and of what does not change in the loop."""
    parts = (ast.Name, ast.Constant, ast.BinOp)
    names = names_in(tree)
    fixed = space.position.keys() | space.spellings.keys() | space.facts.constants.keys()
    return all(isinstance(node, parts) for node in walk(tree)) and names <= fixed | (
        space.environment.dtypes.keys() - space.facts.variables.keys()
    )


def _branch(space: Space, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
    condition = as_condition(space.value(test))
    facts = space.facts
    changes = isinstance(condition.tree, ast.Name) and (
        condition.tree.id in facts.variables or condition.tree.id in facts.tiles
    )
    if changes or not isinstance(condition.tree, ast.Name):
        named = space.lowering.assign("where", condition.tree)
        condition = Value(named, "bool", condition.axes, condition.weak)
    with space.under(condition):
        run(space, body)
    if orelse:
        with space.under(negate_condition(condition)):
            run(space, orelse)
