"""Run one program of a kernel in Gluon: each of its partitions, with barriers between them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np

from rewrites.gluon.device_division import DeviceDivision, quotient
from rewrites.quote import copy_tree, stmts
from tile2triton.simulation.amd import HALVES, Halves, names_for_amd, partition
from tile2triton.simulation.language import (
    ELEMENTWISE,
    TYPES,
    Flights,
    Memory,
    Pointer,
    Stores,
    Tile,
    View,
    applied,
    elementwise,
    reduction,
)
from tile2triton.simulation.machine import Machine, ProtocolError

LAYOUTS = (
    "SliceLayout",
    "NVMMADistributedLayout",
    "DotOperandLayout",
    "BlockedLayout",
    "DistributedLinearLayout",
    "PaddedSharedLayout",
    "SwizzledSharedLayout",
    "SharedLinearLayout",
)


def prepared(functions: Sequence[ast.FunctionDef]) -> CodeType:
    """Functions of Gluon as they are simulated."""
    module = ast.Module([_plain(one) for one in functions], [])
    return compile(ast.fix_missing_locations(module), "<gluon>", "exec")


def simulate(
    code: CodeType,
    kernel: str,
    arguments: Mapping[str, Any],
    program: Sequence[int],
    grid: Sequence[int],
    is_eager: bool = True,
    computes: bool = True,
    most_steps: int = 20_000,
    halves: bool = False,
    in_stages: bool = True,
) -> None:
    """Run one program of a grid, of `prepared` functions. Raises ProtocolError for what goes wrong.

    `arguments` are numbers, `Descriptor`s and `Pointer`s; without `computes` only loads, waits and
    products are followed. An eager producer fills a slot as soon as it may, a lazy one as late as
    it can.
    A kernel for AMD runs once for each of the `halves` of its warps, which are one stage apart
    `in_stages`, and side by side where Triton has no stages.
    """
    machine = Machine(most_steps)
    partitions: list[Callable[[], None]] = []
    scope = _scope(machine, partitions, program, grid, computes)
    if halves:
        both = Halves(machine, in_stages)
        scope |= names_for_amd(both)
        scope["gl"].allocate_shared_memory = both.allocate
    exec(code, scope)
    if halves:
        partitions += [partition(functools.partial(scope[kernel], **arguments), both)] * HALVES
    else:
        scope[kernel](**arguments)
    machine.run(partitions[::-1] if is_eager else partitions)


def _plain(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without what only a GPU needs, and with the device's division."""
    text = ast.unparse(ast.fix_missing_locations(copy_tree(function)))
    made = _Device().visit(ast.parse(text).body[0])
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list = []
    for argument in made.args.args:
        argument.annotation = None
    return made


class _Device(DeviceDivision):
    """Division as the device does it, and types of numbers, which Python's have not."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[kind]):
                return ast.Call(ast.Name("_to", ast.Load()), [value, kind], [])
        return node

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        """All warps meet between stages."""
        self.generic_visit(node)
        stages = [one for one in node.body if isinstance(one, ast.With)]
        if not stages:
            return node
        body: list[ast.stmt] = []
        for one in node.body:
            if one in stages[1:]:
                body += stmts("_border()")
            body.append(one)
        node.body = [*body, *stmts("_border()")]
        return [*stmts("_enter()"), node, *stmts("_leave()")]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        assert node.value is not None
        return ast.Assign([node.target], node.value)


def _scope(
    machine: Machine,
    partitions: list[Callable[[], None]],
    program: Sequence[int],
    grid: Sequence[int],
    computes: bool,
) -> dict[str, Any]:
    """The names that emitted functions use."""
    flights: dict[int | None, Flights] = {}
    stores = Stores(machine)

    def flying() -> Flights:
        return flights.setdefault(machine.running, Flights(machine.running))

    def allocate(kind: Any, shape: Sequence[int], layout: Any) -> Memory:
        is_barriers = layout == "barriers"
        return Memory(machine, "barriers" if is_barriers else "memory", shape[0], is_barriers)

    def specialize(calls: Sequence[Any], workers: Any = None, registers: Any = None) -> None:
        def run(function: Callable[..., None], given: Sequence[Any]) -> None:
            function(*given)
            stores.require_read()
            if flying().products:
                raise ProtocolError("a partition ends with a product in flight")

        partitions.extend(functools.partial(run, f, a) for f, a in calls)

    def load(descriptor: Any, at: Sequence[Any], barrier: Any, memory: View) -> None:
        memory.slot.fill(descriptor.load(at) if computes else None)
        if machine.running in machine.waited:
            machine.waited[machine.running].guards = memory.slot
        barrier.bring(descriptor.block_type.nbytes)

    def arrive(barrier: Any, count: int = 1, pred: bool = True) -> None:
        if pred:
            barrier.arrive(count)
            machine.give_way()

    def made(value: Any) -> Tile:
        return Tile(value if computes else None)

    def swizzle2d(i: int, j: int, rows: int, columns: int, panel: int) -> tuple[int, int]:
        place = i * columns + j
        first = place // (panel * columns) * panel
        size = min(rows - first, panel)
        return first + place % (panel * columns) % size, place % (panel * columns) // size

    gl = SimpleNamespace(
        **TYPES,
        int1=np.bool_,
        **ELEMENTWISE,
        constexpr=None,
        arange=lambda low, high, layout=None: made(np.arange(low, high, dtype=np.int32)),
        zeros=lambda shape, kind, layout=None: made(np.zeros(tuple(shape), kind)),
        full=lambda shape, value, kind, layout=None: made(np.full(tuple(shape), value, kind)),
        zeros_like=lambda tile: applied_zero(tile),
        load=Pointer.load,
        store=Pointer.store,
        cdiv=lambda a, b: -(-a // b),
        maximum=_extreme(elementwise(np.fmax, max), elementwise(np.maximum, max)),
        minimum=_extreme(elementwise(np.fmin, min), elementwise(np.minimum, min)),
        reduce=_reduced,
        max=reduction(np.max),
        min=reduction(np.min),
        sum=reduction(np.sum),
        convert_layout=lambda tile, layout, assert_trivial=False: tile,
        reshape=lambda tile, shape: applied(lambda data: data.reshape(shape), tile),
        split=_split,
        set_auto_layout=lambda tile, layout: tile,
        NVMMASharedLayout=SimpleNamespace(get_default_for=lambda *rest: None),
        **dict.fromkeys(LAYOUTS, lambda *rest: None),
        amd=SimpleNamespace(AMDMFMALayout=lambda *rest: None),
        allocate_shared_memory=allocate,
        static_range=range,
        static_assert=_require,
        num_warps=lambda: 4,
        program_id=lambda axis: program[axis],
        num_programs=lambda axis: grid[axis],
        warp_specialize=specialize,
    )
    return {
        "gl": gl,
        "tl": SimpleNamespace(PropagateNan=SimpleNamespace(ALL=True)),
        "libdevice": Libdevice(computes),
        "mbarrier": SimpleNamespace(
            MBarrierLayout=lambda: "barriers",
            init=lambda barrier, count: barrier.init(count),
            expect=lambda barrier, size: barrier.expect(size),
            wait=lambda barrier, phase: barrier.wait(phase),
            arrive=arrive,
        ),
        "tma": SimpleNamespace(store_wait=stores.wait),
        "load_tile": load,
        "store_tile": stores.begin,
        "fence_async_shared": lambda: None,
        "sync_warps": lambda: None,
        "warpgroup_mma": lambda *a, **k: flying().issue(*a, **k),
        "warpgroup_mma_wait": lambda *a, **k: flying().wait(*a, **k),
        "swizzle2d": swizzle2d,
        "_to": lambda value, kind: value.to(kind) if isinstance(value, Tile) else value,
        "_quotient": _divided,
        "_remainder": lambda a, b: a - b * _divided(a, b),
    }


class Libdevice:
    """Functions of the device that NumPy has; of others nothing is computed."""

    def __init__(self, computes: bool) -> None:
        self.computes = computes

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(np, name, None)
        if self.computes and function is None:
            raise ProtocolError(f"libdevice.{name} is not simulated")
        return elementwise(function or np.zeros_like, function or (lambda *values: 0.0))


def applied_zero(tile: Tile) -> Tile:
    return Tile(None if tile.data is None else np.zeros_like(tile.data))


def _extreme(plain: Callable[..., Any], keeping: Callable[..., Any]) -> Callable[..., Any]:
    """The larger or smaller of two; of a number and NaN the number, unless NaN is to be kept."""
    return lambda a, b, propagate_nan=False: (keeping if propagate_nan else plain)(a, b)


def _reduced(tile: Tile, axis: int, combine: Callable[[Tile, Tile], Tile]) -> Tile:
    if tile.data is None:
        return Tile()
    parts = np.moveaxis(tile.data, axis, 0)
    return functools.reduce(combine, map(Tile, parts))


def _split(tile: Tile) -> tuple[Tile, Tile]:
    left, right = (applied(lambda data, at=at: data[..., at], tile) for at in (0, 1))
    return left, right


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, Tile) or isinstance(b, Tile):
        raise ProtocolError("tiles are not divided towards zero here")
    return quotient(a, b)


def _require(test: Any, message: str = "") -> None:
    assert test, message
