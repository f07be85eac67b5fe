"""`#ttg.blocked`: each thread has a small box of elements, each warp a box of threads."""

from dataclasses import dataclass

from .encoding import in_blocks
from .linear import Bases, LinearLayout, identities


@dataclass(frozen=True)
class Blocked:
    """`order` lists the dimensions, the fastest first."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_block: tuple[int, ...]
    order: tuple[int, ...]
    blocks: Bases = ()

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        tile = (
            identities(self.size_per_thread, "register", self.order)
            * identities(self.threads_per_warp, "lane", self.order)
            * identities(self.warps_per_block, "warp", self.order)
        )
        return in_blocks(tile, self.blocks, shape)
