"""Grids on the host: computed once where they are constant, cheaply where they are not."""

import ast

from rewrites.facts import Facts, Launch
from rewrites.quote import expr, stmts
from rewrites.ranges import NATURAL, Range, range_of
from rewrites.tree import names_in
from tile2triton.emit.names import HostNames

# CUDA's and HIP's limit of the second and third extent.
LIMIT = 65535


def fixed_grids(facts: Facts, host: HostNames) -> list[ast.stmt]:
    """Assignments of the grids that do not depend on the arguments."""
    return [
        stmt
        for launch in facts.launches
        if is_fixed(launch, facts)
        for stmt in stmts(
            "grid = extents", grid=host.grid_of(launch, facts), extents=_tuple(launch.grid)
        )
    ]


def computed_grid(launch: Launch, facts: Facts, host: HostNames) -> list[ast.stmt]:
    """The assignment of a grid that depends on the arguments, and the check of its extents."""
    grid = host.grid_of(launch, facts)
    result: list[ast.stmt] = []
    if not is_fixed(launch, facts):
        extents = _tuple(tuple(_FastDivision().visit(_copy(extent)) for extent in launch.grid))
        result += stmts("grid = extents", grid=grid, extents=extents)
    for axis, extent in enumerate(launch.grid[1:], start=1):
        high = range_of(extent, ranges(facts)).high
        if high is None or high > LIMIT:
            result += stmts(
                f"if grid[{axis}] > {LIMIT}:\n"
                f"    raise ValueError(f'grid extent {{grid[{axis}]}} in {'xyz'[axis]}, "
                f"at most {LIMIT}')",
                grid=grid,
            )
    return result


def may_be_empty(launch: Launch, facts: Facts) -> bool:
    """Whether an extent of the grid can be 0."""
    names = ranges(facts)
    lows = (range_of(extent, names).low for extent in launch.grid)
    return any(low is None or low < 1 for low in lows)


def may_be_negative(launch: Launch, facts: Facts) -> bool:
    """Whether an extent of the grid can be below 0."""
    names = ranges(facts)
    return not all(range_of(extent, names).is_natural for extent in launch.grid)


def is_fixed(launch: Launch, facts: Facts) -> bool:
    used = set().union(*(names_in(extent) for extent in launch.grid))
    return not used & {*facts.dims, *facts.parameters}


def ranges(facts: Facts) -> dict[str, Range]:
    exact = {
        key: Range(value, value) for key, value in facts.constants.items() if isinstance(value, int)
    }
    return exact | dict.fromkeys(facts.dims, NATURAL)


class _FastDivision(ast.NodeTransformer):
    """Writes `triton.cdiv(a, b)` out, since a call of it costs 1.7 us on the host."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.func) != "triton.cdiv":
            return node
        size, block = node.args
        if isinstance(block, ast.Constant) and isinstance(block.value, int):
            rest: ast.expr = ast.Constant(block.value - 1)
            return expr("(size + rest) // block", size=size, rest=rest, block=block)
        return expr("(size + block - 1) // block", size=size, block=block)


def _copy(tree: ast.expr) -> ast.expr:
    return expr("tree", tree=tree)


def _tuple(extents: tuple[ast.expr, ...]) -> ast.expr:
    return ast.Tuple(list(extents), ast.Load())
