"""T.rng_init, T.rng_rand, T.rng_rand_float: numbers from a counter, as cuRAND's Philox makes them.

A program draws as one thread of cuRAND would: each iteration of T.Parallel takes the next number,
in the order of the loops, guarded or not. With one thread a block the numbers are cuRAND's own.
"""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.quote import expr, name
from rewrites.space import Space
from rewrites.values import Value, cast, strong
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written
from tile2triton.reference.named import value_of
from tile2triton.reference.values import Value as Number

if TYPE_CHECKING:
    from tile2triton.reference.state import State

GENERATORS = ("curandStatePhilox4_32_10_t", "curandStateMRG32k3a_t", "curandStateXORWOW_t")
_STATE = ("rng_seed", "rng_sequence", "rng_number")


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: Any = GENERATORS[0]) -> Any:
    """Start random numbers: number `off` of sequence `seq`, by default the first block index.

    All generators are Philox here.

    | form | meaning | Triton |
    |---|---|---|
    | `T.rng_init(42, 0, bx * 128)` | the program starts at its own number | three scalars |
    """


def rng_rand() -> Any:
    """The next 32 random bits, as uint32.

    | form | meaning | Triton |
    |---|---|---|
    | `A[i] = T.rng_rand()` | each element has a number of its own | `tl.philox(…)` |
    """


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Any:
    """The next random float32 or float64: "uniform" above 0 and up to 1, or "normal".

    | form | meaning | Triton |
    |---|---|---|
    | `T.rng_rand_float()` | uniform in (0, 1] | `tl.philox(…)`, scaled |
    | `T.rng_rand_float(dist="normal")` | mean 0, deviation 1 | two numbers by Box and Muller |
    """


def check_init(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    generator = facts.operators["rng_init"].arguments(call)["generator"]
    yield from _is_one_of(generator, GENERATORS, "generator")


def check_float(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    arguments = facts.operators["rng_rand_float"].arguments(call)
    yield from _is_one_of(arguments["bit"], (32, 64), "width")
    yield from _is_one_of(arguments["dist"], ("uniform", "normal"), "distribution")


def _is_one_of(tree: ast.expr, values: tuple[Any, ...], what: str) -> Iterator[Problem]:
    if not (isinstance(tree, ast.Constant) and tree.value in values):
        yield Problem(
            tree,
            "T2T619",
            f"`{as_written(tree)}` is no {what} of random numbers",
            (),
            f"write one of {', '.join(map(repr, values))}",
        )


def lower_init(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """Three scalars that the draws read, of which the last counts on."""
    sequence = arguments["seq"]
    if isinstance(sequence, ast.Constant) and sequence.value is None:
        first = Value(expr("tl.program_id(0)"), "int32")
    else:
        first = space.value(sequence)
    starts = (space.value(arguments["seed"]), first, space.value(arguments["off"]))
    lowering = space.lowering
    for key, start in zip(_STATE, starts, strict=True):
        identifier = lowering.kept.setdefault(key, "") or lowering.names.fresh(key)
        lowering.kept[key] = identifier
        lowering.emit("target = start", target=identifier, start=strong(cast(start, "int64")).tree)


def lower_rand(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    return _draws(space, 1, node)[0]


def lower_float(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    wide = ast.literal_eval(arguments["bit"]) == 64
    normal = ast.literal_eval(arguments["dist"]) == "normal"
    dtype = "float64" if wide else "float32"
    if not normal and not wide:
        (drawn,) = _draws(space, 1, node)
        return Value(expr(_UNIT, x=cast(drawn, dtype).tree), dtype, drawn.axes)
    first, second = _draws(space, 2, node)
    if not normal:
        bits = expr(
            "first.to(tl.uint64) ^ (second.to(tl.uint64) << 21)",
            first=first.tree,
            second=second.tree,
        )
        tree = expr(f"bits.to(tl.float64) * {2.0**-53!r} + {2.0**-54!r}", bits=bits)
        return Value(tree, dtype, first.axes)
    radius = expr(_UNIT, x=cast(first, dtype).tree)
    angle = expr(_UNIT, x=cast(second, dtype).tree)
    tree = expr(
        f"tl.sqrt(-2.0 * tl.log(u)) * tl.sin({2 * np.pi!r} * v)",
        u=radius,
        v=angle,
    )
    return Value(tree, dtype, first.axes)


_UNIT = f"x * {2.0**-32!r} + {2.0**-33!r}"


def _draws(space: Space, count: int, node: ast.Call) -> list[Value]:
    """As many numbers for each point of the space, one behind the other."""
    lowering = space.lowering
    if "rng_number" not in lowering.kept:
        raise refuse(
            node,
            "T2T620",
            f"`{ast.unparse(node)}` stands in front of T.rng_init",
            hint="write T.rng_init(seed) at the start of the kernel",
        )
    lane, total = _lane(space)
    seed, sequence, number = (name(lowering.kept[key]) for key in _STATE)
    drawn = []
    for part in range(count):
        place: ast.expr = number
        if lane is not None:
            offset = lane.tree if count == 1 else expr(f"lane * {count}", lane=lane.tree)
            place = ast.BinOp(number, ast.Add(), offset)
        if part:
            place = ast.BinOp(place, ast.Add(), ast.Constant(part))
        call = expr("_draw(seed, sequence, place)", seed=seed, sequence=sequence, place=place)
        named = lowering.assign("random", call)
        axes = frozenset() if lane is None else lane.axes
        drawn.append(Value(name(named.id), "uint32", axes))
    lowering.emit("number = number + drawn", number=number.id, drawn=ast.Constant(total * count))
    return drawn


def _lane(space: Space) -> tuple[Value | None, int]:
    """The number of each point in the order of the loops as they are written, and how many."""
    lane: ast.expr | None = None
    total = 1
    for axis in sorted(space.axes, key=lambda axis: axis.place):
        variable: ast.expr = name(axis.variable)
        if lane is None:
            lane = variable
        else:
            scaled = ast.BinOp(lane, ast.Mult(), ast.Constant(axis.extent))
            lane = ast.BinOp(scaled, ast.Add(), variable)
        total *= axis.extent
    return (None if lane is None else space.value(lane)), total


def reference_of_init(
    state: "State", seed: Any, seq: Any = None, off: Any = 0, generator: Any = None
) -> None:
    first = state.point[0] if seq is None else value_of(seq)
    for key, start in zip(_STATE, (value_of(seed), first, value_of(off)), strict=True):
        state.names[key] = np.int64(start)


def reference_of_rand(state: "State") -> Number:
    return _numbers(state, 1)[0]


def reference_of_float(state: "State", bit: int = 32, dist: str = "uniform") -> Number:
    dtype = np.dtype(f"float{bit}").type
    if dist == "uniform" and bit == 32:
        return _unit(_numbers(state, 1)[0], dtype)
    first, second = _numbers(state, 2)
    if dist == "uniform":
        bits = first.astype(np.uint64) ^ (second.astype(np.uint64) << np.uint64(21))
        return bits.astype(np.float64) * 2.0**-53 + 2.0**-54
    radius, angle = _unit(first, dtype), _unit(second, dtype)
    return np.sqrt(dtype(-2) * np.log(radius)) * np.sin(dtype(2 * np.pi) * angle)


def _unit(number: Number, dtype: Any) -> Number:
    return number.astype(dtype) * dtype(2.0**-32) + dtype(2.0**-33)


def _numbers(state: "State", count: int) -> list[Number]:
    seed, sequence, number = (int(state.names[key]) for key in _STATE)
    total = int(np.prod(state.space, dtype=np.int64))
    lanes = np.arange(total, dtype=np.int64).reshape(state.space) * count
    state.names["rng_number"] = np.int64(number + total * count)
    drawn = [philox(seed, sequence, lanes + number + part) for part in range(count)]
    return [one[()] for one in drawn]


def philox(seed: int, sequence: int, number: Any) -> Any:
    """Philox 4x32 with ten rounds: of each block of four numbers the one that is asked for."""
    mask = np.uint64(0xFFFFFFFF)
    block = np.asarray(number).astype(np.uint64) >> np.uint64(2)
    shape = block.shape
    c = [
        block & mask,
        block >> np.uint64(32),
        np.full(shape, sequence & 0xFFFFFFFF, np.uint64),
        np.full(shape, sequence >> 32 & 0xFFFFFFFF, np.uint64),
    ]
    low, high = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (second >> np.uint64(32)) ^ c[1] ^ np.uint64(low),
            second & mask,
            (first >> np.uint64(32)) ^ c[3] ^ np.uint64(high),
            first & mask,
        ]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return np.choose(np.asarray(number) & 3, c).astype(np.uint32)


OPERATORS = (
    Operator(
        surface=rng_init,
        lower=lower_init,
        kind="statement",
        check=check_init,
        reference=reference_of_init,
        takes_state=True,
    ),
    Operator(
        surface=rng_rand,
        lower=lower_rand,
        kind="expression",
        reference=reference_of_rand,
        takes_state=True,
    ),
    Operator(
        surface=rng_rand_float,
        lower=lower_float,
        kind="expression",
        check=check_float,
        reference=reference_of_float,
        takes_state=True,
    ),
)
