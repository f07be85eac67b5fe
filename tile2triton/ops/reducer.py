"""T.alloc_reducer and its kind: a tile that many iterations combine values into."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites.combinations import COMBINATIONS, Combination, identity
from rewrites.dtypes import is_float
from rewrites.environment import padded
from rewrites.errors import Problem
from rewrites.facts import Facts, Tile
from rewrites.quote import name
from rewrites.space import Space
from rewrites.values import Value, cast, full, number
from tile2triton.ops.alloc import check_tile
from tile2triton.ops.atomic_lowering import Update
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, is_element, is_region, read_region
from tile2triton.reference.named import value_of
from tile2triton.reference.values import numpy_dtype

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: Any = None) -> Any:
    """A tile for results that T.Parallel loops combine: "sum", "max", "min" or of bits.

    `op` may also be "bitand", "bitor" or "bitxor". `replication` is a hint of the older form,
    whose tile is cleared by `T.clear` and added to by `r[i] += x`.

    | form | meaning | Triton |
    |---|---|---|
    | `r = T.alloc_reducer((64,), "float32")` | a tile for 64 sums | a value in registers |
    """


def reducer_init(reducer: Any, init: Any = None) -> Any:
    """Start with nothing combined, or with `init` in each element.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reducer_init(r)` | 0 for sums, the lowest for maxima | `r = tl.zeros(…)` |
    | `T.reducer_init(r, 5)` | 5 takes part once | `r = tl.full(…)` |
    """


def reducer_update(target: Any, value: Any) -> Any:
    """Combine one value of each iteration with the element that it names.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reducer_update(r[i], x[i, j])` | all j of a row are combined | `r = r + tl.sum(x, 1)` |
    """


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None) -> Any:
    """Give the results to the tile `dst`; without it, they stay in the reducer.

    | form | meaning | Triton |
    |---|---|---|
    | `T.finalize_reducer(r, y)` | y has what r came to | `y = r` |
    | `T.finalize_reducer(r)` | r has its results | nothing, they are there |
    """


def check_allocation(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A tile, and an operation that its elements have."""
    yield from check_tile(call, facts)
    arguments = ALLOC_REDUCER.arguments(call)
    op, dtype = arguments["op"], arguments["dtype"]
    if not (isinstance(op, ast.Constant) and op.value in COMBINATIONS):
        yield Problem(
            op,
            "T2T615",
            f"`op={as_written(op)}` is no operation of reducers",
            (),
            f"write one of {', '.join(map(repr, COMBINATIONS))}",
        )
    elif op.value.startswith("bit") and is_float(str(ast.literal_eval(dtype))):
        yield Problem(
            op,
            "T2T612",
            f"a reducer of {as_written(dtype)} combines no bits",
            (),
            "allocate it of integers or bool",
        )


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The first operand is a reducer: an element of it to update, else all of it."""
    operator = ast.unparse(call.func).rpartition(".")[2]
    arguments = facts.operators[operator].arguments(call)
    operand = next(iter(arguments.values()))
    region = read_region(operand, facts)
    tile = facts.tiles.get(region.buffer) if region is not None else None
    if region is None or tile is None or not tile.op:
        yield Problem(
            operand,
            "T2T616",
            f"T.{operator} takes a reducer, but `{as_written(operand)}` is none",
            (),
            "allocate it with T.alloc_reducer",
        )
        return
    wants_element = operator == "reducer_update"
    if wants_element != is_element(operand) or not (wants_element or region.whole):
        written = f"{tile.name}[{', '.join('ijkl'[: tile.rank])}]" if wants_element else tile.name
        yield Problem(
            operand,
            "T2T616",
            f"T.{operator} takes {'one element' if wants_element else 'the whole reducer'}",
            (f"`{as_written(operand)}`: {region.shape_text}",),
            f"write `{written}`",
        )
        return
    yield from _destination(operator, arguments, tile, facts)


def _destination(
    operator: str, arguments: dict[str, ast.expr], tile: Tile, facts: Facts
) -> Iterator[Problem]:
    dst = arguments.get("dst", ast.Constant(None))
    if isinstance(dst, ast.Constant) and dst.value is None:
        return
    region = read_region(dst, facts) if is_region(dst, facts) else None
    if region is None or region.is_tensor or not region.whole or region.sizes != tile.shape:
        yield Problem(
            dst,
            "T2T616",
            f"T.{operator} gives its results to a tile of the reducer's shape",
            (f"`{tile.name}`: {tile.shape}",),
            "allocate one with T.alloc_fragment",
        )


def reference_of_init(reducer: "Operand", init: Any = None) -> None:
    op = _tile(reducer).op
    start = identity(COMBINATIONS[op], reducer.dtype)
    reducer.write(numpy_dtype(reducer.dtype).type(start) if init is None else value_of(init))


def reference_of_update(target: "Operand", value: Any) -> None:
    target.update(_tile(target).op, value)


def reference_of_finalize(
    reducer: "Operand", dst: "Operand | None" = None, batch: int = 1, annotations: Any = None
) -> None:
    if dst is not None:
        dst.write(reducer.read())


def _tile(operand: "Operand") -> Tile:
    return operand.state.facts.tiles[operand.region.buffer]


def lower_init(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    tile = space.facts.tiles[ast.unparse(arguments["reducer"])]
    init = arguments["init"]
    if isinstance(init, ast.Constant) and init.value is None:
        start = number(identity(_combination(tile), tile.dtype))
    else:
        start = space.value(init)
    tree = cast(start, tile.dtype).tree
    if not tile.is_scalar:
        shape = [padded(e, t) for e, t in zip(tile.shape, tile.trees, strict=True)]
        tree = full(ast.Tuple(shape, ast.Load()), tree, tile.dtype)
    elif start.weak:
        tree = full(ast.Tuple([], ast.Load()), tree, tile.dtype)
    space.lowering.emit("reducer = tree", reducer=tile.name, tree=tree)


def lower_update(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    target = read_region(arguments["target"], space.facts)
    assert target is not None
    combination = _combination(space.facts.tiles[target.buffer])
    update = Update("", combination, target, {}, node)
    update.run(space, list(target.starts), space.value(arguments["value"]))


def lower_finalize(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    dst = arguments["dst"]
    if isinstance(dst, ast.Name):
        reducer = space.facts.tiles[ast.unparse(arguments["reducer"])]
        value = cast(Value(name(reducer.name), reducer.dtype), space.facts.tiles[dst.id].dtype)
        space.lowering.emit("dst = value", dst=dst.id, value=value.tree)


def _combination(tile: Tile) -> Combination:
    return COMBINATIONS[tile.op]


ALLOC_REDUCER = Operator(surface=alloc_reducer, kind="allocation", check=check_allocation)

OPERATORS = (
    ALLOC_REDUCER,
    Operator(
        surface=reducer_init,
        lower=lower_init,
        writes="reducer",
        kind="statement",
        check=check,
        reference=reference_of_init,
    ),
    Operator(
        surface=reducer_update,
        lower=lower_update,
        writes="target",
        keeps=lambda arguments: True,
        kind="statement",
        check=check,
        reference=reference_of_update,
    ),
    Operator(
        surface=finalize_reducer,
        lower=lower_finalize,
        writes="dst",
        kind="statement",
        check=check,
        reference=reference_of_finalize,
    ),
)
