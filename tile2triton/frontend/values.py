"""What a kernel computes with while it is traced: scalars that build trees, tiles and elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from rewrites import dtypes
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.failures import failure
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import is_number_of_a_library
from tile2triton.frontend.trees import index_trees, inner_index, is_complete, tree_of


class Dynamic:
    """A scalar that is known at run time only; its operators build trees."""

    def __init__(self, tree: ast.expr, dtype: str | None = None) -> None:
        self._tree = tree
        self._dtype = dtype

    @property
    def tree(self) -> ast.expr:
        return self._tree

    @property
    def dtype(self) -> DType:
        if self._dtype is None:
            raise failure(
                "T2T131",
                f"the element type of `{self}` is not known while the kernel is traced",
                hint='name it, such as T.cast(x, "float32")',
            )
        return DType(self._dtype)

    @property
    def is_float(self) -> bool:
        """Whether it is known to be a float."""
        return (self._dtype or "").startswith(("float", "bfloat"))

    def astype(self, dtype: Any) -> Any:
        return DType(dtype)(self)

    def __repr__(self) -> str:
        return ast.unparse(self.tree)

    def __add__(self, other: Any) -> Any:
        return binary(ast.Add(), self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(ast.Add(), other, self)

    def __sub__(self, other: Any) -> Any:
        return binary(ast.Sub(), self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(ast.Sub(), other, self)

    def __mul__(self, other: Any) -> Any:
        return binary(ast.Mult(), self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(ast.Mult(), other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary(ast.Div(), self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(ast.Div(), other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary(ast.FloorDiv(), self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(ast.FloorDiv(), other, self)

    def __mod__(self, other: Any) -> Any:
        return binary(ast.Mod(), self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(ast.Mod(), other, self)

    def __lshift__(self, other: Any) -> Any:
        return binary(ast.LShift(), self, other)

    def __rlshift__(self, other: Any) -> Any:
        return binary(ast.LShift(), other, self)

    def __rshift__(self, other: Any) -> Any:
        return binary(ast.RShift(), self, other)

    def __rrshift__(self, other: Any) -> Any:
        return binary(ast.RShift(), other, self)

    def __and__(self, other: Any) -> Any:
        return binary(ast.BitAnd(), self, other)

    def __rand__(self, other: Any) -> Any:
        return binary(ast.BitAnd(), other, self)

    def __or__(self, other: Any) -> Any:
        return binary(ast.BitOr(), self, other)

    def __ror__(self, other: Any) -> Any:
        return binary(ast.BitOr(), other, self)

    def __xor__(self, other: Any) -> Any:
        return binary(ast.BitXor(), self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary(ast.BitXor(), other, self)

    def __neg__(self) -> Any:
        return placed(ast.UnaryOp(ast.USub(), self.tree), self._dtype)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return placed(ast.UnaryOp(ast.Invert(), self.tree), self._dtype)

    def __abs__(self) -> Any:
        from tile2triton.frontend.operators import call

        return call("abs", (self,), {})

    def __pow__(self, other: Any) -> Any:
        raise failure(
            "T2T132",
            f"`**` is no operator of a kernel: `{self} ** {other}`",
            hint="multiply, or write T.pow(x, y)",
        )

    __rpow__ = __pow__

    def __lt__(self, other: Any) -> Any:
        return comparison(ast.Lt(), self, other)

    def __le__(self, other: Any) -> Any:
        return comparison(ast.LtE(), self, other)

    def __gt__(self, other: Any) -> Any:
        return comparison(ast.Gt(), self, other)

    def __ge__(self, other: Any) -> Any:
        return comparison(ast.GtE(), self, other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else comparison(ast.Eq(), self, other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else comparison(ast.NotEq(), self, other)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise failure(
            "T2T133",
            f"`{self}` is known at run time only, but Python must decide on it here",
            hint="in the kernel itself write `if`, `and`, T.min, T.max or T.if_then_else; "
            "in a function that it calls, put @T.macro above the function",
        )

    def __index__(self) -> int:
        raise failure(
            "T2T134",
            f"`{self}` is known at run time only, but Python needs a number here",
            hint="a Python list, shape or `range` outside of the kernel takes static numbers only",
        )

    __int__ = __index__

    def __float__(self) -> float:
        raise failure(
            "T2T134",
            f"`{self}` is known at run time only, but Python needs a number here",
            hint='write T.cast(x, "float32"), and T.exp or T.sqrt instead of those of `math`',
        )

    def __iter__(self) -> Iterator[Any]:
        raise failure("T2T135", f"`{self}` is one scalar and cannot be taken apart or looped over")


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


class Buffer:
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
        return Element(self, index if isinstance(index, tuple) else (index,))

    def __repr__(self) -> str:
        return self.name

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

    def _no_arithmetic(self, *_: Any) -> NoReturn:
        raise failure(
            "T2T137",
            f"`{self.name}` is a whole {self.what}; kernels compute with elements",
            found=(f"{self.name}: {self.dtype}, shape {self.shape_text}",),
            hint=f"write `for i in T.Parallel(...)` around it and `{self.name}[i]` inside",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = _no_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = _no_arithmetic

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
            return Element(self.buffer, inner_index(self.index, further, self.buffer.ndim))
        return Element(self.buffer, self.index + further)

    def __repr__(self) -> str:
        return ast.unparse(self.region)


def binary(operator: ast.operator, left: Any, right: Any) -> Any:
    """An arithmetic tree; a Python object that is no scalar decides for itself."""
    for operand in (left, right):
        if isinstance(operand, (Buffer, Dead)):
            return NotImplemented
        _refuse_no_scalar(operand)
    dtype = _promoted(left, right)
    return placed(ast.BinOp(tree_of(left), operator, tree_of(right)), dtype)


def comparison(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(right, Dead):
        right.refuse()
    if isinstance(right, Buffer):
        return NotImplemented
    _refuse_no_scalar(right)
    return placed(ast.Compare(tree_of(left), [operator], [tree_of(right)]), "bool")


def placed(tree: ast.expr, dtype: str | None = None) -> Dynamic:
    """A scalar whose tree stands where the user's expression does."""
    here().put(tree)
    return Dynamic(tree, dtype)


def is_scalar(value: Any) -> bool:
    return isinstance(value, (Dynamic, int, float))


def _is_zero(index: Any) -> bool:
    if isinstance(index, tuple):
        return len(index) == 1 and _is_zero(index[0])
    return isinstance(index, int) and not isinstance(index, bool) and index in (0, -1)


def _refuse_no_scalar(value: Any) -> None:
    if not (is_scalar(value) or is_number_of_a_library(value)):
        raise failure(
            "T2T139",
            f"a Python object of type `{type(value).__name__}` cannot stand in a kernel",
            found=(repr(value)[:60],),
            hint="scalars are combined with numbers and scalars",
        )


def dtype_of(value: Any) -> str | None:
    """The element type of a scalar where it is known; numbers count as int32 and float32."""
    if isinstance(value, Dynamic):
        return value._dtype
    if isinstance(value, bool):
        return "bool"
    return "float32" if isinstance(value, float) else "int32" if isinstance(value, int) else None


def _promoted(left: Any, right: Any) -> str | None:
    a, b = dtype_of(left), dtype_of(right)
    if a is None or b is None:
        return None
    for value, own, other in ((left, a, b), (right, b, a)):
        # An integer literal takes the type of what it stands beside.
        if isinstance(value, int) and own == "int32" and dtypes.is_integer(other):
            return other
    return dtypes.promoted(a, b)
