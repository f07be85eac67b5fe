"""Tile schedulers: which tile of a grid a persistent program computes next."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.meta_classes import meta_class
from tile2triton.frontend.operators import call
from tile2triton.frontend.processors import processor_count


@meta_class
class BaseTileScheduler:
    """The state of a walk over tiles: where it is, and how many steps it took.

    A subclass gives `update_current_idx`, which sets `_m_idx[0]` and `_n_idx[0]`, and the number
    of tiles as `_total_tiles`.
    """

    def __init__(self, stateful: bool = True, name: str | None = None) -> None:
        self._stateful = stateful
        self._total_tiles: Any = 0
        if stateful:
            self._m_idx = call("alloc_var", ("int32",), {})
            self._n_idx = call("alloc_var", ("int32",), {})
            self._linear_idx = call("alloc_var", ("int32",), {})
            self._current_iter = call("alloc_var", ("int32",), {})

    @property
    def m_idx(self) -> Any:
        """The row of the current tile."""
        return self._m_idx[0]

    @property
    def n_idx(self) -> Any:
        """The column of the current tile."""
        return self._n_idx[0]

    @property
    def linear_idx(self) -> Any:
        """The number of the current tile."""
        return self._linear_idx[0]

    @property
    def current_iter(self) -> Any:
        """How many tiles this program has finished."""
        return self._current_iter[0]

    def update_current_idx(self, linear_idx: Any) -> None:
        raise NotImplementedError("a scheduler defines update_current_idx(self, linear_idx)")

    def init(self, linear_init: Any) -> None:
        self._current_iter[0] = 0
        self._linear_idx[0] = linear_init
        self.update_current_idx(self._linear_idx[0])

    def next_tile(self, step: Any) -> None:
        self._current_iter[0] = self._current_iter[0] + 1
        self._linear_idx[0] = self._linear_idx[0] + step
        self.update_current_idx(self._linear_idx[0])

    def valid(self) -> Any:
        """Whether there is a current tile."""
        return self._linear_idx[0] < self._total_tiles


@meta_class
class PersistentTileScheduler(BaseTileScheduler):
    """Worker `w` of `num_workers` computes the tiles `w`, `w + num_workers`, … of a grid.

    The tiles are numbered in panels of `swizzle_size` columns (`column_major`) or rows, down one
    panel after the other; the last panel may be narrower. With `cluster_size`, `m_idx` counts
    groups of that many rows. `stateful=False` gives `coord` alone, without variables.
    """

    def __init__(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(stateful=stateful, name=name)
        rows = call("ceildiv", (num_m_tiles, cluster_size), {}) if cluster_size > 1 else num_m_tiles
        self.cluster_size = cluster_size
        self.num_workers = processor_count() // cluster_size if num_workers is None else num_workers
        self.swizzle_size = swizzle_size
        self._total_tiles = rows * num_n_tiles
        self._column_major = column_major
        self._length, self._width = (rows, num_n_tiles) if column_major else (num_n_tiles, rows)

    def coord(self, tile_id: Any) -> Any:
        """The row and the column of a tile."""
        if self.swizzle_size == 1:
            along, across = tile_id % self._length, tile_id // self._length
        else:
            panel_size = self._length * self.swizzle_size
            first = tile_id // panel_size * self.swizzle_size
            # A number past the last tile must not divide by 0.
            left = call("max", (1, self._width - first), {})
            width = call("min", (self.swizzle_size, left), {})
            inside = tile_id % panel_size
            along, across = inside // width, first + inside % width
        return (along, across) if self._column_major else (across, along)

    def update_current_idx(self, linear_idx: Any) -> None:
        row, column = self.coord(linear_idx)
        self._m_idx[0] = row
        self._n_idx[0] = column

    def init(self, worker_id: Any) -> None:
        self._current_iter[0] = 0
        self._linear_idx[0] = worker_id
        self.update_current_idx(self._linear_idx[0])

    def next_tile(self) -> None:  # type: ignore[override]
        self._current_iter[0] = self._current_iter[0] + 1
        self._linear_idx[0] = self._linear_idx[0] + self.num_workers
        self.update_current_idx(self._linear_idx[0])
