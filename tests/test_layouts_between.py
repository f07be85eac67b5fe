"""The registers between two shared memories: their cost, and the choice of the best ones."""

import random

import numpy as np
import pytest

from tile2triton.layouts import machines
from tile2triton.layouts.between import Passage, Traffic, best_passage, traffic
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.generic_linear import GenericLinear
from tile2triton.layouts.linear import LinearLayout
from tile2triton.layouts.nvmma_shared import NvmmaShared
from tile2triton.layouts.reading import encoding_of
from tile2triton.layouts.swizzled_shared import SwizzledShared
from tile2triton.layouts.writing import written
from tile2triton.ttgir_text.attributes import read_attribute

# Tiles of K by N, element bits, swizzles of what TMA writes and of what wgmma reads.
TILES = [((32, 128), 32, 128, 128), ((64, 128), 8, 128, 64), ((128, 64), 8, 64, 128)]


def memories(shape: tuple[int, int], bits: int, rows: int, columns: int) -> list[LinearLayout]:
    kinds = NvmmaShared(rows, False, bits), NvmmaShared(columns, True, bits)
    return [kind.linear(shape) for kind in kinds]


def simulated(registers: LinearLayout, memory: LinearLayout, bits: int, stores: bool) -> Traffic:
    """The cost of a warp's accesses, from the address of every lane."""
    places = registers.after_inverse_of(memory)
    own, lanes = places.input_size("register"), places.input_size("lane")
    offsets = places(register=np.arange(own)[:, None], lane=np.arange(lanes)[None, :])[0]
    vector, in_a_row = 1, {basis[0] for basis in places.bases("register")}
    while vector in in_a_row and vector * 2 * bits <= 128:
        vector *= 2
    make = machines.store if stores else machines.load
    instruction = make("cuda:90", vector * bits // 8, bits)
    first = [row for row in range(own) if not offsets[row, 0] % vector]
    addresses = offsets[first] * bits // 8
    return Traffic(len(first), int(instruction.wavefronts(addresses).sum()))


def shuffled(shape: tuple[int, int], warps: int, seed: int) -> GenericLinear:
    """Some layout of a tile in registers."""
    chance = random.Random(seed)
    bits = [(1 << i, 0) for i in range(shape[0].bit_length() - 1)]
    bits += [(0, 1 << i) for i in range(shape[1].bit_length() - 1)]
    if seed % 2:
        chance.shuffle(bits)
    else:
        # Some elements of a thread lie in a row.
        bits = [
            *bits[-7:-4],
            *bits[:2],
            *chance.sample(rest := [*bits[2:-7], *bits[-4:]], len(rest)),
        ]
    split = len(bits) - 5 - (warps.bit_length() - 1)
    return GenericLinear(
        tuple(bits[:split]), tuple(bits[split : split + 5]), tuple(bits[split + 5 :])
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tile", TILES)
def test_cost_is_that_of_every_lanes_address(
    tile: tuple[tuple[int, int], int, int, int], seed: int
) -> None:
    shape, bits = tile[:2]
    registers = shuffled(shape, 4, seed).linear(shape)
    for stores, memory in enumerate(memories(*tile)):
        assert traffic(registers, memory, bits) == simulated(registers, memory, bits, bool(stores))


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("tile", TILES)
def test_best_registers_hold_each_element_once_and_cost_what_is_said(
    tile: tuple[tuple[int, int], int, int, int], warps: int
) -> None:
    shape, bits = tile[:2]
    source, target = memories(*tile)
    found = best_passage(source, target, bits, warps)
    assert isinstance(found, Passage)
    registers = found.registers.linear(shape)
    rows, columns = (axis.ravel() for axis in registers.table())
    assert len(set((rows * shape[1] + columns).tolist())) == shape[0] * shape[1]
    assert registers.input_size("lane") == 32
    assert registers.input_size("warp") == warps
    assert found.load == traffic(registers, source, bits)
    assert found.store == traffic(registers, target, bits)


@pytest.mark.parametrize("tile", TILES)
def test_no_other_registers_cost_less(tile: tuple[tuple[int, int], int, int, int]) -> None:
    shape, bits = tile[:2]
    pair = memories(*tile)
    found = best_passage(*pair, bits, 4)
    assert found is not None
    others = [shuffled(shape, 4, seed).linear(shape) for seed in range(40)]
    costs = [sum(traffic(one, memory, bits).wavefronts for memory in pair) for one in others]
    assert found.cost[0] <= min(costs)


def test_tiles_are_ordered_as_they_were_measured() -> None:
    """Products of 4096³ on an H200, with Triton's registers and four others, slowest first."""
    shape, warps = (32, 128), 8
    pair = memories(shape, 32, 128, 128)
    sizes = [((1, 4), (1, 32)), ((4, 4), (1, 32)), ((1, 1), (4, 8)), ((4, 1), (1, 32))]
    measured = [80, 187, 225, 261]
    costs = []
    for own, lanes in sizes:
        registers = Blocked(own, lanes, (warps, 1), (1, 0)).linear(shape)
        costs.append(sum(traffic(registers, memory, 32).wavefronts for memory in pair))
    assert sorted(measured) == measured
    assert costs == sorted(costs, reverse=True) == [272, 80, 48, 32]
    found = best_passage(*pair, 32, warps)
    assert found is not None
    assert found.cost[0] == 32


def test_memories_that_agree_need_no_turn() -> None:
    shape = (64, 64)
    plain = SwizzledShared(8, 1, 8, (1, 0)).linear(shape)
    found = best_passage(plain, plain, 16, 4)
    assert found is not None
    # 16 bytes at once for both, each trip with all the banks.
    assert found.load == found.store == Traffic(4, 16)


def test_tiles_with_fewer_elements_than_threads_have_no_best_registers() -> None:
    plain = SwizzledShared(1, 1, 1, (1, 0)).linear((16, 16))
    assert best_passage(plain, plain, 16, 8) is not None
    assert best_passage(plain, plain, 16, 16) is None


def test_registers_are_read_as_they_are_written() -> None:
    layout = GenericLinear(((0, 1), (2, 0)), ((1, 0), (0, 4)), ((0, 2),))
    assert encoding_of(read_attribute(written(layout)), {}) == layout
