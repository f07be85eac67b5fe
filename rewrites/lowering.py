"""What the lowering of one kernel keeps: facts, names in use, and where statements go."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from rewrites.access_hints import AccessHints
from rewrites.descriptors import DescriptorPlan
from rewrites.environment import Environment, Names, padded
from rewrites.facts import Facts
from rewrites.quote import expr, name, stmts


class Lowering:
    """What all spaces of one kernel share: facts, names in use, and where statements go."""

    def __init__(self, facts: Facts, environment: Environment, names: Names) -> None:
        self.facts = facts
        self.environment = environment
        self.names = names
        self.out: list[ast.stmt] = []
        self.zero_padded: frozenset[str] = frozenset()
        # T.gemm calls, by `id`, that are made as (bᵀ aᵀ)ᵀ.
        self.turned: frozenset[int] = frozenset()
        self.descriptors = DescriptorPlan(frozenset(), frozenset(), frozenset())
        self.safe_values: dict[str, ast.expr] = {}
        # The number of the T.Kernel block that is being lowered.
        self.block_number = -1
        # How the copy that is being lowered wants memory to be accessed.
        self.access = AccessHints()
        # Names of what operators keep from one statement of a kernel to the next.
        self.kept: dict[str, str] = {}

    def emit(self, template: str, **trees: ast.expr | str) -> None:
        self.out += stmts(template, **trees)

    def assign(self, base: str, tree: ast.expr) -> ast.Name:
        """Name an intermediate value and return the name."""
        identifier = self.names.fresh(base)
        self.emit("target = tree", target=identifier, tree=tree)
        return name(identifier)

    def lanes(self, extent: int, tree: ast.expr, position: int, rank: int) -> ast.expr:
        """The indices along one dimension of a tile, named, with extent 1 in the others."""
        arange = expr("tl.arange(0, n)", n=padded(extent, tree))
        return expand_dims(
            self.assign(f"offs_{offset_name(tree, 'lanes')}", arange), position, rank
        )

    @contextmanager
    def accessing(self, hints: AccessHints) -> Iterator[None]:
        """Load and store as `hints` say."""
        outer, self.access = self.access, hints
        try:
            yield
        finally:
            self.access = outer

    @contextmanager
    def block(self) -> Iterator[list[ast.stmt]]:
        """Collect statements apart, for the body of a loop or branch."""
        outer, self.out = self.out, []
        inner = self.out
        try:
            yield inner
        finally:
            self.out = outer


def expand_dims(vector: ast.expr, position: int, rank: int) -> ast.expr:
    """`vector[None, :, None]` with the axis at `position`; as it is where the rank is 1."""
    if rank <= 1:
        return vector
    parts: list[ast.expr] = [
        ast.Slice() if index == position else ast.Constant(None) for index in range(rank)
    ]
    return ast.Subscript(vector, ast.Tuple(parts, ast.Load()), ast.Load())


def offset_name(tree: ast.expr, default: str) -> str:
    """A short name for the offsets along an axis, from how its extent is written."""
    if not isinstance(tree, ast.Name):
        return default.removesuffix(" axis").strip("_").lower()
    text = tree.id.lower()
    for prefix in ("block_", "blk_", "tile_", "chunk_"):
        text = text.removeprefix(prefix)
    return text.removesuffix("_size")
