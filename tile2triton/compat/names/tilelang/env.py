"""`tilelang.env`: settings of TileLang's."""

from tile2triton.tilelang.caching import disable_cache, enable_cache, env, is_cache_enabled

__all__ = [
    "disable_cache",
    "enable_cache",
    "env",
    "is_cache_enabled",
]
