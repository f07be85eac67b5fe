"""The fewest registers of a thread with which a kernel compiles: a limit below is no hint."""

import ast

from rewrites.environment import lengths
from rewrites.facts import Facts, Launch, Tile
from tile2triton.hints.anchors import anchors_of
from tile2triton.layouts.warp_policy import made_by_groups, runs_on_groups
from tile2triton.targets import target

# What ptxas needs beside the result of a matrix instruction.
_BESIDE = 32
# tcgen05 brings results to registers by so many at once.
_TENSOR_MEMORY = 40
_WIDEST = 256


def least_registers(kernel: ast.FunctionDef, launch: Launch, facts: Facts) -> int:
    """NVIDIA's compiler fails below it, where a single instruction does not find its registers."""
    goal = target(facts.target)
    named = anchors_of(kernel).items()
    names = [name for name, found in named if any(one.kind == "dot" for one in found)]
    tiles = [facts.tiles[name] for name in names if name in facts.tiles]
    if not tiles:
        return 0
    if int(goal.arch) >= 100:
        return _TENSOR_MEMORY
    if goal.arch != 90:
        return _BESIDE
    return _BESIDE + max(_of_wgmma(tile, launch.num_warps) for tile in tiles)


def _of_wgmma(tile: Tile, warps: int) -> int:
    """The part of its result that one instruction gives to a thread: of 64 rows for 128 threads."""
    shape = lengths(tile)[-2:]
    if tile.rank < 2 or not runs_on_groups((shape[0], shape[1]), warps):
        return 0
    _, columns = made_by_groups((shape[0], shape[1]), warps)
    width = min(_WIDEST, shape[1] // columns)
    # Results in bfloat16 are computed in float32.
    return width // (4 if tile.dtype == "float16" else 2)
