"""Lower loops in T.Parallel: where the lanes' bounds differ, each lane takes part in its own turns.

before:
    def sums(A: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                for j in T.serial(A[i]):
                    C[i] += j

after:
    turns = tl.load(A + offs_i)
    for j in range(tl.max(turns)):
        where = j < turns
        tl.store(C + offs_i, tl.load(C + offs_i, mask=where) + j, mask=where)
"""

import ast
from collections.abc import Callable

from rewrites.dtypes import bits
from rewrites.errors import refuse
from rewrites.lower_loops import bound, bounds, loop_header, step_of
from rewrites.quote import expr, literal, name, place
from rewrites.scalars import as_condition, logical
from rewrites.space import Space
from rewrites.values import Value, cast, strong

Run = Callable[[Space, list[ast.stmt]], None]


def lower_lane_loop(space: Space, loop: ast.For, run: Run) -> None:
    """Emit a loop inside of T.Parallel; `run` lowers its body."""
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
    operator = space.facts.operators[loop.iter.func.attr]
    start, stop, step = bounds(operator.arguments(loop.iter))
    if space.axes_of(start) or space.axes_of(stop):
        _of_lanes(space, loop, (start, stop), step_of(step, space.environment), run)
        return
    lowering = space.lowering
    header = loop_header(lowering, loop, space)
    with lowering.block() as body:
        run(space, loop.body)
    made = ast.For(loop.target, header, body or [ast.Pass()], [])
    lowering.out.append(ast.copy_location(made, loop))


def lower_lane_while(space: Space, loop: ast.While, run: Run) -> None:
    """Emit a `while` inside of T.Parallel: it turns as long as it does for any lane."""
    lowering = space.lowering
    going = _going(space, loop.test, space.conditions)
    inside = lowering.names.fresh("going")
    lowering.emit("inside = going", inside=inside, going=going.tree)
    mask = Value(name(inside), "bool", going.axes)
    # The test stands in front of the loop and at its end: what it loads is statements.
    busy = lowering.names.fresh("busy")
    lowering.emit("busy = any", busy=busy, any=_any(mask))
    with lowering.block() as body, space.under(mask):
        run(space, loop.body)
        space.start_statement()
        lowering.emit("inside = going", inside=inside, going=_going(space, loop.test, [mask]).tree)
        lowering.emit("busy = any", busy=busy, any=_any(mask))
    lowering.out.append(ast.copy_location(ast.While(name(busy), body, []), loop))


def _going(space: Space, test: ast.expr, under: list[Value]) -> Value:
    """For which lanes the test holds, of those that are run."""
    condition = as_condition(space.value(test))
    axes = condition.axes.union(*(mask.axes for mask in under))
    inside = [space.in_extent(position) for position in sorted(axes)]
    masks = [*under, *(mask for mask in inside if mask is not None)]
    return strong(logical(ast.And(), [*masks, condition]))


def _any(mask: Value) -> ast.expr:
    return expr("tl.max(mask.to(tl.int32)) != 0", mask=mask.tree) if mask.axes else mask.tree


def _of_lanes(
    space: Space, loop: ast.For, ends: tuple[ast.expr, ast.expr], step: int, run: Run
) -> None:
    """As many turns as the lane with the most has; a lane that has had its own sits out."""
    assert isinstance(loop.target, ast.Name)
    lowering = space.lowering
    start, stop = ends
    variable = loop.target.id
    is_plain = step == 1 and isinstance(start, ast.Constant) and start.value == 0
    for end in ends:
        if bits(bound(space, end).dtype) > 32:
            raise refuse(
                end,
                "T2T382",
                f"`{ast.unparse(end)}` is another bound in each iteration of T.Parallel, where "
                "loops count in int32",
                found=(f"`{ast.unparse(end)}`: {space.value(end).dtype}",),
                hint=f'cast it: T.cast({ast.unparse(end)}, "int32")',
            )
    first = space.value(start)
    if not isinstance(start, ast.Constant):
        # The body may change what the bounds are made of.
        first = _named(space, "first", first)
    turns = _named(space, "turns", space.value(_count(loop, start, stop, step)))
    turn = variable if is_plain else lowering.names.fresh("turn")
    # Sibling loops share their variable's name, which keeps one type; here it is a tile.
    position = variable if is_plain else lowering.names.fresh(variable)
    most = expr("range(tl.max(turns))", turns=_of_running_lanes(space, turns))
    lowering.environment.add_counter(variable, start, stop, step)
    with lowering.block() as body:
        if is_plain:
            index = Value(name(turn), "int32")
        else:
            tree = expr("first + turn", first=first.tree, turn=name(turn))
            if step != 1:
                steps = {"first": first.tree, "turn": name(turn), "step": literal(step)}
                tree = expr("first + turn * step", **steps)
            lowering.emit("position = tree", position=position, tree=tree)
            index = Value(name(position), "int32", first.axes)
        space.lets[variable] = index
        condition = expr("turn < turns", turn=name(turn), turns=turns.tree)
        where = lowering.assign("where", condition)
        with space.under(Value(where, "bool", turns.axes)):
            run(space, loop.body)
    del space.lets[variable]
    lowering.out.append(
        ast.copy_location(ast.For(ast.Name(turn, ast.Store()), most, body, []), loop)
    )


def _count(loop: ast.For, start: ast.expr, stop: ast.expr, step: int) -> ast.expr:
    """How many turns a lane has; below 1 where it has none."""
    if isinstance(start, ast.Constant) and start.value == 0:
        way = stop if step > 0 else expr("-stop", stop=stop)
    else:
        low, high = (start, stop) if step > 0 else (stop, start)
        way = expr("high - low", high=high, low=low)
    if abs(step) == 1:
        return place(way, loop.iter)
    width = ast.Constant(abs(step))
    rest = ast.Constant(abs(step) - 1)
    return place(expr("(way + rest) // width", way=way, rest=rest, width=width), loop.iter)


def _named(space: Space, base: str, value: Value) -> Value:
    """The value as int32, under a name that nothing changes."""
    whole = cast(value, "int32")
    return Value(space.lowering.assign(base, whole.tree), "int32", whole.axes)


def _of_running_lanes(space: Space, turns: Value) -> ast.expr:
    """The turns with 0 in lanes that are not run: what they hold may be anything."""
    inside = [space.in_extent(position) for position in sorted(turns.axes)]
    masks = [*space.conditions, *(mask for mask in inside if mask is not None)]
    if not masks:
        return turns.tree
    mask = logical(ast.And(), masks)
    return expr("tl.where(mask, turns, 0)", mask=mask.tree, turns=turns.tree)
