"""`enable_cache`, `disable_cache` and `tilelang.env`: where kernels are kept."""

from __future__ import annotations

from dataclasses import dataclass

from tile2triton.environment import cache_directory


@dataclass
class Environment:
    """TileLang's settings. Kernels are kept by their texts here, which does no harm."""

    is_enabled: bool = True

    @property
    def TILELANG_CACHE_DIR(self) -> str:
        return str(cache_directory())

    def is_cache_enabled(self) -> bool:
        return self.is_enabled

    def enable_cache(self) -> None:
        self.is_enabled = True

    def disable_cache(self) -> None:
        self.is_enabled = False


env = Environment()
enable_cache = env.enable_cache
disable_cache = env.disable_cache
is_cache_enabled = env.is_cache_enabled
