"""Tiles in shared memory of AMD's chips: each element once, and no conflicts of banks."""

import ast
import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from rewrites.facts import Tile
from rewrites.gluon.amd.chips import CHIPS
from rewrites.gluon.amd.fetches import Fetch
from rewrites.gluon.amd.tiles import Places, places_of
from rewrites.gluon.errors import UnsuitedError
from rewrites.quote import expr, stmts
from tests.proofs import AMD
from tile2triton.layouts.amd_mfma import AmdMfma
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.dot_operand import DotOperand
from tile2triton.layouts.encoding import Encoding
from tile2triton.layouts.generic_linear import GenericLinear, SharedLinear
from tile2triton.layouts.padded_shared import PaddedShared
from tile2triton.layouts.placement import place
from tile2triton.layouts.swizzled_shared import SwizzledShared
from tile2triton.layouts.uses import LOAD, STORE, Use

SHAPES = [(256, 64), (256, 32), (128, 64), (64, 64), (64, 128), (32, 128), (32, 256), (128, 128)]
WARPS = [(2, 4), (8, 1), (2, 2)]


@dataclass(frozen=True)
class Case:
    """A tile that products of `height` rows an instruction read as a factor."""

    target: str
    shape: tuple[int, int]
    warps: tuple[int, int]
    operand: int
    is_turned: bool
    height: int
    width: int

    @property
    def fetch(self) -> Fetch:
        (load,) = stmts("x = tl.load(p)")
        assert isinstance(load, ast.Assign)
        tile = Tile("x", self.shape, (expr("M"), expr("N")), "float16", "shared")
        return Fetch("x", load, expr("p"), None, tile, self.operand, self.is_turned, self.width)

    @property
    def read(self) -> tuple[int, int]:
        """The shape as products see it."""
        return self.shape[::-1] if self.is_turned else self.shape

    @property
    def factor(self) -> DotOperand:
        chip = CHIPS[self.target]
        shape = (self.height, self.height, chip.depth[self.height])
        return DotOperand(self.operand, AmdMfma(chip.version, self.warps, shape, True), self.width)

    def fits(self) -> bool:
        """Whether each warp has a part, and an instruction enough to sum over."""
        outer, inner = self.read if self.operand == 0 else self.read[::-1]
        depth = CHIPS[self.target].depth[self.height]
        return outer >= self.height * self.warps[self.operand] and inner >= depth


def cases(target: str) -> list[tuple[Case, Places]]:
    """Tiles of all kinds that have a place."""
    found: list[tuple[Case, Places]] = []
    for shape, warps, operand, turned, height in itertools.product(
        SHAPES, WARPS, (0, 1), (False, True), (16, 32)
    ):
        # Second factors beside sums that go on as first ones are narrower.
        for width in (8, 4) if operand and not turned else (8,):
            case = Case(target, shape, warps, operand, turned, height, width)
            if case.fits():
                try:
                    chip = CHIPS[target]
                    found.append((case, places_of(case.fetch, chip, warps[0] * warps[1], height)))
                except UnsuitedError as error:
                    assert "smaller than what" in str(error)
    assert len(found) > 50
    return found


def encoding(tree: ast.expr, is_turned: bool = False) -> Encoding:
    """The layout that Gluon's constructor makes; turned, it is seen by its transpose."""
    assert isinstance(tree, ast.Call)
    name = ast.unparse(tree.func).removeprefix("gl.")
    if name == "SliceLayout":
        inner = tree.args[1]
        assert isinstance(inner, ast.Call)
        own, lanes, warps = (
            tuple(tuple(basis[1:]) for basis in ast.literal_eval(one)) for one in inner.args[:3]
        )
        return GenericLinear(own, lanes, warps)
    first, *rest = (ast.literal_eval(one) for one in tree.args)
    if name == "BlockedLayout":
        return Blocked(*(tuple(one) for one in (first, *rest)))
    if name == "SwizzledSharedLayout":
        return SwizzledShared(first, *rest[:2], (0, 1) if is_turned else (1, 0))
    bases = rest[0] if name == "PaddedSharedLayout" else first
    offsets = tuple(tuple(one[::-1] if is_turned else one) for one in bases)
    if name == "SharedLinearLayout":
        return SharedLinear(offsets)
    return PaddedShared(tuple((a, b) for a, b in first), (), offsets)


@pytest.mark.parametrize("target", AMD)
def test_reads_and_stores_have_no_conflicts(target: str) -> None:
    """But in narrow tiles, whose columns do not fill the banks, and tiles of few rows."""
    for case, places in cases(target):
        memory = encoding(places.memory, case.is_turned)
        read = Use(LOAD, case.read, 16, case.factor).made(memory, target)
        accesses = [read]
        if not CHIPS[target].direct:
            lanes = encoding(places.lanes)
            stored = Use(STORE, case.shape, 16, lanes).made(encoding(places.memory), target)
            accesses.append(stored)
        is_narrow = case.shape[1] < 64 or case.shape[0] <= case.height
        for one in accesses:
            assert one.simulated <= one.ideal * (2 if is_narrow else 1), case
        assert read.instruction.width == 2 * min(case.width, 8) or "_tr_" in read.instruction.name


@pytest.mark.parametrize("target", AMD)
def test_lanes_load_each_element_once_in_pieces_of_16_bytes(target: str) -> None:
    for case, places in cases(target):
        layout = encoding(places.lanes).linear(case.shape)
        axes = np.ix_(*(np.arange(layout.input_size(one)) for one in ("register", "lane", "warp")))
        rows, columns = layout(register=axes[0], lane=axes[1], warp=axes[2])
        where = (rows * case.shape[1] + columns).ravel()
        assert sorted(where.tolist()) == list(range(case.shape[0] * case.shape[1]))
        pieces = columns[:8] + 0 * axes[1]
        assert (pieces == pieces[:1] + np.arange(8)[:, None, None]).all()


def test_waves_copy_1024_bytes_side_by_side() -> None:
    """All that a copy past registers can do."""
    target = "hip:gfx950"
    for case, places in cases(target):
        lanes, memory = encoding(places.lanes), encoding(places.memory)
        placed = place(lanes, memory, case.shape, 16, case.shape, None)
        count = placed.offsets.input_size("register")
        addresses = placed.addresses(range(0, count, 8), range(64))
        assert (np.diff(addresses, axis=-1) == 16).all()
        assert addresses.max() + 16 <= 2 * places.elements
