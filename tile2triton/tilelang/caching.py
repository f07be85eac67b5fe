"""`enable_cache`, `disable_cache` and `tilelang.env`: where kernels are kept."""

from __future__ import annotations

from tile2triton.environment import CACHING, cache_directory, is_caching


class Environment:
    """TileLang's settings: whether results of tuning are kept on disk, and where.

    Emitted modules are kept by their texts in any case, which does no harm.
    """

    @property
    def TILELANG_CACHE_DIR(self) -> str:
        return str(cache_directory())

    def is_cache_enabled(self) -> bool:
        return is_caching()

    def enable_cache(self) -> None:
        CACHING.is_enabled = True

    def disable_cache(self) -> None:
        CACHING.is_enabled = False


env = Environment()
enable_cache = env.enable_cache
disable_cache = env.disable_cache
is_cache_enabled = env.is_cache_enabled
