"""What the atomic updates share: their rules, and how they become Triton's."""

import ast
from collections.abc import Callable, Iterator

from rewrites import tensors
from rewrites.combinations import Combination, combined
from rewrites.dtypes import is_float
from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.hint_notes import note, with_option
from rewrites.quote import expr, literal, name
from rewrites.scalars import logical
from rewrites.space import Space
from rewrites.stores import store
from rewrites.updates import colliding_axes, gathered_over, missing_axes
from rewrites.values import Value, cast
from tile2triton.ops.atomic_halves import halves
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import (
    Region,
    as_written,
    copy_problems,
    is_element_form,
    is_region,
    match_copy,
    read_region,
    region_problems,
)

WHOLE_DTYPES = ("int32", "uint32", "int64", "uint64")
ORDERS = (None, "relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")
# Triton has no "consume" and no total order of all atomics: the next stronger orders it has.
TRITON_ORDERS = {"consume": "acquire", "seq_cst": "acq_rel"}


def order_problems(tree: ast.expr, orders: tuple[str | None, ...], name: str) -> Iterator[Problem]:
    """A memory order is one of the names that the operation can have."""
    if not (isinstance(tree, ast.Constant) and tree.value in orders):
        yield Problem(
            tree,
            "T2T243",
            f"`memory_order={as_written(tree)}` is no memory order of T.{name}",
            (),
            f"leave it out, or write one of {', '.join(repr(o) for o in orders if o)}",
        )


def element_type_problem(region: Region, dtypes: tuple[str, ...], what: str) -> Iterator[Problem]:
    """Triton has the operation for some element types only."""
    if region.is_tensor and region.dtype not in dtypes:
        yield Problem(
            region.node,
            "T2T240",
            f"there is no {what} for {region.dtype}",
            (f"{as_written(region.node)}: {region.dtype}",),
            f"use one of {', '.join(dtypes)} for `{region.buffer}`",
        )


def update_check(
    dtypes: tuple[str, ...], what: str
) -> Callable[[ast.Call, Facts], Iterator[Problem]]:
    """The rules of `T.atomic_…(dst, value)`: element types, orders, and regions as in T.copy."""

    def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
        name = ast.unparse(call.func).rpartition(".")[2]
        arguments = facts.operators[name].arguments(call)
        dst, value = arguments["dst"], arguments["value"]
        yield from order_problems(arguments["memory_order"], ORDERS, name)
        problems = list(region_problems(dst, facts))
        region = read_region(dst, facts)
        if problems or region is None:
            yield from problems
            return
        yield from element_type_problem(region, dtypes, what)
        if is_element_form(dst, value, facts):
            return
        if _flag(arguments, "return_prev"):
            yield Problem(
                call,
                "T2T242",
                "return_prev=True works on one element, not on a region",
                (f"{as_written(dst)}: {region.shape_text}",),
                f"write T.{name} for each element in a T.Parallel loop",
            )
        if is_region(value, facts):
            yield from copy_problems(call, value, dst, facts, f"T.{name}")

    return check


def update_lowering(function: str, combination: Combination) -> Callable[..., Value | None]:
    """`tl.atomic_…`; a tile of the program is updated without atomics."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value | None:
        facts = space.facts
        dst, tree = arguments["dst"], arguments["value"]
        target = read_region(dst, facts)
        assert target is not None
        update = Update(function, combination, target, arguments, node)
        by_tma = arguments.get("use_tma")
        if isinstance(by_tma, ast.Constant) and by_tma.value:
            reason = "Triton's atomics go by pointers"
            note(facts, node, with_option(facts, node, "use_tma"), "none", reason)
        if is_element_form(dst, tree, facts):
            return update.run(space, list(target.starts), space.value(tree))
        if not is_region(tree, facts):
            axes = tuple(d for d, size in enumerate(target.sizes) if size != 1)
            assert target.extents is not None
            extents = tuple(target.extents[d] for d in axes)
            sizes = tuple(target.sizes[d] for d in axes)
            inner = space_of_region(space, target, axes, sizes, extents, node)
            return update.run(inner, indices_of(target, inner, axes), space.value(tree))
        source = read_region(tree, facts)
        assert source is not None
        match = match_copy(source, target, facts)
        assert match is not None
        axes = match.destination_axes
        inner = space_of_region(space, target, axes, match.sizes, match.extents, node)
        indices = indices_of(source, inner, match.source_axes)
        read = source.node
        value = inner.read(read, source.buffer, indices)
        return update.run(inner, indices_of(target, inner, axes), value)

    return lower


class Update:
    """One atomic update of the elements of a tensor, or a plain one of those of a tile."""

    def __init__(
        self,
        function: str,
        combination: Combination,
        target: Region,
        arguments: dict[str, ast.expr],
        node: ast.Call,
    ) -> None:
        self.function = function
        self.combination = combination
        self.target = target
        self.returns = _flag(arguments, "return_prev")
        self.order = triton_order(arguments.get("memory_order"))
        self.node = node

    def run(self, space: Space, indices: list[ast.expr], value: Value) -> Value | None:
        """Emit the update of `target[indices]`; the value before where it is wanted."""
        target, dtype = self.target, self.target.dtype
        missing = missing_axes(space, indices)
        if missing and self.returns:
            raise refuse(
                self.node,
                "T2T325",
                f"every `{space.axes[missing[0]].variable}` asks what `{target.buffer}` held "
                "before",
                found=(f"`{ast.unparse(self.node)}`",),
                hint="index an element of its own for each iteration, or add outside of T.Parallel",
            )
        if missing:
            # Many elements meet in one address: they are combined first, then updated once.
            space, value = gathered_over(space, value, missing, dtype, self.combination)
        if not target.is_tensor:
            return self._in_tile(space, indices, value)
        if not self.returns:
            for part, moved, half in halves(space, indices, cast(value, dtype)):
                self._in_tensor(part, moved, half)
            return None
        return self._in_tensor(space, indices, value)

    def _in_tensor(self, space: Space, indices: list[ast.expr], value: Value) -> Value | None:
        target, dtype = self.target, self.target.dtype
        where = tensors.address(space, target.buffer, indices, self.node)
        new, mask = cast(value, dtype), where.mask
        if self.function != "tl.atomic_add" and is_float(dtype) and not new.weak:
            # Triton compares the bits of floats, among which NaN would be the largest.
            is_number = Value(expr("x == x", x=new.tree), "bool", new.axes)
            mask = is_number if mask is None else logical(ast.And(), [mask, is_number])
        call = expr(f"{self.function}(pointer, value)", pointer=where.pointer, value=new.tree)
        assert isinstance(call, ast.Call)
        if mask is not None:
            call.keywords.append(ast.keyword("mask", mask.tree))
        call.keywords.append(ast.keyword("sem", literal(self.order)))
        if not self.returns:
            space.lowering.out.append(ast.Expr(call))
            return None
        previous = space.lowering.assign("previous", call)
        return Value(name(previous.id), dtype, where.axes)

    def _in_tile(self, space: Space, indices: list[ast.expr], value: Value) -> Value | None:
        """Nobody else sees a tile, so that a plain update loses nothing."""
        target, dtype = self.target, self.target.dtype
        for position in colliding_axes(space, indices):
            variable = space.axes[position].variable
            raise refuse(
                self.node,
                "T2T241",
                f"several `{variable}` may update the same element of the tile `{target.buffer}`",
                found=(f"`{ast.unparse(self.node)}`",),
                hint="a tile has no atomics in Triton: update a global tensor, or index the tile "
                f"with `{variable}` alone",
            )
        element = ast.Subscript(
            name(target.buffer), ast.Tuple(list(indices), ast.Load()), ast.Load()
        )
        old = space.read(ast.copy_location(element, self.node), target.buffer, indices)
        if self.returns:
            named = space.lowering.assign("previous", old.tree)
            old = Value(name(named.id), old.dtype, old.axes)
        new = combined(self.combination, old, cast(value, dtype), dtype)
        store(space, target.buffer, indices, new, self.node)
        return old if self.returns else None


def triton_order(tree: ast.expr | None) -> str:
    """The memory order as Triton names it; without one, none is asked for."""
    order = tree.value if isinstance(tree, ast.Constant) else None
    return TRITON_ORDERS.get(str(order), str(order)) if order else "relaxed"


def _flag(arguments: dict[str, ast.expr], parameter: str) -> bool:
    tree = arguments.get(parameter)
    return isinstance(tree, ast.Constant) and bool(tree.value)
