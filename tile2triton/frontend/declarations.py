"""What a kernel declares: tensors, run-time sizes, sizes of arguments, outputs."""

from __future__ import annotations

import ast
from typing import Any

from tile2triton.frontend.builder import require, size_name
from tile2triton.frontend.dtypes import DType, dtype_name, is_dtype, kernel_dtype
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.failures import failure
from tile2triton.frontend.packed import output_dtype
from tile2triton.frontend.trees import tree_of
from tile2triton.frontend.values import Buffer, Storage


class Tensor:
    """The type of a global tensor: `T.Tensor((M, N), "float16")` or `T.Tensor[[M, N], dtype]`.

    With `data` it is a view of another tensor or tile, as T.view makes one.
    """

    def __new__(cls, shape: Any, dtype: Any = "float32", data: Any = None) -> Any:
        if data is None:
            return super().__new__(cls)
        from tile2triton.frontend.views import allocate_view

        if not isinstance(data, Storage):
            raise failure(
                "T2T151",
                f"`data={data!r}` is not the memory of a tensor or tile",
                hint="write `data=buffer.data`, or declare the tensor as a parameter",
            )
        return allocate_view("view", {"src": data.buffer, "shape": shape, "dtype": dtype})

    def __init__(self, shape: Any, dtype: Any = "float32", data: Any = None) -> None:
        self.shape = extents_of(shape)
        self.dtype = DType("int64") if isinstance(dtype, Pointer) else kernel_dtype(dtype)
        # Without strides the tensor is contiguous.
        self.strides: tuple[Any, ...] = ()

    def __class_getitem__(cls, key: Any) -> Any:
        if isinstance(key, str):
            return Dimensions(key)
        if isinstance(key, tuple) and len(key) == 2 and _is_type(key[1]):
            if isinstance(key[0], str):
                return Dimensions(key[0], key[1])
            return cls(key[0], key[1])
        return cls(key)

    def __repr__(self) -> str:
        return f"T.Tensor({self.shape}, {str(self.dtype)!r})"


class Dimensions:
    """The type of a whole operand: `T.Tensor["B H M 64"]` names its extents, or says them.

    Extents with one name are the same in all operands. A type may stand behind: `T.Tensor["M K",
    "float16"]`; otherwise it is the argument's.
    """

    def __init__(self, names: str, dtype: Any = None) -> None:
        self.names = tuple(names.replace(",", " ").split())
        self.dtype = None if dtype is None else kernel_dtype(dtype)
        for name in self.names:
            if not name.isidentifier() and not (name.isdigit() and int(name)):
                raise failure(
                    "T2T154",
                    f"`{name}` in {names!r} is neither the name of an extent nor an extent",
                    hint='write T.Tensor["B H M 64"]',
                )

    def __repr__(self) -> str:
        return f"T.Tensor[{' '.join(self.names)!r}]"


class StridedTensor(Tensor):
    """The type of a global tensor whose elements lie `strides` apart, counted in elements."""

    def __new__(cls, shape: Any, strides: Any, dtype: Any = "float32", scope: Any = None) -> Any:
        return object.__new__(cls)

    def __init__(self, shape: Any, strides: Any, dtype: Any = "float32", scope: Any = None) -> None:
        super().__init__(shape, dtype)
        self.strides = extents_of(strides)
        if len(self.strides) != len(self.shape):
            raise failure(
                "T2T191",
                "a tensor has one stride for each dimension",
                found=(f"shape: {self.shape!r}", f"strides: {self.strides!r}"),
                hint="write T.StridedTensor((m, n), (stride, 1), dtype)",
            )

    def __class_getitem__(cls, key: Any) -> Tensor:
        return cls(*key)


class Pointer:
    """The type of an address: a parameter `p: T.ptr`, or the elements of a table of tensors."""

    def __call__(self, dtype: Any = None, storage_scope: str = "global", **_: Any) -> Pointer:
        return self

    def __repr__(self) -> str:
        return "T.ptr"


ptr = Pointer()


class _AsksForSizes(type):
    """Programs for TileLang ask `isinstance(size, T.Var)` of what may be T.dynamic or a number."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Dim)


class Ref(metaclass=_AsksForSizes):
    """The annotation of a macro's parameter that the macro may assign to."""


class Dim(Dynamic):
    """A size that is read from a tensor at every launch; the kernel serves all values of it."""

    def __init__(self, name: str, dtype: str) -> None:
        super().__init__(size_name(name, dtype), dtype)
        self.name = name


class Probe(Dynamic):
    """Stands for a T.const size while the declarations of an eager kernel are looked at."""

    def __init__(self, name: str) -> None:
        super().__init__(ast.Name(name, ast.Load()), "int32")
        self.name = name


def dynamic(name: str, dtype: Any = "int32") -> Any:
    """Sizes that are known at the launch: one kernel serves them all. `"m, n"` gives a tuple."""
    dims = tuple(Dim(one, dtype_name(dtype)) for one in _names_in(name))
    return dims[0] if len(dims) == 1 else dims


def const(name: str, dtype: Any = "int32") -> Any:
    """Sizes that are taken from the arguments of an eager kernel: each value makes a kernel."""
    builder = require("T.const")
    values = tuple(builder.consts.get(one) for one in _names_in(name))
    for one, value in zip(_names_in(name), values, strict=True):
        if value is None:
            raise failure(
                "T2T152",
                f"the value of `{one}` is not known",
                hint=f"it must be an extent of a tensor argument by itself, as in "
                f'T.Tensor(({one},), "float16"), or be given: kernel.compile({one}=128)',
            )
    return values[0] if len(values) == 1 else values


def empty(*shape: Any, dtype: Any = "float32") -> Buffer:
    """An output of an eager kernel, which allocates it, without a value, and returns it."""
    extents: Any = shape
    if len(shape) == 2 and isinstance(shape[0], (tuple, list)) and _is_type(shape[1]):
        extents, dtype = shape
    elif len(shape) == 1:
        extents = shape[0]
    return _allocated(extents_of(extents), dtype, "output", "output")


def alloc_global(shape: Any, dtype: Any = "float32", scope: str = "global") -> Buffer:
    """A tensor that the kernels of one function share and nobody else sees."""
    return _allocated(extents_of(shape), dtype, "workspace", "workspace")


def _allocated(shape: tuple[Any, ...], dtype: Any, role: str, fallback: str) -> Buffer:
    from tile2triton.frontend.allocations import global_naming

    builder = require("T.empty" if role == "output" else "T.alloc_global")
    if len(builder.blocks) > 1:
        raise failure(
            "T2T153",
            "a tensor is allocated inside of a kernel",
            hint="move T.empty or T.alloc_global above `with T.Kernel`",
        )
    kind = output_dtype(dtype) if role == "output" else kernel_dtype(dtype)
    return global_naming(builder, shape, kind, role, fallback)


def shape_trees(shape: tuple[Any, ...]) -> tuple[ast.expr, ...]:
    return tuple(tree_of(extent) for extent in shape)


def extents_of(shape: Any) -> tuple[Any, ...]:
    """The extents, or strides, that a shape gives."""
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for item in items:
        if not isinstance(item, (int, Dynamic)) or isinstance(item, bool):
            raise failure(
                "T2T154",
                f"`{item!r}` is no extent of a tensor",
                hint="a shape holds whole numbers, T.const and T.dynamic sizes",
            )
    return items


def _is_type(value: Any) -> bool:
    return is_dtype(value) or isinstance(value, (str, Pointer))


def _names_in(text: str) -> list[str]:
    return text.replace(",", " ").split()
