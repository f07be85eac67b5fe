"""T.atomic_addx2 and T.atomic_addx4: add two or four neighbours at once."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewrites.combinations import SUM
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import name
from rewrites.space import Axis, Space
from rewrites.values import Value
from tile2triton.ops.atomic_add import DTYPES
from tile2triton.ops.atomic_lowering import Update, element_type_problem
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import Region, as_written, read_region, region_problems

NEIGHBOUR = "neighbour axis"

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def atomic_addx2(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Add two neighbours of `value` to two of `dst`, from the elements that are named on.

    Each element is added by itself, and dropped where it lies outside of the tensor.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_addx2(C[i, 2 * j], x[i, 2 * j])` | two elements a j | one more axis of 2 |
    """


def atomic_addx4(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Add four neighbours of `value` to four of `dst`, like `atomic_addx2`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_addx4(C[i, 4 * j], x[i, 4 * j])` | four elements a j | one more axis of 4 |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Two buffers, of which elements or short parts are named; no value before."""
    operator = ast.unparse(call.func).rpartition(".")[2]
    arguments = facts.operators[operator].arguments(call)
    width = int(operator[-1])
    for parameter in ("dst", "value"):
        operand = arguments[parameter]
        problems = list(region_problems(operand, facts))
        region = read_region(operand, facts)
        if problems or region is None:
            yield from problems
            return
        named = [d for d, size in enumerate(region.sizes) if size != 1]
        last = region.rank - 1
        if region.extents is not None and (
            named not in ([], [last]) or region.sizes[last] not in (1, width)
        ):
            yield Problem(
                operand,
                "T2T623",
                f"T.{operator} adds {width} neighbours, but `{as_written(operand)}` has another "
                "shape",
                (f"{as_written(operand)}: {region.shape_text}",),
                "name the first of them, such as `C[i, j]`",
            )
            return
        if parameter == "dst":
            yield from element_type_problem(region, DTYPES, "atomic addition")
    returns = arguments["return_prev"]
    if isinstance(returns, ast.Constant) and returns.value:
        yield Problem(
            returns,
            "T2T623",
            f"the values before T.{operator} are a vector of one thread, which tiles do not have",
            (),
            "use T.atomic_add with return_prev=True for each element",
        )


def lower_wide(width: int) -> Callable[..., None]:
    """An axis of `width` more elements along the last dimension of both sides."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
        target = read_region(arguments["dst"], space.facts)
        source = read_region(arguments["value"], space.facts)
        assert target is not None and source is not None
        update = Update("tl.atomic_add", SUM, target, {}, node)
        variable = _stepped_by_both(space, target, source, width)
        if variable is not None:
            inner = _merged(space, variable, width)
            sides = [
                _with_last(side, _whole(side.starts[-1], variable)) for side in (source, target)
            ]
        else:
            inner = _widened(space, width)
            sides = [
                _with_last(side, ast.BinOp(side.starts[-1], ast.Add(), name(NEIGHBOUR)))
                for side in (source, target)
            ]
        value = inner.read(source.node, source.buffer, sides[0])
        update.run(inner, sides[1], value)

    return lower


def _with_last(region: Region, last: ast.expr) -> list[ast.expr]:
    return [*region.starts[:-1], last]


def _widened(space: Space, width: int) -> Space:
    """The space with one more axis, which stands last."""
    axis = Axis.of(NEIGHBOUR, width, ast.Constant(width))
    inner = Space(space.lowering, (*space.axes, axis))
    for identifier, let in space.lets.items():
        inner.lets[identifier] = replace(let, tree=_with_axis(let, space.rank))
    inner.conditions = [
        replace(condition, tree=_with_axis(condition, space.rank)) for condition in space.conditions
    ]
    return inner


def _with_axis(value: Value, rank: int) -> ast.expr:
    """The tree of a value with an extent of 1 behind its others."""
    if not value.axes:
        return value.tree
    parts: list[ast.expr] = [*(ast.Slice() for _ in range(rank)), ast.Constant(None)]
    return ast.Subscript(value.tree, ast.Tuple(parts, ast.Load()), ast.Load())


def _stepped_by_both(space: Space, target: Region, source: Region, width: int) -> str | None:
    """The loop variable that counts both last dimensions in steps of `width` and nothing else."""
    variable = _stepped(target.starts[-1], space, width)
    if variable is None or variable != _stepped(source.starts[-1], space, width):
        return None
    position = space.position[variable]
    others = [*target.starts[:-1], *source.starts[:-1]]
    bound = [*space.conditions, *space.lets.values()]
    if any(position in space.axes_of(tree) for tree in others):
        return None
    return None if any(position in value.axes for value in bound) else variable


def _merged(space: Space, variable: str, width: int) -> Space:
    """The space in which one axis runs over all elements that `variable` counts in steps."""
    position = space.position[variable]
    axis = space.axes[position]
    tree = ast.BinOp(axis.tree, ast.Mult(), ast.Constant(width))
    whole = Axis.of(_all_of(variable), axis.extent * width, tree)
    inner = Space(space.lowering, (*space.axes[:position], whole, *space.axes[position + 1 :]))
    inner.lets, inner.conditions = dict(space.lets), list(space.conditions)
    return inner


def _all_of(variable: str) -> str:
    # No name of a user's has a space.
    return f"{variable} axis"


def _stepped(index: ast.expr, space: Space, width: int) -> str | None:
    """The loop variable of `start + i * width`, where the start does not vary."""
    match index:
        case (
            ast.BinOp(left=ast.Name(id=variable), op=ast.Mult(), right=ast.Constant(value=step))
            | ast.BinOp(left=ast.Constant(value=step), op=ast.Mult(), right=ast.Name(id=variable))
        ):
            return variable if step == width and variable in space.position else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            varying, start = (left, right) if space.axes_of(left) else (right, left)
            return None if space.axes_of(start) else _stepped(varying, space, width)
    return None


def _whole(index: ast.expr, variable: str) -> ast.expr:
    """`start + i * width` as `start + i` over the whole axis."""
    match index:
        case (
            ast.BinOp(left=ast.Name(id=factor), op=ast.Mult())
            | ast.BinOp(op=ast.Mult(), right=ast.Name(id=factor))
        ) if factor == variable:
            return name(_all_of(variable))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ast.BinOp(_whole(left, variable), ast.Add(), _whole(right, variable))
    return index


def _reference(width: int) -> Callable[..., None]:
    def reference(dst: "Operand", value: "Operand", return_prev: bool = False) -> None:
        for part in range(width):
            neighbour = value.neighbour(part)
            dst.neighbour(part).update(SUM.name, neighbour.element())

    return reference


def _operator(surface: Callable[..., Any], width: int) -> Operator:
    return Operator(
        surface=surface,
        lower=lower_wide(width),
        writes="dst",
        keeps=lambda arguments: True,
        width=width,
        kind="statement",
        check=check,
        reference=_reference(width),
    )


OPERATORS = (_operator(atomic_addx2, 2), _operator(atomic_addx4, 4))
