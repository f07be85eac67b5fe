"""What a program of a chip has: shared memory for rings and tiles, registers for each consumer."""

import ast
import math
from collections.abc import Iterator

from rewrites.dtypes import bits
from rewrites.environment import environment_of
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import every
from rewrites.gluon.parts import Parts
from rewrites.gluon.rings import factors_of, products_of, reads
from rewrites.ranges import range_of
from rewrites.tree import names_in, walk

# What barriers take of shared memory, at most, and what the compiler does.
BARRIERS = 1024
# How many registers a thread has where this many warps consume, and what numbers and places take.
REGISTERS = {8: 240, 12: 128, 16: 96}
OTHERS = 30


def require_memory(parts: Parts) -> None:
    """Rings, tiles that are loaded once, and tiles on their way out. Raises UnsuitedError."""
    total = 0
    for one, load in {
        **parts.once,
        **{key: ring.load for key, ring in parts.rings.items()},
    }.items():
        tile = parts.tile(one)
        ring = parts.rings.get(one)
        copies = parts.consumers if ring is None or not ring.is_shared else 1
        stages = 1 if ring is None else parts.stages
        total += copies * stages * math.prod(tile.shape) * bits(parts.dtype(load.descriptor)) // 8
    ranges = environment_of(parts.facts).ranges
    for owner in sorted(_stored(parts)):
        block = [range_of(one, ranges).high or 0 for one in parts.descriptors[owner].block]
        total += parts.consumers * math.prod(block) * bits(parts.dtype(owner)) // 8
    computed = {one: parts.tile(one) for one in _in_memory(parts)}
    # What is narrower in memory than in registers is taken for what it is there.
    total += parts.consumers * sum(math.prod(one.shape) * 2 for one in computed.values())
    if total + BARRIERS > parts.facts.shared_memory:
        raise UnsuitedError(
            f"its tiles need {total} bytes of shared memory, of which there are "
            f"{parts.facts.shared_memory}"
        )


def _stored(parts: Parts) -> set[str]:
    """The descriptors by which tiles are stored."""
    return {
        node.func.value.id
        for node in walk(parts.kernel)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "store"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in parts.descriptors
    }


def _in_memory(parts: Parts) -> Iterator[str]:
    """The factors that are computed, and that wgmma reads from shared memory."""
    for _, call in products_of([*every(parts.consumed)]):
        for at, (one, is_turned) in enumerate(factors_of(call)):
            if (at or is_turned) and not parts.is_loaded(one):
                yield one


def require_registers(parts: Parts) -> None:
    """Sums and products, and factors that are computed beside one. Raises UnsuitedError."""
    warps = parts.consumers * parts.warps
    given = next((count for most, count in REGISTERS.items() if warps <= most), None)
    if given is None:
        raise UnsuitedError(f"{warps} warps of consumers have too few registers for products")
    tiles = [parts.tile(one) for one in sorted(_held(parts))]
    needed = sum(math.prod(one.shape) * bits(one.dtype) for one in tiles)
    needed //= 32 * 32 * parts.warps
    if needed > given - OTHERS:
        raise UnsuitedError(
            f"its products need {needed} registers of each thread, of which {warps} warps have "
            f"{given} and need {OTHERS} for all else"
        )


def _held(parts: Parts) -> set[str]:
    """What registers hold at once: all products, and factors while another product is in flight."""
    found: set[str] = set()
    for statement in every(parts.consumed):
        found |= {target for target, _ in products_of([statement])}
        if isinstance(statement, ast.For):
            found |= {one for one in _factors(statement.body) if not parts.is_loaded(one)}
    return found


def _factors(body: list[ast.stmt]) -> Iterator[str]:
    """The first factors of products that are made while another one is still to be read."""
    unread: set[str] = set()
    for statement in body:
        unread -= reads(statement)
        for target, call in products_of([statement]):
            (first, _), _ = factors_of(call)
            if unread:
                yield first
            if target not in names_in(call):
                unread.add(target)
