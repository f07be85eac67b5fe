"""Lower the loops: T.Pipelined, T.serial and T.unroll become Triton's ranges."""

import ast

from rewrites.dtypes import bits, is_float
from rewrites.environment import Environment
from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.hint_notes import note
from rewrites.lowering import Lowering
from rewrites.quote import expr
from rewrites.shapes import plain_extent
from rewrites.space import Space
from rewrites.tree import loop_kind, walk
from rewrites.values import Value


def loop_header(lowering: Lowering, loop: ast.For, space: Space | None = None) -> ast.expr:
    """The iterable for Triton; the loop variable's range becomes known.

    `space` is the one around a loop that stands in T.Parallel, whose lets the bounds may name.
    """
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
    assert isinstance(loop.target, ast.Name)
    operator = lowering.facts.operators[loop.iter.func.attr]
    arguments = operator.arguments(loop.iter)
    start, stop, step = bounds(arguments)
    environment = lowering.environment
    stride = step_of(step, environment)
    environment.add_counter(loop.target.id, start, stop, stride)
    space = space or Space(lowering)
    values = [bound(space, part) for part in (start, stop, step)]
    if any(bits(value.dtype) == 64 for value in values):
        environment.dtypes[loop.target.id] = "int64"
    parts = _shortest([value.tree for value in values])
    if operator.name == "Pipelined":
        stages = arguments["num_stages"]
        if loop.target.id not in lowering.facts.made_loops:
            _note_stages(loop.iter, lowering.facts)
        # Launchers ask for one stage, so that a plain range is one of a single stage too.
        if isinstance(stages, ast.Constant) and stages.value in (0, 1, None):
            return _call("range", parts)
        header = _call("tl.range", parts)
        header.keywords.append(ast.keyword("num_stages", stages))
        return header
    if operator.name == "unroll":
        written = [plain_extent(part) for part in (start, stop, step)]
        if all(_is_static(part, lowering) for part in written):
            environment.unrolled.add(loop.target.id)
            return _call("tl.static_range", _shortest(written))
        header = _call("tl.range", parts)
        factor = arguments.get("unroll_factor") or ast.Constant(None)
        if isinstance(factor, ast.Constant) and factor.value is None:
            factor = ast.Constant(4)
        header.keywords.append(ast.keyword("loop_unroll_factor", factor))
        return header
    flat = lowering.facts.program_loops - lowering.facts.uneven_loops
    if loop.target.id in flat and _is_one_pipeline(loop):
        # One flat loop: the loads of a tile begin while the tile before it is stored.
        header = _call("tl.range", parts)
        header.keywords.append(ast.keyword("flatten", ast.Constant(True)))
        return header
    return _call("range", parts)


def _is_one_pipeline(loop: ast.For) -> bool:
    """Whether there is one loop in it, which stands in it itself and has stages."""
    inner = [node for node in walk(loop) if isinstance(node, (ast.For, ast.While))][1:]
    loops = [one for one in inner if loop_kind(one) != "Parallel"]
    return len(loops) == 1 and loops[0] in loop.body and loop_kind(loops[0]) == "Pipelined"


def _note_stages(call: ast.Call, facts: Facts) -> None:
    """Say what became of the number of stages, unless it was lowered, which has been said."""
    for keyword in call.keywords:
        if keyword.arg != "num_stages" or facts.stored:
            continue
        start = "T.Pipelined(…, num_stages="
        said = [r for r in facts.hint_report if r.line == call.lineno]
        if any(one.construct.startswith(start) for one in said):
            continue
        # It may stand for the stages of the single statements, which have a report of their own.
        scheduled = [r for r in facts.written_hints if r.line == call.lineno]
        if any({"order", "stage"} <= one.arguments.keys() for one in scheduled):
            continue
        stages = ast.unparse(keyword.value)
        is_plain = isinstance(keyword.value, ast.Constant) and keyword.value.value in (0, 1)
        detail = "a plain loop" if is_plain else f"`tl.range(…, num_stages={stages})`"
        note(facts, call, f"{start}{stages})", "native", detail)


def bounds(arguments: dict[str, ast.expr]) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Start, stop and step of a loop operator's arguments."""
    start, stop = arguments["start"], arguments["stop"]
    if isinstance(stop, ast.Constant) and stop.value is None:
        start, stop = ast.copy_location(ast.Constant(0), start), start
    step = arguments.get("step", ast.Constant(1))
    if isinstance(step, ast.Constant) and step.value is None:
        step = ast.Constant(1)
    return start, stop, step


def bound(space: Space, tree: ast.expr) -> Value:
    """The value of a loop's bound, which is a whole number."""
    value = space.value(tree)
    if is_float(value.dtype) or value.dtype == "bool":
        raise refuse(
            tree,
            "T2T381",
            f"a loop counts to a whole number, but `{ast.unparse(tree)}` is none",
            found=(f"`{ast.unparse(tree)}`: {value.dtype}",),
            hint=f'cast it: T.cast({ast.unparse(tree)}, "int32")',
        )
    return value


def step_of(step: ast.expr, environment: Environment) -> int:
    """The step of a loop, a number other than 0."""
    interval = environment.range(step)
    if interval.low is None or interval.low != interval.high or interval.low == 0:
        raise refuse(
            step,
            "T2T311",
            f"the step `{ast.unparse(step)}` of a loop is no fixed number other than 0",
            hint="use a static step, or a `while` loop",
        )
    return interval.low


def _is_static(tree: ast.expr, lowering: Lowering) -> bool:
    """Whether Triton computes it while it compiles: a call of its own gives a run-time value."""
    known = {"min", "max", *lowering.facts.constants, *lowering.environment.unrolled}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=identifier) if identifier not in known:
                return False
            case ast.Attribute() | ast.Subscript():
                return False
    return True


def _shortest(parts: list[ast.expr]) -> list[ast.expr]:
    """Start, stop and step without those that a range has anyway."""
    start, stop, step = parts
    match start, step:
        case ast.Constant(value=0), ast.Constant(value=1):
            return [stop]
        case _, ast.Constant(value=1):
            return [start, stop]
    return parts


def _call(function: str, args: list[ast.expr]) -> ast.Call:
    call = expr(f"{function}()")
    assert isinstance(call, ast.Call)
    call.args = args
    return call
