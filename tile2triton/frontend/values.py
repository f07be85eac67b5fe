"""What a kernel names while it is traced: variables, tensors and tiles, and elements of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.dynamic import Dynamic, Whole
from tile2triton.frontend.failures import failure
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.positions import here
from tile2triton.frontend.tile_arithmetic import TileArithmetic, TileStores, computed_with
from tile2triton.frontend.trees import index_trees, inner_index, is_complete


class Variable(Dynamic):
    """A mutable scalar from T.alloc_var. It is unnamed until it is first assigned or used."""

    def __init__(self, naming: Naming, dtype: str) -> None:
        super().__init__(ast.Name("", ast.Load()), dtype)
        self.naming = naming
        # The names that it was allocated under; a macro hands its variable over by returning it.
        self.home: object = None
        self.is_handed_over = False

    @property
    def name(self) -> str:
        return self.naming.settled()

    @property
    def tree(self) -> ast.expr:
        return ast.Name(self.name, ast.Load())

    def __getitem__(self, index: Any) -> Variable:
        """`x[0]` is the variable itself, as it is memory of one element."""
        if not _is_zero(index):
            raise failure(
                "T2T184",
                f"`{self}` is one scalar, so its only index is 0",
                found=(f"index: {index!r}",),
                hint=f"write `{self}`, or allocate a tile with T.alloc_fragment",
            )
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        from tile2triton.frontend.builder import require
        from tile2triton.frontend.stores import store_variable

        store_variable(require(f"`{self[index]}`"), self, value)


class Pending(Dynamic):
    """The value of a statement that has one; it is named by the variable it is assigned to."""

    def __init__(self, naming: Naming, dtype: str | None) -> None:
        super().__init__(ast.Name("", ast.Load()), dtype)
        self.naming = naming

    @property
    def tree(self) -> ast.expr:
        return ast.Name(self.naming.settled(), ast.Load())


class Buffer(Whole, TileStores, TileArithmetic):
    """A global tensor or a tile: indexing it gives an element or a region of it."""

    def __init__(
        self, naming: Naming | str, shape: tuple[Any, ...], dtype: str, scope: str
    ) -> None:
        self._naming = naming
        self.shape = shape
        self.dtype = DType(dtype)
        self.scope = scope

    @property
    def naming(self) -> Naming | None:
        return None if isinstance(self._naming, str) else self._naming

    @property
    def name(self) -> str:
        return self._naming if isinstance(self._naming, str) else self._naming.settled()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data(self) -> Storage:
        """The memory, of which `T.Tensor(shape, dtype, buffer.data)` makes a view."""
        return Storage(self)

    def __getitem__(self, index: Any) -> Element:
        items = index if isinstance(index, tuple) else (index,)
        is_part = any(item is None or isinstance(item, slice) or item is ... for item in items)
        kind = TilePart if is_part and self.scope in ("shared", "fragment") else Element
        return kind(self, items)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> Any:
        if self is other or other is None or self.scope not in ("shared", "fragment"):
            return self is other
        return computed_with(ast.Eq(), self, other)

    def __ne__(self, other: object) -> Any:
        if self is other or other is None or self.scope not in ("shared", "fragment"):
            return self is not other
        return computed_with(ast.NotEq(), self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise failure(
            "T2T136",
            f"`{self.name}` is a whole {self.what} and cannot be a condition",
            hint=f"compare one element of it, such as `{self.name}[0] > 0`",
        )

    def __iter__(self) -> Iterator[Any]:
        raise failure(
            "T2T135",
            f"`{self.name}` is a whole {self.what} and cannot be taken apart or looped over",
            hint="loop over its indices with T.serial or T.Parallel",
        )

    @property
    def what(self) -> str:
        return "tensor" if self.scope == "global" else "tile"

    @property
    def shape_text(self) -> str:
        sizes = [str(int(n)) if isinstance(n, int) else str(n) for n in self.shape]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


@dataclass(frozen=True)
class Storage:
    """The memory of a tensor or tile."""

    buffer: Buffer


class Element(Dynamic):
    """`buffer[index]`: one element where a scalar is wanted, else a region of the buffer."""

    def __init__(self, buffer: Buffer, index: tuple[Any, ...]) -> None:
        super().__init__(ast.Constant(None), buffer.dtype)
        self.buffer = buffer
        self.index = index
        self.position = here()

    @property
    def region(self) -> ast.expr:
        """The tree as an operand of an operator on regions."""
        return self._subscript(index_trees(self.index, self.buffer.shape, self))

    @property
    def is_element(self) -> bool:
        """Whether the index names one element, in every dimension."""
        return is_complete(self.index, self.buffer.ndim)

    @property
    def tree(self) -> ast.expr:
        if not self.is_element:
            raise failure(
                "T2T138",
                f"`{ast.unparse(self.region)}` is a region, but one element is wanted",
                found=(f"{self.buffer.name}: shape {self.buffer.shape_text}",),
                hint=f"give {self.buffer.ndim} indices without slices, or use T.copy for regions",
                at=self.position,
            )
        return self.region

    def _subscript(self, trees: list[ast.expr]) -> ast.expr:
        index = trees[0] if len(trees) == 1 else ast.Tuple(trees, ast.Load())
        node = ast.Subscript(ast.Name(self.buffer.name, ast.Load()), index, ast.Load())
        self.position.put(node)
        return node

    def __getitem__(self, index: Any) -> Element:
        further = index if isinstance(index, tuple) else (index,)
        if any(isinstance(item, slice) or item is ... for item in self.index):
            return self.buffer[inner_index(self.index, further, self.buffer.shape)]
        return self.buffer[self.index + further]

    def __repr__(self) -> str:
        return ast.unparse(self.region)


class TilePart(Whole, TileStores, TileArithmetic, Element):
    """A part of a tile: the region where an operator takes one, and an operand of arithmetic."""

    @property
    def is_view(self) -> bool:
        """Whether it has dimensions that the tile has not, so that it is no region of it."""
        return any(item is None for item in self.index)

    @property
    def scalars(self) -> tuple[Dynamic, ...]:
        """What its index is computed from while the kernel runs."""
        bounds = [
            bound
            for item in self.index
            for bound in ((item.start, item.stop) if isinstance(item, slice) else (item,))
        ]
        return tuple(bound for bound in bounds if isinstance(bound, Dynamic))

    def __repr__(self) -> str:
        items = [
            ":" if isinstance(item, slice) and item == slice(None) else str(item)
            for item in self.index
        ]
        return f"{self.buffer.name}[{', '.join(items)}]" if self.is_view else super().__repr__()

    def __getitem__(self, index: Any) -> Any:
        from tile2triton.frontend.tile_values import as_value

        items = index if isinstance(index, tuple) else (index,)
        # Dimensions that are added make it a value.
        is_value = self.is_view or any(item is None for item in items)
        return as_value(self)[index] if is_value else super().__getitem__(index)

    __hash__ = Element.__hash__


def _is_zero(index: Any) -> bool:
    if isinstance(index, tuple):
        return len(index) == 1 and _is_zero(index[0])
    return isinstance(index, int) and not isinstance(index, bool) and index in (0, -1)
