"""Stores to whole operands: the operand has another value from there on.

A parameter that is stored to changes in place, in memory of the caller's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.failures import failure
from tile2triton.frontend.whole_operands import WholeOperand, bound_operand

# The operators whose first operand is stored to.
STORES = ("atomic_add", "atomic_update")


def added_in_loop(name: str, target: Any, value: Any) -> Any:
    """What is added to an operand in a loop over tiles that does not have the loop's extent."""
    builder = require(f"T.{name}")
    if not _is_in_loop(builder) or not isinstance(target, WholeOperand):
        return value
    if any(size.tile for size in target.whole.shape):
        return value
    if name == "atomic_update":
        raise failure(
            "T2T859",
            f"`{target}` would be stored to once for each tile of the loop",
            hint="store to it outside of the loop, or to its tiles: y[..., i:i + tile_size, :] = "
            "y_tile",
        )
    if isinstance(value, WholeOperand) and value.whole.partial == "sum":
        return value.complete()
    raise failure(
        "T2T858",
        f"T.atomic_add would add to `{target}` once for each tile of the loop",
        hint="add what is summed over the tile, T.atomic_add(s, T.sum(x, axis)), or write it "
        "outside of the loop",
    )


def _is_in_loop(builder: Builder) -> bool:
    return any(block.kind == "tiles" for block in builder.blocks)


def stored(operator: str, target: Any, made: WholeOperand) -> WholeOperand:
    """Give the operand that `target` is, or is all tiles of, the value `made`."""
    builder = require("a store")
    if not isinstance(target, WholeOperand) or target.place.is_part:
        raise failure(
            "T2T859",
            f"`{target}` is a part of an operand, and is stored to",
            hint="store to a whole operand, or to all of its tiles in a loop: "
            "y[..., i:i + tile_size, :] = y_tile",
        )
    base = target.place.base
    name = base.text
    parameter = next((key for key, one in builder.updates.items() if one is base), "")
    if base.whole.tensor == name:
        parameter = name
    wanted = f"new_{parameter}" if parameter else builder.wanted.get(name, name)
    shape = tuple(replace(size, tile=0) for size in made.whole.shape)
    value = bound_operand(wanted if wanted.isidentifier() else "stored", made.with_sizes(shape))
    if parameter:
        builder.updates[parameter] = base
    base.become(value)
    if operator == "atomic_add" and _is_in_loop(builder):
        base.added_in = next(block for block in builder.blocks if block.kind == "tiles")
    return base
