"""Make the parts of a tile tiles of their own, where every access is to one of them.

Triton's tensors cannot be sliced, and their lengths are powers of two: a tile of 576 = 512 + 64
columns of which the two parts are used apart would be padded to 1024 and taken apart again.

before:
    D = 64
    def k(A: T.Tensor((32, 96), "float16"), C: T.Tensor((32, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((32, 96), "float16")
            T.copy(A[0:32, :], tile)
            T.copy(tile[:, :D], C)
            for i, j in T.Parallel(32, 32):
                C[i, j] += tile[i, D + j]

after:
    D = 64
    def k(A: T.Tensor((32, 96), 'float16'), C: T.Tensor((32, 64), 'float16')):
        with T.Kernel(1, threads=128) as bx:
            tile_0 = T.alloc_shared((32, D), 'float16')
            tile_64 = T.alloc_shared((32, 96 - D), 'float16')
            T.copy(A[0:32, 0:D], tile_0)
            T.copy(A[0:32, D:96], tile_64)
            T.copy(tile_0, C)
            for i, j in T.Parallel(32, 32):
                C[i, j] += tile_64[i, j]
"""

import ast
import itertools

from rewrites.environment import Names
from rewrites.facts import Facts, Tile
from rewrites.tile_accesses import Access, Accesses, Interval, is_whole
from rewrites.tile_parts import Splitter
from rewrites.tree import function_of

# Statements that act on the parts of a whole tile as they act on the tile.
BY_PARTS = ("clear", "fill", "copy")
NARROW = 16


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Split tiles along one dimension each, and change the accesses to them."""
    function = function_of(tree)
    found = Accesses(facts)
    found.block(function.body)
    viewed = {tile.storage for tile in facts.tiles.values() if tile.base}
    for buffer, accesses in found.of_tile.items():
        tile = facts.tiles[buffer]
        if buffer in viewed or tile.base or buffer in found.refused:
            continue
        for dimension in range(tile.rank):
            cuts = _cuts(tile, dimension, accesses)
            if cuts is not None:
                names = Names.of(tree, facts)
                Splitter(tile, dimension, cuts, accesses, names, facts).split(function)
                break
    return tree


def _cuts(tile: Tile, dimension: int, accesses: list[Access]) -> list[Interval] | None:
    """The parts of a dimension, in order, or None where an access spans several of them."""
    extent = tile.shape[dimension]
    ends: dict[int, ast.expr] = {0: ast.Constant(0), extent: tile.trees[dimension]}
    parts: list[Interval] = []
    for access in accesses:
        interval = access.intervals[dimension]
        if interval is None:
            return None
        spans = is_whole(interval, extent)
        if spans and access.operator not in BY_PARTS:
            return None
        if spans and not all(is_whole(one, n) for one, n in _others(access, tile, dimension)):
            return None
        if not spans:
            parts.append(interval)
            # A name is better than a number, and a slice's ends are better than a loop's.
            for end, end_tree in (
                (interval.low, interval.low_tree),
                (interval.high, interval.high_tree),
            ):
                if end not in ends or isinstance(ends[end], ast.Constant):
                    ends[end] = end_tree if end else ast.Constant(0)
    places = sorted(ends)
    ends[extent] = tile.trees[dimension]
    for part in parts:
        if any(part.low < end < part.high for end in places):
            return None
    # Narrow columns are better loaded together.
    is_matrix = dimension < tile.rank - 2
    if len(places) < 3 or not (is_matrix or all(p.high - p.low >= NARROW for p in parts)):
        return None
    return [Interval(low, high, ends[low], ends[high]) for low, high in itertools.pairwise(places)]


def _others(access: Access, tile: Tile, dimension: int) -> list[tuple[Interval | None, int]]:
    pairs = zip(access.intervals, tile.shape, strict=True)
    return [pair for d, pair in enumerate(pairs) if d != dimension]
