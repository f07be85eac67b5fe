"""T.alloc_shared, T.alloc_fragment, T.alloc_var, …: tiles on the chip and mutable scalars."""

import ast
import math
from collections.abc import Iterator
from typing import Any

from rewrites.environment import next_power_of_two
from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, known_dtype, static_value


def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Any:
    """A tile in shared memory, uninitialised. `shape` is static: an int or a tuple of ints.

    | form | meaning | Triton |
    |---|---|---|
    | `s = T.alloc_shared((64, 32), "float16")` | a tile of halves | a value of a power of two |
    """


def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Any:
    """A tile in registers, uninitialised. `shape` is static: an int or a tuple of ints.

    | form | meaning | Triton |
    |---|---|---|
    | `f = T.alloc_fragment((64, 32), "float32")` | a tile of floats | a value of a power of two |
    | `f = T.alloc_fragment((1,), "float32")` | a tile of one element | a scalar |
    | `f = T.alloc_local((1,), "float32")` | the same for every thread | a scalar |
    """


def alloc_tmem(shape: Any, dtype: Any) -> Any:
    """A tile in tensor memory, uninitialised: a tile as any other.

    | form | meaning | Triton |
    |---|---|---|
    | `c = T.alloc_tmem((128, 64), "float32")` | a tile of floats | a value of a power of two |
    """


def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Any:
    """An array of each thread's own, uninitialised.

    Where its threads do not differ, it is a tile of one copy.

    | form | meaning | Triton |
    |---|---|---|
    | `x = T.alloc_local((1,), "float32")` | one element | a scalar, or a lane for each thread |
    """


def alloc_var(dtype: Any, init: Any = 0) -> Any:
    """A mutable scalar: every later `x = e` stores to it and casts to its type.

    Inside `T.Parallel` it is one scalar for each element.

    | form | meaning | Triton |
    |---|---|---|
    | `x = T.alloc_var("int32")` | starts at 0 | a variable |
    | `x = T.alloc_var("int32", 3)` | starts at 3 | a variable |
    """


# The largest tensor of Triton 3.6 to 3.9 (`TRITON_MAX_TENSOR_NUMEL`).
MAX_ELEMENTS = 2**20


def check_tile(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The shape is static and positive, the type is known."""
    arguments = facts.operators[ast.unparse(call.func).rpartition(".")[2]].arguments(call)
    yield from known_dtype(arguments["dtype"], facts)
    shape = arguments["shape"]
    for extent in shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]:
        size = static_value(extent, facts)
        if not isinstance(size, int) or size < 1:
            yield Problem(
                extent,
                "T2T280",
                f"the extents of a tile are positive numbers that are known when the kernel is "
                f"compiled, but `{as_written(extent)}` is not",
                (f"{as_written(extent)} = {size}",) if size is not None else (),
                "take a tile size for it, and copy the part of the tensor that fits",
            )
            return
    yield from _too_large(call, shape, facts)


def _too_large(call: ast.Call, shape: ast.expr, facts: Facts) -> Iterator[Problem]:
    """Triton's tensors have at most 2²⁰ elements, after padding to powers of two."""
    extents = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    sizes = [int(static_value(extent, facts) or 1) for extent in extents]
    elements = math.prod(next_power_of_two(size) for size in sizes)
    if elements > MAX_ELEMENTS:
        yield Problem(
            call,
            "T2T281",
            f"a tile has at most {MAX_ELEMENTS} elements, but this one has {elements}",
            (f"`{as_written(shape)}`, each extent rounded up to a power of two",),
            "take smaller tiles, and loop over them",
        )


def check_variable(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    yield from known_dtype(ALLOC_VAR.arguments(call)["dtype"], facts)


ALLOC_SHARED = Operator(surface=alloc_shared, kind="allocation", check=check_tile)
ALLOC_FRAGMENT = Operator(surface=alloc_fragment, kind="allocation", check=check_tile)
ALLOC_TMEM = Operator(surface=alloc_tmem, kind="allocation", check=check_tile)
ALLOC_LOCAL = Operator(surface=alloc_local, kind="allocation", check=check_tile)
ALLOC_VAR = Operator(surface=alloc_var, kind="allocation", check=check_variable)
TILE_FORMS = {row.name: row for row in (ALLOC_SHARED, ALLOC_FRAGMENT, ALLOC_TMEM, ALLOC_LOCAL)}

OPERATORS = (*TILE_FORMS.values(), ALLOC_VAR)
