"""`T.alloc_buffer` and its kind: an allocation whose scope says which memory is meant."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend import operators
from tile2triton.frontend.declarations import alloc_global
from tile2triton.frontend.failures import failure
from tile2triton.frontend.values import Buffer

# The operator that allocates in a scope; "global" is a tensor of the launcher's.
_TILES = {
    "shared": "alloc_shared",
    "shared.dyn": "alloc_shared",
    "local.fragment": "alloc_fragment",
}


def alloc_buffer(
    shape: Any, dtype: Any = "float32", scope: str = "global", annotations: Any = None
) -> Buffer:
    """A tensor that the kernels of one function share, or a tile where the scope is on the chip."""
    return _allocated("alloc_buffer", shape, dtype, scope)


def allocate(
    extents: Any,
    dtype: Any = "float32",
    scope: str = "global",
    condition: Any = None,
    annotations: Any = None,
) -> Buffer:
    """`T.alloc_buffer` by an older name."""
    if condition is not None:
        raise failure(
            "T2T361",
            "T.allocate takes no condition here: memory of a kernel is always allocated",
            hint="leave `condition` out",
        )
    return _allocated("allocate", extents, dtype, scope)


def decl_buffer(
    shape: Any, dtype: Any = "float32", data: Any = None, scope: str = "global", **layout: Any
) -> Buffer:
    """`T.alloc_buffer`, where no other buffer's memory is named."""
    named = [*(["data"] if data is not None else []), *layout]
    if named:
        raise failure(
            "T2T361",
            f"T.decl_buffer takes no `{named[0]}` here: it allocates memory of its own",
            hint="name a buffer's memory a second time with T.view or T.reshape",
        )
    return _allocated("decl_buffer", shape, dtype, scope)


def _allocated(name: str, shape: Any, dtype: Any, scope: str) -> Buffer:
    if scope == "global":
        return alloc_global(shape, dtype)
    if scope not in _TILES:
        known = ", ".join(f'"{one}"' for one in ("global", *_TILES))
        raise failure(
            "T2T360",
            f'T.{name} allocates no memory of the scope "{scope}"',
            found=(f"scopes: {known}",),
            hint="use T.alloc_var for a scalar, T.alloc_fragment for a tile in registers",
        )
    buffer = operators.call(_TILES[scope], (shape, dtype), {})
    assert isinstance(buffer, Buffer)
    return buffer
