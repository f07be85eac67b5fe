"""Kernels whose tiles in shared memory get their layouts by inference, without being asked."""

import ast
from collections.abc import Iterator

from rewrites.facts import Facts, Patch
from tile2triton.hints.anchors import products_in
from tile2triton.targets import target

KIND = "inferred_layouts"


def inferred_layouts(kernel: ast.FunctionDef, facts: Facts) -> Iterator[Patch]:
    """A patch of the kernel as a whole, where units leave the choice of a layout open.

    On NVIDIA's chips, what ldmatrix, wgmma, tcgen05 and TMA read and write lies as they want it.
    """
    if target(facts.target).backend == "hip" and products_in(kernel):
        yield Patch(KIND, "", kernel.name, construct="", line=0)
