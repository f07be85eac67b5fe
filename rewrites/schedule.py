"""How a program is to be run on one chip, apart from what it computes."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Schedule:
    """What is said of tiles, threads and loops; what is None or empty is left to the defaults.

    `tiles` and `splits` go by the names of extents, in any case, or `m`, `n` and `k` for the rows,
    the columns and the contracted extent of a matrix product, `t` for a scanned extent and `c` for
    the columns of a scan.
    """

    tiles: Mapping[str, int] = field(default_factory=dict)
    splits: Mapping[str, int] = field(default_factory=dict)
    threads: int | None = None
    num_stages: int | None = None
    # Elements that a thread loads at once.
    width: int | None = None
    # Rows of programs that share what they load.
    swizzle: int | None = None
    # How many programs a persistent grid has.
    programs: int | None = None
    # How many programs share all turns of all tiles equally; 0 for one on each multiprocessor.
    stream: int | None = None
    # In how many parts a result tile is stored.
    subtiles: int | None = None
    # Whether transposes of products are computed.
    swap_ab: bool = False
    # Whether loops begin with the products of a turn and end the one before behind them.
    rotate: bool = False
    # How many programs share a producer that loads for them.
    consumers: int | None = None
    # Whether turns in which masks hide nothing are a loop of their own.
    split_masks: bool | None = None
    # Whether matrix products may be computed again for each tile that needs them.
    recompute: bool = False
    # Options of the launch, by Triton's names.
    options: Mapping[str, int] = field(default_factory=dict)
    # Where it is said: by the name of a field, or `tiles.m`, `splits.k`, `options.maxnreg`.
    nodes: Mapping[str, ast.AST] = field(default_factory=dict, compare=False)

    def node(self, key: str, otherwise: ast.AST) -> ast.AST:
        """Where something is said, as far as it stands in the user's code."""
        return self.nodes.get(key, otherwise)

    def over(self, defaults: "Schedule") -> "Schedule":
        """This schedule, with `defaults` where it says nothing."""
        return Schedule(
            tiles={**defaults.tiles, **self.tiles},
            splits={**defaults.splits, **self.splits},
            threads=defaults.threads if self.threads is None else self.threads,
            num_stages=defaults.num_stages if self.num_stages is None else self.num_stages,
            width=defaults.width if self.width is None else self.width,
            swizzle=defaults.swizzle if self.swizzle is None else self.swizzle,
            programs=defaults.programs if self.programs is None else self.programs,
            stream=defaults.stream if self.stream is None else self.stream,
            subtiles=defaults.subtiles if self.subtiles is None else self.subtiles,
            swap_ab=defaults.swap_ab or self.swap_ab,
            rotate=defaults.rotate or self.rotate,
            consumers=defaults.consumers if self.consumers is None else self.consumers,
            split_masks=defaults.split_masks if self.split_masks is None else self.split_masks,
            recompute=defaults.recompute or self.recompute,
            options={**defaults.options, **self.options},
            nodes={**defaults.nodes, **self.nodes},
        )
