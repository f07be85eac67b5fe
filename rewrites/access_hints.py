"""How a copy wants memory to be read or written: what stays in caches, how much goes at once."""

import ast
from dataclasses import dataclass

from rewrites.quote import expr, literal


@dataclass(frozen=True)
class AccessHints:
    """Words for Triton's loads and stores; `width` is the most elements that go at once."""

    eviction_policy: str = ""
    cache_modifier: str = ""
    width: int = 0

    def applied(self, access: ast.expr) -> ast.expr:
        """A `tl.load` or `tl.store` with the words."""
        assert isinstance(access, ast.Call)
        for name in ("cache_modifier", "eviction_policy"):
            value = getattr(self, name)
            if value:
                access.keywords.append(ast.keyword(name, literal(value)))
        return access

    def narrowed(self, pointer: ast.expr, rank: int) -> ast.expr:
        """Pointers of which Triton takes so many at once for neighbours, and no more."""
        if not self.width or not rank:
            return pointer
        width = ast.Constant(self.width)
        lengths: list[ast.expr] = [*(ast.Constant(1) for _ in range(rank - 1)), width]
        shape = lengths[0] if rank == 1 else ast.Tuple(lengths, ast.Load())
        return expr("tl.max_contiguous(pointer, shape)", pointer=pointer, shape=shape)
