"""Operands of statement operators: regions that can be read and written, and variables."""

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from rewrites.tree import base_name
from tile2triton.ops.regions import CopyMatch, Region, is_region, match_copy, read_region
from tile2triton.reference import expressions
from tile2triton.reference.errors import AssumptionFailedError, UnsupportedError
from tile2triton.reference.memory import Memory
from tile2triton.reference.named import Named, value_of
from tile2triton.reference.state import State
from tile2triton.reference.values import Value, cast


class Operand(Named):
    """A region as an operator's reference meaning sees it."""

    def __init__(self, region: Region, call: ast.Call, state: State) -> None:
        self.region = region
        self.call = call
        self.state = state

    @property
    def memory(self) -> Memory:
        return self.state.memory(self.region.buffer, self.region.node)

    @property
    def dtype(self) -> str:
        return self.memory.dtype

    @property
    def is_element(self) -> bool:
        return self.region.extents is None

    def read(self) -> Value:
        """The whole region, with a dimension of extent 1 for each index."""
        starts, lengths = self._box()
        return self._read_box(starts, lengths)

    def write(self, value: Value) -> None:
        """Set the region to an array of its shape, or all of it to one number."""
        if self.is_element:
            self.write_element(value)
            return
        starts, lengths = self._box()
        values = np.broadcast_to(cast(value, self.dtype), lengths)
        self.memory.write_block(starts, values, self.region.node, self.state.program)

    def element(self) -> Value:
        """The one element of `A[i, j]`, or in T.Parallel one for each iteration."""
        assert isinstance(self.region.node, ast.Subscript)
        return expressions.load(self.region.node, self.state)

    def write_element(self, value: Value) -> None:
        assert isinstance(self.region.node, ast.Subscript)
        indices, fixed = expressions.element_indices(self.region.node, self.state)
        self.memory.store(
            indices, fixed, self.state.mask, value, self.region.node, self.state.program
        )

    def copy_to(self, other: "Operand") -> None:
        """T.copy: move a region, or a single element inside T.Parallel."""
        if self.is_element and other.is_element:
            other.write_element(self.element())
            return
        match = self._match(self.region, other.region)
        values = self._moved(match, match.source_axes)
        other._write_moved(match, values)

    def update(self, combination: str, value: Any, returns: bool = False) -> Value:
        """An atomic update: of a region, or of one element; the value before it."""
        is_whole = isinstance(value, Operand) and not (value.is_element and self.is_element)
        if isinstance(value, Operand) and is_whole:
            match = self._match(value.region, self.region)
            values = value._moved(match, match.source_axes)
            starts, lengths = self._moved_box(match, match.destination_axes)
            self.memory.update_block(starts, values.reshape(lengths), combination, self.call)
            return None
        if not self.is_element:
            starts, lengths = self._box()
            values = np.broadcast_to(cast(value_of(value), self.dtype), lengths)
            self.memory.update_block(starts, values, combination, self.call)
            return None
        assert isinstance(self.region.node, ast.Subscript)
        indices, fixed = expressions.element_indices(self.region.node, self.state)
        return self.memory.update(
            indices,
            fixed,
            self.state.mask,
            value_of(value),
            self.region.node,
            self.state.space,
            combination,
            returns,
        )

    def neighbour(self, offset: int) -> "Operand":
        """The element that stands `offset` behind the region's first, in its last dimension."""
        region = self.region
        last = ast.BinOp(region.starts[-1], ast.Add(), ast.Constant(offset))
        starts = (*region.starts[:-1], last)
        base = ast.Name(region.buffer, ast.Load())
        node = ast.Subscript(base, ast.Tuple(list(starts), ast.Load()), ast.Load())
        moved = replace(
            region,
            node=ast.copy_location(node, region.node),
            starts=starts,
            extents=None,
            sizes=(1,) * region.rank,
            whole=False,
        )
        return Operand(moved, self.call, self.state)

    def set_safe_value(self, value: Value) -> None:
        """What reads outside of this tensor give, to the end of the block."""
        self.state.safe_values = {**self.state.safe_values, self.region.buffer: value}

    def _match(self, source: Region, destination: Region) -> CopyMatch:
        match = match_copy(source, destination, self.state.facts)
        if match is None:
            raise UnsupportedError(
                self.call,
                f"The sides of `{ast.unparse(self.call)}` have different numbers of dimensions.",
            )
        return match

    def _moved(self, match: CopyMatch, axes: tuple[int, ...]) -> Value:
        starts, lengths = self._moved_box(match, axes)
        values = self._read_box(starts, lengths)
        return values.reshape(tuple(lengths[axis] for axis in axes))

    def _write_moved(self, match: CopyMatch, values: Value) -> None:
        starts, lengths = self._moved_box(match, match.destination_axes)
        # A tile copied onto itself must be read before it is written.
        values = cast(values, self.dtype).reshape(lengths)
        self.memory.write_block(starts, values, self.call, self.state.program)

    def _moved_box(
        self, match: CopyMatch, axes: tuple[int, ...]
    ) -> tuple[list[int], tuple[int, ...]]:
        lengths = [1] * self.region.rank
        for axis, extent in zip(axes, match.extents, strict=True):
            lengths[axis] = self._number(extent)
        return [self._number(start) for start in self.region.starts], tuple(lengths)

    def _box(self) -> tuple[list[int], tuple[int, ...]]:
        extents = self.region.extents
        lengths = (
            (1,) * self.region.rank
            if extents is None
            else tuple(self._number(extent) for extent in extents)
        )
        return [self._number(start) for start in self.region.starts], lengths

    def _read_box(self, starts: list[int], lengths: tuple[int, ...]) -> Value:
        safe = self.state.safe_value(self.region.buffer)
        return self.memory.read_block(starts, lengths, safe, self.region.node)

    def _number(self, tree: ast.expr) -> int:
        value = expressions.evaluate(tree, self.state)
        if self.state.is_parallel:
            raise UnsupportedError(
                self.call,
                f"`{ast.unparse(self.call)}` acts on a whole region, but stands in a T.Parallel "
                "loop, where every iteration has one element. Move it out of the loop.",
            )
        return int(value)


class Variable(Named):
    """A variable from T.alloc_var where an operator takes a tile: T.fill and T.clear."""

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self.state = state

    def element(self) -> Value:
        return self.state.names[self.name]

    def write(self, value: Value) -> None:
        self.state.names[self.name] = cast(value, self.state.facts.variables[self.name])


def apply(call: ast.Call, operator: Any, state: State) -> Any:
    """Run a statement operator's reference meaning on the operands of a call."""
    if operator.kind == "hint":
        return None
    values = [_resolved(tree, call, state) for tree in call.args]
    options = {str(word.arg): _resolved(word.value, call, state) for word in call.keywords}
    if operator.takes_state:
        values.insert(0, state)
    try:
        return operator.reference(*values, **options)
    except AssertionError as error:
        raise AssumptionFailedError(call, f"`{ast.unparse(call)}`: {error}.") from error


def _resolved(tree: ast.expr, call: ast.Call, state: State) -> Any:
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(_resolved(element, call, state) for element in elements)
        case ast.Dict(keys=keys, values=values):
            return {
                _resolved(key, call, state): _resolved(value, call, state)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.Name(id=name) if name in state.facts.variables:
            return Variable(name, state)
        case ast.Name() | ast.Subscript() if base_name(tree) in state.facts.barriers:
            # The interpreter itself counts who arrives: see `barriers.py`.
            return None
    if is_region(tree, state.facts):
        region = read_region(tree, state.facts)
        if region is None:
            raise UnsupportedError(tree, f"`{ast.unparse(tree)}` has the wrong number of indices.")
        return Operand(region, call, state)
    static = state.statics.get(id(tree))
    return expressions.evaluate(tree, state) if static is None else static
