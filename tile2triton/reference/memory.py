"""Tensors and tiles as NumPy arrays: loads and stores with the bounds rules of the language.

An access outside of a tensor reads a safe value and writes nothing. An access outside of a tile,
and one by a constant index, is checked by nobody on a GPU: here it is an error.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tile2triton.reference.errors import OutOfBoundsError, WriteConflictError
from tile2triton.reference.values import Value, cast, numpy_dtype

Mask = Any  # a NumPy bool or array of them, or None for everything

# What a combination is in NumPy; NaN never wins.
COMBINE: dict[str, np.ufunc] = {
    "sum": np.add,
    "max": np.fmax,
    "min": np.fmin,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "bitand": np.bitwise_and,
}


@dataclass
class Memory:
    """One tensor or tile. `owners` holds which program wrote each element of a tensor last."""

    name: str
    dtype: str
    array: np.ndarray[Any, Any]
    is_tensor: bool
    owners: np.ndarray[Any, Any] | None = None
    programs: Sequence[tuple[int, ...]] = ()
    written: bool = False
    # Of a view: whose memory it is.
    base: "Memory | None" = None

    def viewed(self, name: str, dtype: str, shape: tuple[int, ...]) -> "Memory":
        """The same memory with another shape or type; what is written is written to both."""
        bits = np.ascontiguousarray(self.array).reshape(-1)
        if self.array.size and not np.shares_memory(bits, self.array):
            raise ValueError(f"{self.name} must be contiguous, since the kernel makes views of it.")
        array = bits.view(numpy_dtype(dtype)).reshape(shape)
        return Memory(name, dtype, array, self.is_tensor, base=self.base or self)

    def start_launch(self, programs: Sequence[tuple[int, ...]]) -> None:
        """Forget who wrote what: the programs of one launch see all that an earlier one wrote."""
        self.owners = None
        self.programs = programs

    def load(
        self,
        indices: Sequence[Value],
        fixed: Sequence[bool],
        mask: Mask,
        safe: Value,
        node: ast.AST,
    ) -> Value:
        """The elements at broadcast indices; `safe` where they lie outside of a tensor."""
        inside, places = self._places(indices, fixed, mask, node)
        if self.array.size == 0:
            return np.broadcast_to(cast(safe, self.dtype), np.shape(inside))
        values = self.array[places]
        if inside is True or bool(np.all(inside)):
            return values
        return np.where(inside, values, cast(safe, self.dtype))[()]

    def store(
        self,
        indices: Sequence[Value],
        fixed: Sequence[bool],
        mask: Mask,
        value: Value,
        node: ast.AST,
        program: int,
    ) -> None:
        """Write `value`, cast to the memory's type, where `mask` holds and the tensor reaches."""
        inside, places = self._places(indices, fixed, mask, node)
        value = cast(value, self.dtype)
        if mask is not None:
            inside = np.logical_and(inside, mask)
        if np.ndim(inside) == 0 and not np.ndim(value) and not any(map(np.ndim, places)):
            if bool(inside):
                self.write(places, value, node, program)
            return
        shape = np.broadcast_shapes(np.shape(inside), np.shape(value), *map(np.shape, places))
        chosen = np.broadcast_to(np.asarray(inside), shape)
        spots = tuple(np.broadcast_to(place, shape)[chosen] for place in places)
        values = np.broadcast_to(np.asarray(value), shape)[chosen]
        self.write(spots, values, node, program)
        lost = ~_same(self.array[spots], values)
        if lost.any():
            element = tuple(int(spot[lost][0]) for spot in spots)
            raise WriteConflictError(
                node,
                f"Several iterations of T.Parallel give `{self.name}{list(element)}` different "
                f"values, such as {values[lost][0]} and {self.array[element]}. Index it with "
                "every loop variable, or add with `+=`.",
            )

    def update(
        self,
        indices: Sequence[Value],
        fixed: Sequence[bool],
        mask: Mask,
        value: Value,
        node: ast.AST,
        space: tuple[int, ...],
        combination: str = "sum",
        returns: bool = False,
        program: int | None = None,
    ) -> Value:
        """Combine once for each point of the iteration space, in order; the values before each.

        `program` is given for an update that is not atomic: no other program may write there.
        """
        inside, places = self._places(indices, fixed, mask, node)
        self._note_write()
        value = cast(value, self.dtype)
        combine = COMBINE[combination]
        if mask is not None:
            inside = np.logical_and(inside, mask)
        shape = np.broadcast_shapes(
            space, np.shape(inside), np.shape(value), *map(np.shape, places)
        )
        chosen = np.broadcast_to(np.asarray(inside), shape)
        spots = tuple(np.broadcast_to(place, shape)[chosen] for place in places)
        values = np.broadcast_to(np.asarray(value), shape)[chosen]
        if program is not None and self.is_tensor:
            self._claim(spots, combine(self.array[spots], values), node, program)
        before = np.zeros(values.shape, self.array.dtype)
        with np.errstate(all="ignore"):
            if returns:
                for number, spot in enumerate(zip(*spots, strict=True)):
                    before[number] = self.array[spot]
                    self.array[spot] = combine(self.array[spot], values[number])
            else:
                combine.at(self.array, spots, values)
        result = np.zeros(shape, self.array.dtype)
        result[chosen] = before
        return result[()]

    def read_block(
        self, starts: Sequence[int], lengths: Sequence[int], safe: Value, node: ast.AST
    ) -> Value:
        """A box of the memory; what lies outside of a tensor is `safe`."""
        source, target = self._overlap(starts, lengths, node)
        if all(part == slice(0, length) for part, length in zip(target, lengths, strict=True)):
            return self.array[source]
        values = np.full(lengths, cast(safe, self.dtype), self.array.dtype)
        values[target] = self.array[source]
        return values

    def write_block(
        self, starts: Sequence[int], values: Value, node: ast.AST, program: int
    ) -> None:
        """Write a box; what lies outside of a tensor is dropped."""
        source, target = self._overlap(starts, values.shape, node)
        self.write(source, cast(values[target], self.dtype), node, program)

    def update_block(
        self, starts: Sequence[int], values: Value, combination: str, node: ast.AST
    ) -> None:
        """Combine a box with the memory; what lies outside of a tensor is dropped."""
        source, target = self._overlap(starts, values.shape, node)
        self._note_write()
        with np.errstate(all="ignore"):
            new = cast(values[target], self.dtype)
            self.array[source] = COMBINE[combination](self.array[source], new)

    def write(self, places: tuple[Any, ...], value: Value, node: ast.AST, program: int) -> None:
        """Write to places that are inside, and note which program did."""
        self._note_write()
        if self.is_tensor:
            self._claim(places, value, node, program)
        self.array[places] = value

    def _note_write(self) -> None:
        self.written = True
        if self.base is not None:
            self.base.written = True

    def _owners(self) -> np.ndarray[Any, Any]:
        """Views with elements of one width know what the others wrote; the rest keep their own."""
        if self.base is not None and self.base.array.itemsize == self.array.itemsize:
            return self.base._owners().reshape(self.array.shape)
        if self.owners is None:
            self.owners = np.full(self.array.shape, -1, np.int32)
        return self.owners

    def _claim(self, places: tuple[Any, ...], value: Value, node: ast.AST, program: int) -> None:
        written_by = self._owners()
        owners = np.asarray(written_by[places])
        foreign = (owners >= 0) & (owners != program)
        if foreign.any():
            clash = foreign & ~_same(np.asarray(self.array[places]), np.asarray(value))
            if clash.any():
                numbers = np.arange(self.array.size).reshape(self.array.shape)[places]
                number = int(np.asarray(numbers)[clash].flat[0])
                element = [int(index) for index in np.unravel_index(number, self.array.shape)]
                other = self.programs[int(owners[clash].flat[0])]
                raise WriteConflictError(
                    node,
                    f"The programs {other} and {self.programs[program]} both write "
                    f"`{self.name}{element}`, with different values. Which one stays is left to "
                    "chance; use T.atomic_add, or give every program its own elements.",
                )
        written_by[places] = program

    def _places(
        self, indices: Sequence[Value], fixed: Sequence[bool], mask: Mask, node: ast.AST
    ) -> tuple[Any, tuple[Any, ...]]:
        """Which accesses are inside, and the indices moved inside so that NumPy takes them all."""
        inside: Any = True
        places = []
        for axis, (index, extent) in enumerate(zip(indices, self.array.shape, strict=True)):
            good = (index >= 0) & (index < extent)
            if not bool(np.all(good)):
                bad = ~np.asarray(good) if mask is None else ~np.asarray(good) & mask
                if (fixed[axis] or not self.is_tensor) and bool(np.any(bad)):
                    first = int(np.broadcast_to(index, bad.shape)[bad].flat[0])
                    self._refuse(axis, first, node)
                inside = np.logical_and(inside, good)
                index = np.clip(index, 0, max(extent - 1, 0))
            places.append(index)
        return inside, tuple(places)

    def _overlap(
        self, starts: Sequence[int], lengths: Sequence[int], node: ast.AST
    ) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The part of a box that is inside: where it lies in the memory and where in the box."""
        source, target = [], []
        for axis, (start, length, extent) in enumerate(
            zip(starts, lengths, self.array.shape, strict=True)
        ):
            if not self.is_tensor and (start < 0 or start + length > extent):
                self._refuse(axis, start if start < 0 else start + length - 1, node)
            first = min(max(start, 0), extent)
            last = max(min(start + length, extent), first)
            source.append(slice(first, last))
            # A box that lies outside as a whole overlaps nowhere.
            offset = min(max(first - start, 0), length)
            target.append(slice(offset, offset + last - first))
        return tuple(source), tuple(target)

    def _refuse(self, axis: int, index: int, node: ast.AST) -> None:
        kind = "the constant index" if self.is_tensor else "the index"
        raise OutOfBoundsError(
            node,
            f"`{ast.unparse(node)}` reaches outside of `{self.name}`: {kind} {index} of dimension "
            f"{axis}, which has extent {self.array.shape[axis]}.",
        )


def _same(left: Any, right: Any) -> Any:
    """Equal element by element, with a NaN equal to a NaN."""
    return (left == right) | ((left != left) & (right != right))
