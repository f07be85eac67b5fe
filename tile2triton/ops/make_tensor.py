"""T.make_tensor: memory at an address that the kernel computes, as a tensor."""

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import known_dtype


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Any:
    """The memory that starts at an address, as a tensor.

    `ptr` is a parameter of the type T.ptr or an element of a table, `T.Tensor((n,), T.ptr)`. The
    memory starts at a multiple of 16 bytes, as allocations do. Rows follow each other without gaps,
    unless `strides` say otherwise.

    | form | meaning | Triton |
    |---|---|---|
    | `A = T.make_tensor(p, (M, N), "float16")` | a tensor of halves | a pointer of its own |
    | `A = T.make_tensor(table[i], (M, N), "float16")` | the i-th tensor | a loaded pointer |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    yield from known_dtype(MAKE_TENSOR.arguments(call)["dtype"], facts)


MAKE_TENSOR = Operator(
    surface=make_tensor,
    kind="allocation",
    check=check,
    aliases=("make_tensor_from_addr",),
)

OPERATORS = (MAKE_TENSOR,)
